internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// The properties of an op in a version file that the lint rules need.
struct OpUse: Sendable {
    enum Trait: Sendable {
        /// Removes the member.
        case removes(JSONPointer)
        /// Rounds the member's value if it is not exact.
        case rounds(JSONPointer)
        /// Derives the member from the event's metadata or from the stream's name.
        case addsFromMetadata(JSONPointer, at: JSONPointer)
        case addsFromStream(at: JSONPointer)
    }

    let name: String
    let mark: FileLocation
    let trait: Trait?
    /// Whether the op is inside another op, so that its pointers are relative to that op's pointer.
    let isNested: Bool
    /// The types that the op affects; nil means all.
    private let types: [String]?

    func concerns(_ type: String) -> Bool { types?.has(type) ?? true }

    fileprivate init(name: String, mark: FileLocation, trait: Trait? = nil, isNested: Bool = false, types: [String]? = nil) {
        (self.name, self.mark, self.trait, self.isNested, self.types) = (name, mark, trait, isNested, types)
    }
}

extension History {
    /// The ops of a version's step in order, each before the ops inside it.
    func opUses(of version: SchemaVersion) -> [OpUse] {
        stepItems(from: version.previous, to: version).flatMap { item -> [OpUse] in
            switch item.action {
            case .payload(let entries, let types): entries.flatMap { $0.uses(isNested: false, types: types) }
            case .event(_, let name): [OpUse(name: name, mark: item.mark)]
            case .reserve: []
            }
        }
    }
}

extension OpEntry {
    fileprivate func uses(isNested: Bool, types: [String]?) -> [OpUse] {
        [OpUse(name: name, mark: mark, trait: statement.trait, isNested: isNested, types: types)]
            + inner.flatMap { $0.uses(isNested: true, types: types) }
    }
}

extension OpStatement {
    fileprivate var trait: OpUse.Trait? {
        switch self {
        case .remove(let remove): .removes(remove.path)
        case .convert(let convert):
            if case .scale(_, _, _?) = convert.codecStatement { .rounds(convert.path) } else { nil }
        case .add(let add):
            switch add.source {
            case .metadata(let pointer)?: .addsFromMetadata(pointer, at: add.path)
            case .stream?: .addsFromStream(at: add.path)
            default: nil
            }
        default: nil
        }
    }
}
