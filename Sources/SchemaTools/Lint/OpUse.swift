internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// An op of a version file, as far as the rules of lint ask.
struct OpUse: Sendable {
    enum Trait: Sendable {
        /// Takes the member away.
        case removes(JSONPointer)
        /// Rounds the member's value where it is not exact.
        case rounds(JSONPointer)
        /// Makes the member from the event's metadata, or from the stream's name.
        case addsFromMetadata(JSONPointer, at: JSONPointer)
        case addsFromStream(at: JSONPointer)
    }

    let name: String
    let mark: Mark
    let trait: Trait?
    /// Whether another op holds it, so that its pointers begin at that one's place.
    let isNested: Bool
    /// The types that it changes; nil: all.
    private let types: [String]?

    func concerns(_ type: String) -> Bool { types?.has(type) ?? true }

    fileprivate init(name: String, mark: Mark, trait: Trait? = nil, isNested: Bool = false, types: [String]? = nil) {
        (self.name, self.mark, self.trait, self.isNested, self.types) = (name, mark, trait, isNested, types)
    }
}

extension History {
    /// The ops of a version's list in its order, each before those that it holds.
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
