internal import EventModel

package enum OpRegistry {
    static let payloadOps: [any Op.Type] = [
        Add.self, Remove.self, Move.self, Copy.self, Wrap.self, Head.self, Unset.self, Convert.self, Split.self, Join.self,
        Compute.self, Each.self, When.self, Allow.self, Reserve.self, SwiftOp.self,
    ]

    static let eventOps: [any EventOp.Type] = [
        AddEvent.self, RenameEvent.self, DropEvent.self, SplitEvent.self, MergeEvents.self, Rekey.self,
    ]

    package static var names: [String] { payloadOps.map { $0.name } + eventOps.map { $0.name } }

    private static let payloadByName = Dictionary(uniqueKeysWithValues: payloadOps.map { ($0.name, $0) })
    private static let eventByName = Dictionary(uniqueKeysWithValues: eventOps.map { ($0.name, $0) })

    /// Reads one op of a `do` list.
    static func payloadOp(_ node: FileNode) throws(FileProblem) -> any Op {
        let member = try single(node, "an op")
        guard let type = payloadByName[member.name] else { throw unknown(member, known: payloadOps.map { $0.name }) }
        return try type.init(member.value)
    }

    /// Reads an op on events, which is an item beside `- on:`.
    static func eventOp(_ node: FileNode) throws(FileProblem) -> any EventOp {
        let member = try single(node, "an item")
        guard let type = eventByName[member.name] else {
            throw unknown(member, known: eventOps.map { $0.name } + [Reserve.name, "on"])
        }
        return try type.init(member.value)
    }

    /// The maximum number of ops of a step for one type, and inside one op: binding costs the number of ops times the size of the shape.
    static let opsMax = 1_000

    /// Reads the `do` list of an op that contains others.
    static func nested(_ node: FileNode) throws(FileProblem) -> [OpEntry] {
        var entries: [OpEntry] = []
        let items = try node.list("do")
        guard items.count <= opsMax else {
            throw node.problem("the list has \(items.count) ops, and may have \(opsMax)", rule: Rule.opArgument)
        }
        for item in items {
            let op = try payloadOp(item)
            if op is SwiftOp {
                throw item.problem(
                    "a Swift step stands on its own in the list of a type", rule: Rule.swiftStep,
                    fix: "take it out of the op around it; its code can do what that op says")
            }
            entries.append(OpEntry(op: op, mark: item.mark, number: entries.count + 1))
        }
        return entries
    }

    static func single(_ node: FileNode, _ what: String) throws(FileProblem) -> FileNode.Member {
        let members = try node.map(what)
        guard members.count == 1, let member = members.first else {
            throw node.problem("\(what) is a map with one key, its name, not \(members.count)", rule: Rule.opArgument)
        }
        return member
    }

    /// Names that other tools use for these ops.
    private static let synonyms = [
        "rename": [Move.name, RenameEvent.name], "delete": [Remove.name, DropEvent.name], "drop": [Remove.name, DropEvent.name],
        "remove": [DropEvent.name], "default": [Add.name], "set": [Add.name], "cast": [Convert.name], "map": [Convert.name],
        "concat": [Join.name], "add": [AddEvent.name], "split": [SplitEvent.name], "merge": [MergeEvents.name],
    ]

    private static func unknown(_ member: FileNode.Member, known: [String]) -> FileProblem {
        let synonym = nearest(to: member.name, among: synonyms.keys.sorted()).flatMap { synonyms[$0] }
        let meant = nearest(to: member.name, among: known) ?? synonym?.first { known.contains($0) }
        let guess = meant.map { "did you mean \($0)? " } ?? ""
        return member.problem(
            "there is no op \(quoted(member.name))", rule: Rule.unknownOp, fix: "\(guess)the ops are: \(known.joined(separator: ", "))"
        ).withRepairs(meant.map { member.place.repair(.rename($0)).certain(where: isTypo(member.name, of: $0, among: known)) })
    }
}
