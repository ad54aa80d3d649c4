package import EventModel
package import JSONText

/// An op as a version file uses it: what can be said of it without running it.
package struct OpUse: Sendable {
    package enum Trait: Sendable {
        /// Takes the member away.
        case removes(JSONPointer)
        /// Rounds the member's value where it is not exact.
        case rounds(JSONPointer)
        /// Makes the member from the event's metadata, or from the stream's name.
        case addsFromMetadata(JSONPointer, at: JSONPointer)
        case addsFromStream(at: JSONPointer)
    }

    package let name: String
    package let mark: Mark
    package let trait: Trait?
    /// Whether another op holds it: its pointers begin at that one's place.
    package let isNested: Bool
    /// The types that it is for; nil where it is for all.
    private let types: [String]?

    package func concerns(_ type: String) -> Bool { types?.contains(type) ?? true }

    fileprivate init(name: String, mark: Mark, trait: Trait? = nil, isNested: Bool = false, types: [String]? = nil) {
        (self.name, self.mark, self.trait, self.isNested, self.types) = (name, mark, trait, isNested, types)
    }
}

extension History {
    /// The ops of a version's step, those that others hold included, in the order in which they stand there.
    package func opUses(of version: SchemaVersion) -> [OpUse] {
        (chain.step(to: version)?.step.items ?? []).flatMap { item -> [OpUse] in
            switch item.action {
            case .payload(.all, let entries): entries.flatMap { $0.uses(isNested: false, types: nil) }
            case .payload(.types(let types), let entries): entries.flatMap { $0.uses(isNested: false, types: types) }
            case .event(let op, _): [OpUse(name: type(of: op).name, mark: item.node.mark)]
            case .reserve: []
            }
        }
    }
}

extension OpEntry {
    fileprivate func uses(isNested: Bool, types: [String]?) -> [OpUse] {
        [OpUse(name: name, mark: mark, trait: op.trait, isNested: isNested, types: types)]
            + op.inner.flatMap { $0.uses(isNested: true, types: types) }
    }
}

extension Op {
    fileprivate var trait: OpUse.Trait? {
        switch self {
        case let remove as Remove: .removes(remove.path)
        case let convert as Convert: (convert.codec as? Scale)?.rounding.map { _ in .rounds(convert.path) }
        case let add as Add:
            switch add.source {
            case .metadata(let pointer)?: .addsFromMetadata(pointer, at: add.path)
            case .stream?: .addsFromStream(at: add.path)
            default: nil
            }
        default: nil
        }
    }
}

extension History {
    /// The ops of a version's step as losses name them; `step` is what no op of it is known for. None where it has no step.
    package func opNames(of version: SchemaVersion) -> Set<String> {
        guard let step = chain.step(to: version)?.step else { return [] }
        var names: Set<String> = ["step"]
        for item in step.items {
            switch item.action {
            case .payload(_, let entries):
                for entry in entries { names.formUnion(entry.op.losses.map(\.op)) }
            case .event(let op, _): names.insert(type(of: op).name)
            case .reserve: break
            }
        }
        return names
    }
}
