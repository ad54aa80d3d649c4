package import EventModel
package import JSONText

/// An op on payloads with its arguments. What runs on events is the bound op; tools that explain or lint version files read this.
package enum OpStatement: Sendable {
    case add(Add)
    case remove(Remove)
    case move(Move)
    case copy(Copy)
    case wrap(Wrap)
    case head(Head)
    case unset(Unset)
    case convert(Convert)
    case split(Split)
    case join(Join)
    case compute(Compute)
    case each(Each)
    case when(When)
    case allow(Allow)
    case swift(SwiftOp)
    case reserve
}

/// An op on whole events with its arguments.
package enum EventOpStatement: Sendable {
    case add(AddEvent)
    case rename(RenameEvent)
    case drop(DropEvent)
    case split(SplitEvent)
    case merge(MergeEvents)
    case rekey(Rekey)
}

/// A codec with its arguments.
package enum CodecStatement: Sendable {
    /// `integer-text`, `number-text` and `boolean-text`: a text and the value that it spells.
    case text
    case decimal(scale: Int)
    /// - Parameter origin: in seconds since 1970-01-01T00:00:00Z.
    case epochSeconds(origin: Int64)
    case epochMillis
    case dateOfTime
    case localTime
    case scale(num: Int, den: Int, rounding: DecimalNumber.Rounding?)
    case table(Table)
}

/// One item of a version's `upcast` list.
package struct StepItem: Sendable {
    package enum Action: Sendable {
        /// Ops on the payloads of these types; nil: of all.
        case payload([OpEntry], types: [String]?)
        case event(EventOpStatement, name: String)
        case reserve
    }

    /// The version that the list leads to.
    package let version: SchemaVersion
    package let action: Action
    package let mark: Mark
}

extension History {
    /// The items of the lists between two versions, in either order: from the oldest step on, as the files have them.
    package func stepItems(from: SchemaVersion, to: SchemaVersion) -> [StepItem] {
        steps(from: from, to: to).flatMap { compiled in
            compiled.step.items.map { item in
                let action: StepItem.Action =
                    switch item.action {
                    case .payload(.all, let entries): .payload(entries, types: nil)
                    case .payload(.types(let types), let entries): .payload(entries, types: types)
                    case .event(let op, _): .event(op.statement, name: type(of: op).name)
                    case .reserve: .reserve
                    }
                return StepItem(version: compiled.version, action: action, mark: item.node.mark)
            }
        }
    }

    /// What the check found in the steps between two versions, in either order.
    package func stepFindings(from: SchemaVersion, to: SchemaVersion) -> [Finding] { steps(from: from, to: to).flatMap(\.findings) }

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
