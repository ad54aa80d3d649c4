package import EventModel

/// An op on whole events.
package struct EventOpEntry: Sendable {
    let op: any EventOp

    package var name: String { type(of: op).name }

    /// What happens to an event of a type, in words; nil if the op does not affect the type.
    /// - Parameter stream: the template of its stream; nil if the stream may have any name.
    package func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        op.effects(of: type, in: stream, direction)
    }
}

/// One item of a version's `upcast` list.
package struct StepItem: Sendable {
    package enum Action: Sendable {
        /// Ops on the payloads of these types; nil means all types.
        case payload([OpEntry], types: [String]?)
        case event(EventOpEntry)
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
                    case .event(let op, _): .event(EventOpEntry(op: op))
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
