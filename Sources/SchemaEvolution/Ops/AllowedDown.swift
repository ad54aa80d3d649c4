internal import JSONText

/// The `down:` argument of `allow`: what the older version sees in place of values that it does not know.
struct AllowedDown: Sendable {
    /// What happens to a value that does not fit the older shape.
    enum Misfit: Sendable {
        case absent
        case value([UInt8])
        case block
        case hide(String)

        var isValue: Bool {
            if case .value = self { true } else { false }
        }
    }

    let misfit: Misfit?
    /// New values in canonical form, each with the JSON text that the older version sees.
    let table: [(new: [UInt8], old: [UInt8])]
    /// The rows of the table as written in the file.
    let rows: [Table.Row]
    /// What `absent-as` says.
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

    /// What the older version sees, in words.
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
