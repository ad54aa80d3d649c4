internal import Bytes
internal import EventModel
internal import JSONText

/// `allow {path, down}`: version n allows more values at a pointer than the ops produce; `down` determines what the older version sees.
struct Allow: MemberOp {
    static let name = "allow"

    let path: JSONPointer
    let down: AllowedDown

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("allow", allowing: ["path", "down", "because"])
        path = try arguments.required("path", of: "allow").pointer("path")
        down = try AllowedDown(
            try arguments.required(
                "down", of: "allow", choices: "absent, {value: x}, {table: {new: old}}, {absent-as: x}, block or {hide: why}",
                guess: .string("absent")))
    }

    var isTotal: Bool {
        switch down.misfit {
        case .absent?, .value?: true
        case .block?, .hide?, nil: false
        }
    }

    var loss: String? {
        if case .hide(let why)? = down.misfit { why } else { nil }
    }

    var blocks: Bool {
        if case .block? = down.misfit { true } else { false }
    }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let path = path.below(holder)
        return direction == .up ? [OpEffect(.widens(path), "")] : [OpEffect(.changes(path), down.words)]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        guard let declared = site.declared(at: path) else {
            return site.refuse(
                Rule.noMember, "the version does not declare \(path): there is nothing to allow", fix: "take the allow out",
                repair: site.mark.repair(.remove))
        }
        site.opClass.insert(.widen)
        guard let old = site.shape.shape(at: path) else { return bindNew(declared, &site) }
        let wasRequired = site.shape.isRequired(at: path)
        let isRequired = path.isRoot || (site.declaredRequires(path) ?? true)
        let differences = ShapeDifference.compare(old, declared)
        let becameOptional = wasRequired && !isRequired
        guard becameOptional || differences.contains(where: \.kind.isWider) else {
            return site.refuse(
                Rule.idle, "\(path) is not wider than what the ops make: there is nothing to allow", fix: "take the allow out",
                repair: site.mark.repair(.remove))
        }
        for difference in differences {
            switch difference.kind {
            case .wider: break
            case .narrower: site.mayFail()
            case .missing, .extra, .type, .format, .stream:
                let place = JSONPointer(tokens: path.tokens + difference.pointer.tokens)
                site.note(Rule.unexplained, "\(place): \(difference.words)", fix: "write a separate op for \(place)")
            }
        }
        if becameOptional, down.absent == nil, !down.stops {
            site.note(
                Rule.downNotTotal, "\(path) may be absent now, and the version before requires it",
                fix: "allow: {path: \(path), down: {absent-as: …}}",
                repair: down.table.isEmpty
                    ? site.mark.repair("*", "down", to: .object([.init(name: "absent-as", value: old.sample)]))
                    : site.mark.repair("*", "down", "absent-as", to: old.sample))
        }
        if wasRequired, case .absent? = down.misfit {
            site.note(
                Rule.downNotTotal, "down: absent, and the version before requires \(path)", fix: "give a value: down: {value: …}",
                repair: site.mark.repair("*", "down", to: .object([.init(name: "value", value: old.sample)])))
        }
        for value in down.values {
            if let why = old.rejection(of: value) {
                site.note(
                    Rule.downNotTotal, "\(value.text) does not fit the older shape: it \(why.reason)",
                    repair: site.mark.repair(.swap(value.word, old.nearestValue(to: value.word).text), at: "*", "down"))
            }
        }
        let before = site.shape
        _ = site.shape.replace(at: path, with: declared, required: wasRequired ? isRequired : false)
        return BoundAllow(
            path: path, place: MemberLocation(path, here: before, there: site.shape), old: EventShape(shape: old), wasRequired: wasRequired,
            down: down)
    }

    /// Binds a member that the previous version does not have.
    private func bindNew(_ declared: Shape, _ site: inout BindingContext) -> (any BoundOp)? {
        if site.declaredRequires(path) == true {
            site.note(
                Rule.upNotTotal, "\(path) is new and required: events of the version before have none",
                fix: "give it a value: add: {path: \(path), value: …}",
                repair: site.mark.repair(to: .op("add", [("path", .string(path.description)), ("value", declared.sample)])))
        }
        if down.absent != nil || !down.table.isEmpty {
            site.note(
                Rule.opArgument, "the version before has no \(path), so it can't see a value there",
                fix: "allow: {path: \(path), down: absent}", repair: site.mark.repair("*", "down", to: .string("absent")))
        }
        guard let parent = path.parent, site.shape.shape(at: parent) != nil, let name = path.last else {
            return site.refuse(
                Rule.noMember, "there is no object that holds \(path)", fix: path.parent.map { "allow: {path: \($0), down: …}" })
        }
        guard site.shape.insert(declared, at: path, required: false) else {
            return site.refuse(Rule.wrongKind, "\(parent) is not an object that can have a member \(name)")
        }
        return BoundAllow(path: path, place: nil, old: nil, wasRequired: false, down: down)
    }
}

private final class BoundAllow: StagedOp {
    let path: JSONPointer
    let place: MemberLocation?
    /// Nil if the previous version does not have the member.
    let old: EventShape?
    let wasRequired: Bool
    let down: AllowedDown

