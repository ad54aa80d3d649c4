internal import Bytes
internal import EventModel
internal import JSONText

/// `wrap {path, empty}`: a scalar becomes a list of one element; an absent scalar, or one equal to `empty`, becomes an empty list.
struct Wrap: MemberOp {
    static let name = "wrap"

    let path: JSONPointer
    /// The scalar that corresponds to an empty list.
    let empty: JSONValue?

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("wrap", allowing: ["path", "empty"])
        path = try arguments.required("path", of: "wrap").pointer("path")
        empty = arguments.member("empty")?.constant
    }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let none = empty.map { "\($0.text) becomes []" } ?? "absent becomes []\(path.around("where"))"
        return [
            direction == .up
                ? .becomesList(path.below(holder), none, empty)
                : .becomesFirst(path.below(holder), empty?.text ?? "absent where the older version does not require it", empty)
        ]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        guard var element = site.require(path), !site.namesStream(path) else { return nil }
        guard element.isScalar else {
            return site.refuse(Rule.wrongKind, "wrap is for a scalar, and \(path) is \(element.noun)")
        }
        let before = site.shape
        let wasRequired = site.shape.isRequired(at: path)
        if let empty, let why = element.rejection(of: empty) {
            site.note(
                Rule.downNotTotal, "empty: \(empty.text) does not fit the older shape: it \(why.reason)",
                repair: site.mark.repair("*", "empty", to: element.nearestValue(to: empty.word)))
        }
        if let empty, !wasRequired {
            site.note(
                Rule.wrongKind, "\(path) may be absent already: absent and \(empty.text) would become one",
                fix: "leave empty out; convert \(empty.text) before", repair: site.mark.repair(.remove, at: "*", "empty"))
        }
        let takesNull = empty == .null
        var list = Shape.array(of: element)
        list.isNullable = element.isNullable && !takesNull
        element.isNullable = false
        list.items = element
        if wasRequired, empty == nil {
            list.minItems = 1
            if let declared = site.declared(at: path), declared.minItems ?? 0 < 1 {
                site.note(
                    Rule.downNotTotal, "[] would have no image at the version before, which requires \(path)",
                    fix: "say which value is none: wrap: {path: \(path), empty: …}, or declare minItems: 1",
                    repair: site.mark.repair("*", "empty", to: element.sample(refusedBy: declared.items)))
                list.minItems = nil
            }
        }
        site.opClass.insert(.widen)
        let isRequired = wasRequired ? true : site.declaredRequires(path) ?? true
        _ = site.shape.replace(at: path, with: list, required: isRequired)
        guard let place = MemberLocation(path, here: site.shape, there: before) else { return nil }
        return BoundWrap(place: place, empty: empty, isRequired: wasRequired, fills: true, wraps: .up)
    }
}

/// `head {path, empty}`: a list is replaced by its first element.
struct Head: MemberOp {
    static let name = "head"

    let path: JSONPointer
    /// The scalar that replaces an empty list.
    let empty: JSONValue?
    /// The reason for losing the elements after the first.
    let because: String?

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("head", allowing: ["path", "empty", "because"])
        path = try arguments.required("path", of: "head").pointer("path")
        empty = arguments.member("empty")?.constant
        because = try arguments.member("because")?.text("because")
    }

    var loss: String? { because }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let required = "where the older version requires the list"
        let none = (empty.map { "\($0.text) becomes []; " } ?? "") + "absent becomes [] \(required)\(self.path.around("and"))"
        let first = empty.map { "\($0.text) \(required), and absent otherwise" } ?? "absent"
        let path = path.below(holder)
        return [direction == .up ? .becomesFirst(path, first, empty, because) : .becomesList(path, none, empty)]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        guard let list = site.require(path), !site.namesStream(path) else { return nil }
        guard list.kind == .array, let element = list.items, element.isScalar, !element.isNullable else {
            return site.refuse(Rule.wrongKind, "head is for a list of scalars that are not null, and \(path) is \(list.noun)")
        }
        let before = site.shape
        var scalar = element
        scalar.isNullable = list.isNullable || empty == .null
        if let empty, scalar.enumeration?.contains(empty) == false { scalar.enumeration?.append(empty) }
        if let empty, let why = scalar.rejection(of: empty) {
            site.note(Rule.upNotTotal, "empty: \(empty.text) does not fit the newer shape: it \(why.reason)")
        }
        let wasRequired = site.shape.isRequired(at: path)
        let isRequired = wasRequired && (empty != nil || list.minItems ?? 0 > 0)
        site.opClass.insert(.narrow)
        if list.minItems ?? 0 > 1 { site.mayFail() }
        _ = site.shape.replace(at: path, with: scalar, required: isRequired)
        guard let place = MemberLocation(path, here: site.shape, there: before) else { return nil }
        return BoundWrap(place: place, empty: empty, isRequired: isRequired, fills: wasRequired, wraps: .down)
    }
}

