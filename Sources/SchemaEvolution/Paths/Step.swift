internal import EventModel
internal import JSONText

/// The changes from one version to the next, as its file says them: a list, run in order.
struct Step: Sendable {
    enum Selection: Sendable {
        /// Every type that exists at this point of the list.
        case all
        case types([String])

        func contains(_ type: String) -> Bool {
            switch self {
            case .all: true
            case .types(let types): types.contains(type)
            }
        }
    }

    enum Action: Sendable {
        case payload(on: Selection, ops: [OpEntry])
        case event(any EventOp, label: String)
        case reserve([String])
    }

    struct Item: Sendable {
        let action: Action
        let node: FileNode
    }

    let version: SchemaVersion
    private(set) var items: [Item] = []
    /// What could not be read.
    private(set) var findings: [Finding] = []

    init(_ file: VersionFile) {
        version = file.number
        guard let list = file.upcast else { return }
        var found = FindingList()
        var number = 0
        for node in found.attempt({ () throws(FileProblem) in try list.list("upcast") }) ?? [] {
            guard let action = Self.action(node, &number, &found) else { continue }
            items.append(Item(action: action, node: node))
        }
        findings = found.findings
    }

    private static func action(_ node: FileNode, _ number: inout Int, _ found: inout FindingList) -> Action? {
        if node.member("on") != nil { return payload(node, &number, &found) }
        number += 1
        let count = number
        return found.attempt { () throws(FileProblem) in
            if let names = node.member(Reserve.name) { return .reserve(try names.texts("reserve")) }
            let (name, op) = try OpRegistry.eventOp(node)
            return .event(op, label: "\(name) (op \(count))")
        }
    }

    private static func payload(_ node: FileNode, _ number: inout Int, _ found: inout FindingList) -> Action? {
        let parts = found.attempt { () throws(FileProblem) -> (Selection, [FileNode]) in
            try node.map("an item", allowing: ["on", "do"])
            let on = try node.required("on", of: "an item")
            let types = try on.texts("on")
            return (types == ["all"] ? .all : .types(types), try node.required("do", of: "an item").list("do"))
        }
        guard let (selection, nodes) = parts else { return nil }
        var entries: [OpEntry] = []
        for node in nodes {
            number += 1
            let count = number
            let entry = found.attempt { () throws(FileProblem) -> OpEntry in
                let (name, op) = try OpRegistry.payloadOp(node)
                return OpEntry(op: op, mark: node.mark, name: name, number: count)
            }
            if let entry { entries.append(entry) }
        }
        return .payload(on: selection, ops: entries)
    }

    /// Whether an item gives streams other names.
    var rekeysStreams: Bool {
        items.contains { item in if case .event(is Rekey, _) = item.action { true } else { false } }
    }

    /// What a type that exists after the first `index` items will be: the names that version n has for it, each with the
    /// ops on the way, the first of which are `ops`.
    func fates(of type: String, after index: Int, ops: [any Op] = []) -> [(type: String, ops: [any Op])] {
        guard index < items.count else { return [(type, ops)] }
        switch items[index].action {
        case .payload(let selection, let entries):
            return fates(of: type, after: index + 1, ops: selection.contains(type) ? ops + entries.map(\.op) : ops)
        case .event(let op, _):
            guard let successors = op.successors(of: type) else { return fates(of: type, after: index + 1, ops: ops) }
            return successors.flatMap { fates(of: $0, after: index + 1, ops: ops) }
        case .reserve: return fates(of: type, after: index + 1, ops: ops)
        }
    }
}