    init(path: JSONPointer, place: MemberLocation?, old: EventShape?, wasRequired: Bool, down: AllowedDown) {
        (self.path, self.place, self.old, self.wasRequired, self.down) = (path, place, old, wasRequired, down)
    }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        guard direction == .down else { return }
        guard let old else {
            guard let node = doc.value(at: path, from: object) else { return }
            if down.stops { throw down.stop(&doc, at: path, expected: "absent", found: .node(node)) }
            doc.lose(1)
            return doc.detach(node)
        }
        // The presence of the member is tested only where it matters.
        let mustBe = wasRequired && place != nil
        guard let node = mustBe ? doc.value(at: path, from: object) : doc.find(path, from: object) else {
            guard wasRequired, let place, let holder = place.holder(in: &doc, at: object, forValue: false) else { return }
            guard let absent = down.absent else { throw down.stop(&doc, at: path, expected: "there", found: .words("nothing")) }
            return doc.set(place.name, of: holder, to: absent)
        }
        guard let expected = doc.misfit(node, old) else { return }
        for row in down.table where doc.equals(node, row.new) {
            doc.lose(1)
            return doc.replace(node, with: row.old)
        }
        switch down.misfit {
        case .absent?:
            doc.lose(1)
            doc.detach(node)
        case .value(let value)?:
            doc.lose(1)
            doc.replace(node, with: value)
        case .block?, .hide?, nil: throw down.stop(&doc, at: path, expected: expected, found: .node(node))
        }
    }
}

extension AllowedDown {
    /// The outcome that hides or refuses the event.
    fileprivate func stop<D: Document & ~Copyable>(
        _ doc: inout D, at path: JSONPointer, expected: String, found: Found<D.Node>
    ) -> OpStop {
        if case .hide? = misfit { .hidden } else { doc.refusal(at: path, expected: expected, found: found) }
    }
}

/// The `down:` argument of `allow`: what the older version sees in place of values that it does not know.
struct AllowedDown: Sendable {
    /// What happens to a value that does not fit the older shape.
    enum Misfit: Sendable {
        case absent
        case value([UInt8])
        case block
        case hide(String)
    }

    let misfit: Misfit?
    /// New values in canonical form, each with the JSON text that the older version sees.
    let table: [(new: [UInt8], old: [UInt8])]
    /// The rows of the table as written in the file.
    let rows: [Table.Row]
    private let absentAs: JSONValue?
    /// The JSON text that the older version sees if the member is absent.
    let absent: [UInt8]?
    /// All values that the older version may see.
    let values: [JSONValue]

    init(_ node: FileNode) throws(FileProblem) {
        switch node.kind {
        case .string("absent"): self.init(.absent)
        case .string("block"): self.init(.block)
        case .string(let word):
            throw node.problem(
                "down is absent, block, {value: x}, {table: {new: old}}, {absent-as: x} or {hide: why}", rule: Rule.opArgument
            ).withRepairs(nearest(to: word, among: ["absent", "block"]).map { node.becomes(.string($0)) })
        default:
            let members = try node.map("down", allowing: ["value", "table", "absent-as", "hide", "because"])
            let value = node.member("value")?.constant
            var misfit = value.map { Misfit.value(Array($0.text.utf8)) }
            if let why = node.member("hide") {
                guard misfit == nil else { throw node.problem("down has a value or hides the event, not both", rule: Rule.opArgument) }
                misfit = .hide(try why.text("hide"))
            }
            let rows = try node.member("table").map { node throws(FileProblem) in try Table.rows(node, "table") } ?? []
            guard members.contains(where: { $0.name != "because" }) else {
                throw node.problem("down says nothing", rule: Rule.opArgument, fix: "down: absent")
                    .withRepairs(node.becomes(.string("absent")))
            }
            self.init(misfit, value: value, rows: rows, absentAs: node.member("absent-as")?.constant)
        }
    }

    private init(_ misfit: Misfit?, value: JSONValue? = nil, rows: [Table.Row] = [], absentAs: JSONValue? = nil) {
        (self.misfit, self.rows, self.absentAs) = (misfit, rows, absentAs)
        table = rows.flatMap { row in Self.spellings(row.key).map { ($0, Array(row.value.text.utf8)) } }
        absent = (absentAs ?? value).map { Array($0.text.utf8) }
        values = [value].compactMap(\.self) + rows.map(\.value) + [absentAs].compactMap(\.self)
    }

    /// Whether an event with an unfitting value has no image at the older version.
    var stops: Bool {
        switch misfit {
        case .block?, .hide?: true
        case .absent?, .value?, nil: false
        }
    }

    /// The values that a table key may denote, in canonical form: the text, and the number or literal that it spells.
    private static func spellings(_ key: String) -> [[UInt8]] {
        let text = JSONValue.string(key).canonical()
        let scalar = Shape.value(key, .any)
        if case .string = scalar { return [text] }
        return [text, scalar.canonical()]
    }

    var words: String {
        let (unknown, lacking) = ("the older version does not know it", "it is absent and the older version requires it")
        // What replaces, hides or refuses an unknown value does so with an absent one, unless `absent-as` has one for that.
        let always = absentAs == nil ? "where \(unknown), or \(lacking)" : "where \(unknown)"
        let misfitWords =
            switch misfit {
            case .absent?: "is left out where \(unknown)"
            case .value(let text)?: "is \(String(decoding: text, as: UTF8.self)) \(always)"
            case .block?: "is refused \(always)"
            case .hide(let why)?: "hides the event \(always): \(why)"
            case nil: "is refused where \(unknown)"
            }
        let rows = rows.map { "is \($0.value.text) where it is \($0.key.inWords)" }
        return (rows + [misfitWords] + (absentAs.map { ["is \($0.text) where \(lacking)"] } ?? [])).joined(separator: "; ")
    }
}
