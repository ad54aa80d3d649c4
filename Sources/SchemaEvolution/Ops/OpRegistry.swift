internal import EventModel

/// The ops that this program knows, by name.
enum OpRegistry {
    static let payloadOps: [any Op.Type] = [
        Add.self, Remove.self, Move.self, Copy.self, Wrap.self, Head.self, Unset.self, Convert.self, Split.self, Join.self,
        Compute.self, Each.self, When.self, Allow.self, Reserve.self,
    ]

    static let eventOps: [any EventOp.Type] = [
        AddEvent.self, RenameEvent.self, DropEvent.self, SplitEvent.self, MergeEvents.self, Rekey.self,
    ]

    private static let payloadByName = Dictionary(uniqueKeysWithValues: payloadOps.map { ($0.name, $0) })
    private static let eventByName = Dictionary(uniqueKeysWithValues: eventOps.map { ($0.name, $0) })

    /// Reads one op of a `do` list.
    static func payloadOp(_ node: FileNode) throws(FileProblem) -> (name: String, op: any Op) {
        let member = try single(node, "an op")
        guard let type = payloadByName[member.name] else { throw unknown(member, known: payloadOps.map { $0.name }) }
        return (member.name, try type.init(member.value))
    }

    /// Reads an op on events, beside `- on:`.
    static func eventOp(_ node: FileNode) throws(FileProblem) -> (name: String, op: any EventOp) {
        let member = try single(node, "an item")
        guard let type = eventByName[member.name] else {
            throw unknown(member, known: eventOps.map { $0.name } + [Reserve.name, "on"])
        }
        return (member.name, try type.init(member.value))
    }

    /// Reads the `do` list of an op that holds others.
    static func nested(_ node: FileNode) throws(FileProblem) -> [OpEntry] {
        var entries: [OpEntry] = []
        for item in try node.list("do") {
            let (name, op) = try payloadOp(item)
            entries.append(OpEntry(op: op, mark: item.mark, name: name, number: entries.count + 1))
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

    private static func unknown(_ member: FileNode.Member, known: [String]) -> FileProblem {
        let guess = nearest(to: member.name, among: known).map { "did you mean \($0)? " } ?? ""
        return member.problem(
            "there is no op \(quoted(member.name))", rule: Rule.unknownOp, fix: "\(guess)the ops are: \(known.joined(separator: ", "))")
    }
}
