package import EventModel
package import JSONText

/// An op on payloads with its arguments, for tools that explain or lint version files. Events are converted by the bound op.
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

/// An op on whole events, with its arguments.
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
    /// `integer-text`, `number-text` and `boolean-text`: a text and the value that it denotes.
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
        /// Ops on the payloads of these types; nil means all types.
        case payload([OpEntry], types: [String]?)
        case event(EventOpStatement, name: String)
        case reserve
    }

    /// The version to which the list leads.
    package let version: SchemaVersion
    package let action: Action
    package let mark: FileLocation
}

extension History {
    /// The items of the steps between two versions, given in either order; from the oldest step on, in the order of the files.
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

    /// The findings of the steps between two versions, given in either order.
    package func stepFindings(from: SchemaVersion, to: SchemaVersion) -> [Finding] { steps(from: from, to: to).flatMap(\.findings) }

    /// The ops of a version's step under the names that losses use; `step` stands for losses that can't be attributed to an op. Empty if
    /// the version has no step.
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
