internal import EventModel
internal import JSONText

/// `move {from, path}`: renames, nests or hoists a member.
struct Move: Op {
    static let name = "move"

    let from, path: JSONPointer

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("move", allowing: ["from", "path"])
        from = try arguments.required("from", of: "move").pointer("from")
        path = try arguments.required("path", of: "move").pointer("path")
        guard from != path else {
            throw arguments.problem("move from \(from) to \(path) does nothing", rule: Rule.idle, fix: "take the move out")
                .withRepairs(arguments.mark.repair(.remove, at: ".."))
        }
    }

    init(from: JSONPointer, path: JSONPointer) { (self.from, self.path) = (from, path) }

    var origin: JSONPointer? { from }

    func destination(of pointer: JSONPointer) -> JSONPointer {
        pointer.hasPrefix(from) ? JSONPointer(tokens: path.tokens + pointer.tokens.dropFirst(from.tokens.count)) : pointer
    }

    var writes: [JSONPointer] { [from, path] }

    var isTotal: Bool { true }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let (old, new) = direction == .up ? (from, path) : (path, from)
        return [OpEffect(.moves(from: old.below(holder), to: new.below(holder)), "")]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        let before = site.shape
        let common = from.commonParents(with: path)
        guard let (member, always) = site.take(from, common: common, makingRoomFor: path),
            site.put(member, at: path, .moved(always: always), common: common)
        else { return nil }
        site.stream = site.stream?.mapMembers(destination(of:))
        if from.parent == path.parent, let parent = from.parent, let old = from.last, let new = path.last {
            return BoundRename(parent: parent, old: old, new: new)
        }
        guard let old = MemberLocation(from, here: before, there: site.shape),
            let new = MemberLocation(path, here: site.shape, there: before)
        else { return nil }
        return BoundMove(old: old, new: new)
    }
}

private final class BoundMove: StagedOp {
    let old, new: MemberLocation

    init(old: MemberLocation, new: MemberLocation) { (self.old, self.new) = (old, new) }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        let (from, to) = direction == .up ? (old, new) : (new, old)
        let node = from.take(from: &doc, at: object)
        to.put(node, into: &doc, at: object)
    }
}

/// A move within one object: the member keeps its position in the text.
private final class BoundRename: StagedOp {
    let parent: JSONPointer
    let old, new: MemberName

    init(parent: JSONPointer, old: MemberName, new: MemberName) { (self.parent, self.old, self.new) = (parent, old, new) }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        guard let holder = doc.value(at: parent, from: object) else { return }
        let (from, to) = direction == .up ? (old, new) : (new, old)
        doc.rename(from, to: to, in: holder)
    }
}
