package import EventModel
internal import JSONText

/// The changes from one version to the next, as declared in its file: a list that is applied in order.
struct Step: Sendable {
    let version: SchemaVersion
    private(set) var items: [StepItem] = []
    /// Problems with items that could not be read.
    private(set) var findings: [Finding] = []
    private(set) var rekeysStreams = false
    /// Whether an op reads a member with a codec.
    private(set) var converts = false
    /// Whether a codec of an op may give another value each time, by declaration.
    private(set) var drifts = false
    /// Whether an op makes a member from others within an object, which it makes too if it is absent.
    private(set) var derivesWithinObjects = false
    /// The indices of the items that name a type, and of those that may concern any type.
    private var naming: [Name: [Int]] = [:]
    private var general: [Int] = []

    init(_ file: VersionFile) {
        version = file.number
        guard let list = file.upcast else { return }
        var found: [Finding] = []
        var number = 0
        for node in found.attempt({ () throws(FileProblem) in try list.list("upcast") }) ?? [] {
            guard let action = Self.action(node, &number, &found) else { continue }
            note(action, at: items.count)
            items.append(StepItem(version: version, action: action, node: node))
        }
        findings = found
    }

    private mutating func note(_ action: StepItem.Action, at index: Int) {
        if case .payload(_, let entries) = action {
            converts = converts || entries.contains { $0.op.nested.contains { $0 is Convert || $0 is Copy } }
        }
        drifts = drifts || action.ops.contains { $0.op.nested.contains { ($0 as? Convert)?.codec.drifts ?? false } }
        let derived = action.ops.flatMap(\.op.nested).compactMap { ($0 as? Copy)?.path ?? ($0 as? Compute)?.path }
        derivesWithinObjects = derivesWithinObjects || derived.contains { $0.tokens.count > 1 }
        switch action {
        // Items without ops are skipped, since a list may contain many thousands of them.
        case .payload(_, let entries) where entries.isEmpty: break
        case .payload(.types(let types), _): for type in types { naming[type, default: []].append(index) }
        case .payload(.all, _): general.append(index)
        case .event(let entry):
            general.append(index)
            rekeysStreams = rekeysStreams || entry.op is Rekey
        case .reserve: break
        }
    }

    private static func action(_ node: FileNode, _ number: inout Int, _ found: inout [Finding]) -> StepItem.Action? {
        if node.member("on") != nil { return payload(node, &number, &found) }
        number += 1
        let count = number
        return found.attempt { () throws(FileProblem) in
            if let names = node.member(Reserve.name) { return .reserve(try names.texts("reserve")) }
            let op = try OpRegistry.eventOp(node)
            return .event(EventOpEntry(op: op, label: "\(type(of: op).name) (op \(count))"))
        }
    }

    private static func payload(_ node: FileNode, _ number: inout Int, _ found: inout [Finding]) -> StepItem.Action? {
        let parts = found.attempt { () throws(FileProblem) -> (StepItem.Selection, [FileNode]) in
            try node.map("an item", allowing: ["on", "do"])
            let on = try node.required("on", of: "an item")
            let types = try on.texts("on")
            return (types == ["all"] ? .all : .types(types), try node.required("do", of: "an item").list("do"))
        }
        guard let (selection, nodes) = parts else { return nil }
        var entries: [OpEntry] = []
        for node in nodes {
            number += 1
            let op = found.attempt { () throws(FileProblem) in try OpRegistry.payloadOp(node) }
            if let op { entries.append(OpEntry(op: op, mark: node.mark, number: number)) }
        }
        return .payload(on: selection, ops: entries)
    }

    /// What a type that exists after the first `index` items becomes: its names at version n, each with the ops that lead there, starting
    /// with `ops`.
    func fates(of type: String, after index: Int, ops: [any Op] = []) -> [(type: String, ops: [any Op])] {
        var (type, index, ops) = (type, index, ops)
        // A loop follows single successors, since a list may be long; only a type that becomes several types is followed recursively.
        while let place = place(of: type, from: index) {
            index = place + 1
            switch items[place].action {
            case .payload(_, let entries): ops += entries.map(\.op)
            case .event(let entry):
                guard let successors = entry.op.successors(of: type) else { continue }
                guard successors.count == 1 else { return successors.flatMap { fates(of: $0, after: index, ops: ops) } }
                type = successors[0]
            case .reserve: break
            }
        }
        return [(type, ops)]
    }

    /// The index of the first item, from `index` on, that may concern a type.
    private func place(of type: String, from index: Int) -> Int? {
        let named = naming[type].flatMap { rows in rows.first(from: index).map { rows[$0] } }
        guard let general = general.first(from: index).map({ general[$0] }) else { return named }
        return named.map { min($0, general) } ?? general
    }
}

/// An op on whole events.
package struct EventOpEntry: Sendable {
    let op: any EventOp
    /// The name of the op in errors.
    let label: String

    package var name: String { type(of: op).name }

    package func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]? {
        op.effects(of: type, in: stream, direction)
    }
}

/// One item of a version's `upcast` list.
package struct StepItem: Sendable {
    package enum Selection: Sendable {
        /// Every type that exists at this point of the list.
        case all
        case types([String])

        /// Nil for all.
        var names: Set<Name>? { if case .types(let types) = self { Set(of: types) } else { nil } }

        package func has(_ type: String) -> Bool { if case .types(let types) = self { types.has(type) } else { true } }
    }

    package enum Action: Sendable {
        case payload(on: Selection, ops: [OpEntry])
        case event(EventOpEntry)
        case reserve([String])

        /// The ops on payloads.
        fileprivate var ops: [OpEntry] {
            switch self {
            case .payload(_, let entries): entries
            case .event(let entry): entry.op.inner
            case .reserve: []
            }
        }
    }

    /// The version to which the list leads.
    package let version: SchemaVersion
    package let action: Action
    let node: FileNode

    package var mark: FileLocation { node.mark }
}

extension History {
    /// The items of the steps between two versions, given in either order; from the oldest step on, in the order of the files.
    package func stepItems(from: SchemaVersion, to: SchemaVersion) -> [StepItem] {
        steps(from: from, to: to).flatMap(\.step.items)
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
            case .event(let entry): names.insert(entry.name)
            case .reserve: break
            }
        }
        return names
    }
}