/// Converts between a scalar (older side of a wrap) and a list of it.
private final class BoundWrap: StagedOp {
    let place: MemberLocation
    let empty: ConstantText?
    /// Whether the scalar is required, so that an empty list becomes the value of `empty`.
    let isRequired: Bool
    /// Whether an absent scalar becomes an empty list.
    let fills: Bool
    /// The direction in which the op wraps.
    let wraps: Direction

    private static let emptyList: [UInt8] = Array("[]".utf8)

    init(place: MemberLocation, empty: JSONValue?, isRequired: Bool, fills: Bool, wraps: Direction) {
        (self.place, self.isRequired, self.fills, self.wraps) = (place, isRequired, fills, wraps)
        self.empty = empty.map { ConstantText($0) }
    }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        if direction == wraps { wrap(&doc, at: object) } else { try unwrap(&doc, at: object) }
    }

    private func wrap<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) {
        guard let node = place.find(in: &doc, at: object) else {
            if fills, let holder = place.holder(in: &doc, at: object, forValue: false) {
                doc.set(place.name, of: holder, to: Self.emptyList)
            }
            return
        }
        if let empty, doc.equals(node, empty.canonical) {
            doc.replace(node, with: Self.emptyList)
        } else if doc.kind(node) != .null {
            doc.wrapInArray(node)
        }
    }

    private func unwrap<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) throws(OpStop) {
        guard let node = place.find(in: &doc, at: object) else {
            guard isRequired, let empty, let holder = place.holder(in: &doc, at: object, forValue: false) else { return }
            return doc.set(place.name, of: holder, to: empty.json)
        }
        let kind = doc.kind(node)
        if kind == .null { return }
        guard kind == .array else { throw doc.refusal(at: place.pointer, expected: "a list", found: .node(node)) }
        if let first = doc.first(of: node) {
            doc.replace(node, withValueOf: first)
        } else if !isRequired {
            doc.detach(node)
        } else if let empty {
            doc.replace(node, with: empty.json)
        } else {
            throw doc.refusal(at: place.pointer, expected: "a list with an element", found: .words("an empty list"))
        }
    }
}

extension OpEffect {
    /// - Parameter none: what becomes an empty list, as a clause.
    fileprivate static func becomesList(_ path: JSONPointer, _ none: String, _ empty: JSONValue?) -> OpEffect {
        OpEffect(.changes(path), "becomes a list of its value; \(none)\(nullWords(empty))")
    }

    /// - Parameter none: what an empty list becomes.
    fileprivate static func becomesFirst(
        _ path: JSONPointer, _ none: String, _ empty: JSONValue?, _ because: String? = nil
    ) -> OpEffect {
        let why = because.map { ": \($0)" } ?? ""
        return OpEffect(
            .changes(path),
            "becomes the first of its list; [] becomes \(none)\(nullWords(empty)); what follows the first is not seen\(why)")
    }

    private static func nullWords(_ empty: JSONValue?) -> String { empty == .null ? "" : "; null stays null" }
}
