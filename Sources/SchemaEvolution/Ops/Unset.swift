internal import Bytes
internal import EventModel
internal import JSONText

/// `unset {path, equals: X}`: turns a sentinel value into an absent member.
struct Unset: MemberOp {
    static let name = "unset"

    let path: JSONPointer
    let sentinel: JSONValue

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("unset", allowing: ["path", "equals"])
        path = try arguments.required("path", of: "unset").pointer("path")
        sentinel = try arguments.required("equals", of: "unset").constant
    }

    var isTotal: Bool { true }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let words =
            direction == .up ? "is absent where it is \(sentinel.text)" : "is \(sentinel.text) where it is absent\(path.around("and"))"
        return [OpEffect(.changes(path.below(holder)), words)]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        guard var member = site.require(path), !site.namesStream(path) else { return nil }
        guard site.shape.isRequired(at: path) else {
            return site.refuse(
                Rule.wrongKind, "\(path) is optional in the version before: absent and \(sentinel.text) would become one",
                fix: "unset is for members that version n-1 requires; dispatch or convert before")
        }
        if let why = member.rejection(of: sentinel) {
            site.note(
                Rule.wrongKind, "\(path) is never \(sentinel.text): it \(why.reason)", fix: "take the unset out",
                repair: site.mark.repair(.remove))
        }
        let before = site.shape
        if sentinel == .null { member.isNullable = false }
        let constant = ConstantText(sentinel)
        member.enumeration = member.enumeration?.filter { $0.canonical() != constant.canonical }
        _ = site.shape.replace(at: path, with: member, required: false)
        guard let place = MemberLocation(path, here: before, there: site.shape) else { return nil }
        return BoundUnset(place: place, sentinel: constant)
    }
}

private final class BoundUnset: StagedOp {
    let place: MemberLocation
    let sentinel: ConstantText

    init(place: MemberLocation, sentinel: ConstantText) { (self.place, self.sentinel) = (place, sentinel) }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        switch direction {
        case .up: if let node = place.find(in: &doc, at: object), doc.equals(node, sentinel.canonical) { doc.detach(node) }
        case .down:
            guard let holder = place.holder(in: &doc, at: object, forValue: false), doc.member(place.name, of: holder) == nil else {
                return
            }
            doc.set(place.name, of: holder, to: sentinel.json)
        }
    }
}
