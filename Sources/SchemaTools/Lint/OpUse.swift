internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// The properties of an op in a version file that the lint rules need.
struct OpUse: Sendable {
    let name: String
    let mark: FileLocation
    let trait: OpTrait?
    /// Whether the op is inside another op, so that its pointers are relative to that op's pointer.
    let isNested: Bool
    /// The types that the op affects; nil means all.
    private let types: [String]?

    func concerns(_ type: String) -> Bool { types?.has(type) ?? true }

    fileprivate init(name: String, mark: FileLocation, trait: OpTrait? = nil, isNested: Bool = false, types: [String]? = nil) {
        (self.name, self.mark, self.trait, self.isNested, self.types) = (name, mark, trait, isNested, types)
    }
}

extension History {
    /// The ops of a version's step in order, each before the ops inside it.
    func opUses(of version: SchemaVersion) -> [OpUse] {
        stepItems(from: version.previous, to: version).flatMap { item -> [OpUse] in
            switch item.action {
            case .payload(let entries, let types): entries.flatMap { $0.uses(isNested: false, types: types) }
            case .event(let op): [OpUse(name: op.name, mark: item.mark)]
            case .reserve: []
            }
        }
    }
}

extension OpEntry {
    fileprivate func uses(isNested: Bool, types: [String]?) -> [OpUse] {
        [OpUse(name: name, mark: mark, trait: trait, isNested: isNested, types: types)]
            + inner.flatMap { $0.uses(isNested: true, types: types) }
    }
}
