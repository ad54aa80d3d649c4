internal import Bytes
internal import EventModel
internal import JSONText

/// `remove {path, restore, because}`: removes a member from images; its bytes stay in the log.
struct Remove: MemberOp {
    static let name = "remove"

    let path: JSONPointer
    /// The value that an older version sees; nil means that the member is absent there.
    let restore: JSONValue?
    let because: String?

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("remove", allowing: ["path", "restore", "because"])
        path = try arguments.required("path", of: "remove").pointer("path")
        guard let restore = arguments.member("restore") else {
            throw arguments.problem(
                "remove does not say what an older version sees", rule: Rule.opArgument,
                fix: "add restore: a value, or restore: absent where version n-1 does not require the member"
            ).withRepairs(arguments.mark.repair("restore", to: .string("absent")))
        }
        if case .string("absent") = restore.kind { self.restore = nil } else { self.restore = restore.constant }
        because = try arguments.member("because")?.text("because")
    }

    var isTotal: Bool { true }

    var loss: String? { because ?? "" }

    var trait: OpTrait? { .removes(path) }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        guard direction == .down else { return [OpEffect(.goes(path.below(holder)), "is removed" + (because.map { ": \($0)" } ?? ""))] }
        let words = restore.map { "is restored as \($0.text)\(path.around("where"))" } ?? "is absent: it was removed"
        return [OpEffect(.appears(path.below(holder)), words)]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        guard let old = site.require(path), !site.namesStream(path) else { return nil }
        site.opClass.insert(.narrow)
        site.require(reason: because, "\(path) is lost and nothing says why", at: ["*", "because"])
        if let restore {
            if let why = old.rejection(of: restore) {
                site.note(
                    Rule.downNotTotal, "restore: \(restore.text) does not fit the older shape: \(why.pointer) \(why.reason)",
                    fix: "give a value that is \(why.expected)",
                    repair: site.mark.repair("*", "restore", to: old.nearestValue(to: restore.word)))
            }
        } else if site.shape.isRequired(at: path) {
            site.note(
                Rule.downNotTotal, "restore: absent, and the version before requires \(path)",
                fix: "give a value that version n-1 accepts: restore: …")
        }
        guard let parent = path.parent, let name = path.last else { return nil }
        site.shape.remove(at: path)
        return BoundRemove(path: path, parent: parent, name: name, restore: restore)
    }
}

private final class BoundRemove: StagedOp {
    let path: JSONPointer
    let parent: JSONPointer
    let name: MemberName
    let restored: ConstantText?

    init(path: JSONPointer, parent: JSONPointer, name: MemberName, restore: JSONValue?) {
        (self.path, self.parent, self.name, restored) = (path, parent, name, restore.map { ConstantText($0) })
    }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        switch direction {
        case .up:
            guard let node = doc.find(path, from: object) else { return }
            doc.lose(node, unless: restored?.canonical)
            doc.detach(node)
        case .down:
            guard let restored, let holder = doc.value(at: parent, from: object), doc.kind(holder) == .object else { return }
            doc.set(name, of: holder, to: restored.json)
        }
    }
}

/// `reserve [names]`: names that must never be used again.
struct Reserve: Op {
    static let name = "reserve"

    /// A bare name denotes a member of the payload.
    let members: [JSONPointer]

    init(_ arguments: FileNode) throws(FileProblem) {
        var members: [JSONPointer] = []
        for name in try arguments.texts("reserve") {
            do { members.append(try JSONPointer(name.begins(with: "/") ? name : "/" + name)) } catch {
                throw arguments.problem("\(name) is not a member: \(error.reason)", rule: Rule.opArgument)
            }
        }
        guard !members.isEmpty else { throw arguments.problem("reserve names nothing", rule: Rule.opArgument) }
        self.members = members
    }

    var writes: [JSONPointer] { [] }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] { [] }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? { nil }
}
