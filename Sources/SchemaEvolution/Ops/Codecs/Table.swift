internal import Bytes
internal import EventModel
internal import JSONText

/// `table{map, otherwise, down}`: replaces scalars by other scalars.
struct Table: Codec {
    static let name = "table"

    /// What happens, on the way up, to a value that is not in the map.
    enum Otherwise: Sendable {
        case refuse
        case keep
        case value(JSONValue)
    }

    struct Row: Sendable {
        let key: String
        let value: JSONValue
    }

    /// In the order in which a store keeps them, that of canonical JSON (RFC 8785), so that the order in the file means nothing: the first
    /// of several that fit counts.
    let rows: [Row]
    let otherwise: Otherwise
    /// What an older version sees in place of newer values.
    let down: [Row]
    let because: String?

    init(_ arguments: FileNode?, in using: FileNode) throws(FileProblem) {
        guard let arguments else {
            throw using.problem("table needs a map", rule: Rule.opArgument, fix: "using: {table: {map: {old: new}}}")
        }
        try arguments.map("table", allowing: ["map", "otherwise", "down", "because"])
        rows = try Self.rows(try arguments.required("map", of: "table"), "map")
            .sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
        down = try arguments.member("down").map { node throws(FileProblem) in try Self.rows(node, "down") } ?? []
        because = try arguments.member("because")?.text("because")
        switch arguments.member("otherwise")?.kind {
        case nil, .string("error")?: otherwise = .refuse
        case .string("keep")?: otherwise = .keep
        case .map(let members)? where members.count == 1 && members[0].name == "value": otherwise = .value(members[0].value.constant)
        case let other:
            let meant: String? = if case .string(let word)? = other { nearest(to: word, among: ["error", "keep"]) } else { nil }
            throw arguments.problem(
                "otherwise is error, keep or {value: x}", rule: Rule.opArgument,
                fix: meant.map { "did you mean \($0)?" } ?? "leave it out to refuse other values"
            ).withRepairs(arguments.mark.repair(meant.map { .set(JSONValue.string($0).text) } ?? .remove, at: "otherwise"))
        }
    }

    static func rows(_ node: FileNode, _ what: String) throws(FileProblem) -> [Row] {
        var rows: [Row] = []
        for member in try node.map(what) {
            switch member.value.kind {
            case .list, .map: throw member.value.problem("\(what) has a scalar for each word", rule: Rule.opArgument)
            default: rows.append(Row(key: member.name, value: member.value.constant))
            }
        }
        return rows
    }

    /// What is kept as it is may be a word that the table makes of another one, and `down` may give a word that becomes yet another.
    var drifts: Bool { because != nil }

    func words(_ direction: Direction) -> String {
        var words: [String] = []
        switch direction {
        case .up:
            words = rows.map { "\($0.key.inWords) is \($0.value.inWords)" }
        case .down:
            words = down.map { "\($0.key.inWords) is \($0.value.inWords)" }
            // If several keys have equal values, the way down produces the first key.
            var known = Set(down.map(\.key))
            for row in rows where known.insert(row.value.word).inserted { words.append("\(row.value.inWords) is \(row.key.inWords)") }
        }
        switch (otherwise, direction) {
        case (.keep, _): words.append("anything else stays")
        case (.value(let value), .up): words.append("anything else is \(value.inWords)")
        case (.refuse, _), (.value, .down): words.append("anything else is refused")
        }
        return words.joined(separator: ", ")
    }

    func bind(_ source: Shape, to kind: Shape.Kind?, declared: Shape?, _ site: inout BindingContext) -> CodecBinding? {
        guard source.isScalar else { return site.refuse(Rule.wrongKind, "a table is over scalars, and here is \(source.noun)") }
        guard let kind = kind ?? declared?.kind else {
            return site.refuse(
                Rule.opArgument, "nothing says which kind of value the table makes", fix: "to: string",
                repair: site.mark.repair("*", "to", to: .string("string")))
        }
        return bound(to: source, kind, declared: declared ?? Shape(kind), &site)
    }
}

extension Table {
    /// Binds the table to the values that a source can have.
    private func bound(to source: Shape, _ kind: Shape.Kind, declared: Shape, _ site: inout BindingContext) -> CodecBinding {
        let place = ["*", "using", Table.name]
        let old = { (key: String) in Shape.value(key, source.kind) }
        for value in rows.map(\.value) + down.map({ Shape.value($0.key, kind) }) {
            if let why = Shape(kind).rejection(of: value) {
                site.note(Rule.opArgument, "the table makes \(value.text), which \(why.reason)")
            }
        }
        let domain = source.enumeration ?? source.constant.map { [$0] } ?? (source.kind == .boolean ? [.bool(true), .bool(false)] : nil)
        // Values are compared in canonical form: a number counts as what it is, and not as it is written.
        let (keys, values) = (rows.map { old($0.key).canonical() }, rows.map { $0.value.canonical() })
        let mapped = Set(keys)
        let others = domain?.filter { !mapped.contains($0.canonical()) && $0 != .null }
        checkCoverage(of: domain, by: (keys, values), without: others, declared, &site)

        // The values that the table produces, and what each becomes on the way down, with its place there.
        var made = rows.map(\.value)
        var back: [(new: JSONValue, old: JSONValue)] = down.map { (Shape.value($0.key, kind), $0.value) }
        var places = Dictionary(zip(back.map { $0.new.canonical() }, back.indices)) { first, _ in first }
        let times = values.reduce(into: [:]) { $0[$1, default: 0] += 1 }
        var loses = false
        for (row, value) in zip(rows, values) {
            if let first = places[value] {
                loses = loses || first >= down.count || times[value, default: 0] > 1
            } else {
                places[value] = back.count
                back.append((row.value, old(row.key)))
            }
        }
        var (isKeeping, fallback): (Bool, JSONValue?) = (false, nil)
        switch otherwise {
        case .refuse: break
        case .keep:
            isKeeping = true
            made += others ?? []
            for value in others ?? [] {
                if let why = Shape(kind).rejection(of: value) {
                    site.note(
                        Rule.upNotTotal, site.mayChange ? .error : .warning, "the table keeps \(value.text), which \(why.reason)",
                        fix: "map it: \(value.word): …")
                }
            }
            if source.kind != kind, !(source.kind == .integer && kind == .number) {
                // A kept value has the wrong kind, here or on the way down.
                site.isUnproved = true
            }
            if let others {
                loses = loses || others.contains { times[$0.canonical()] != nil }
            } else {
                site.opClass.insert(.partial)
            }
        case .value(let value):
            fallback = value
            made.append(value)
            loses = true
            if places[value.canonical()] == nil {
                site.note(
                    Rule.downNotTotal, "otherwise makes \(value.text), and nothing says what the version before sees of it",
                    fix: "down: {\(value.word): …}",
                    repair: site.mark.repair(
                        .set(JSONValue.object([.init(name: value.word, value: source.sample)]).text), below: place + ["down"]
                    ))
            }
        }
        if loses {
            site.opClass.insert(.narrow)
            site.require(
                reason: because, "several values become one and nothing says why", fix: "add because: \"…\" to the table",
                at: place + ["because"])
        }
        for row in down {
            if let why = source.rejection(of: row.value) {
                site.note(
                    Rule.downNotTotal, "down gives \(row.value.text), which the version before refuses: \(why.reason)",
                    repair: site.mark.repair(.set(source.nearestValue(to: row.value.word).text), below: place + ["down", row.key]))
            }
        }
        var result = Shape(kind)
        if domain != nil || !isKeeping {
            var seen: Set<[UInt8]> = []
            let different = (made + back.map(\.new)).filter { seen.insert($0.canonical()).inserted }
            result.enumeration = different + (source.isNullable ? [.null] : [])
        }
        let codec = BoundTable(
            up: rows.map { BoundTable.Entry(old($0.key), $0.value) }, down: back.map { BoundTable.Entry($0.new, $0.old) },
            keeps: isKeeping, fallback: fallback.map { Array($0.text.utf8) })
        return CodecBinding(result: result, codec: codec, keepsBounds: true)
    }

    /// - Parameters:
    ///   - domain: the values that the source can have; nil if they are unknown.
    ///   - map: what the rows map, and what they map it to, in canonical form.
    ///   - others: the values in `domain` that the table does not contain.
    private func checkCoverage(
        of domain: [JSONValue]?, by map: (keys: [[UInt8]], values: [[UInt8]]), without others: [JSONValue]?, _ declared: Shape,
        _ site: inout BindingContext
    ) {
        var firsts: [[UInt8]: String] = [:]
        for (row, key) in zip(rows, map.keys) {
            guard let first = firsts[key] else {
                firsts[key] = row.key
                continue
            }
            site.note(
                Rule.idle, .warning,
                "the map has one value as \(quoted(first)) and as \(quoted(row.key)), of which the first counts",
                fix: "take \(row.key) out of the map", repair: [site.mark.repair(.remove, below: Self.mapPlace + [row.key])])
        }
        guard let domain, let others else {
            site.opClass.insert(.partial)
            if rows.isEmpty, case .refuse = otherwise {
                // A version that a store has registered keeps its ops.
                site.note(
                    Rule.idle, .warning, "the map is empty, so the table refuses every value",
                    fix: "map: {old: new}, or otherwise: keep")
            } else {
                site.note(
                    Rule.undecided, .note, "the source has no enum: whether the table has all of its values is known from the data alone")
            }
            return
        }
        if case .refuse = otherwise, !others.isEmpty {
            // The repair uses a value that no other row produces, so that the way down stays unambiguous.
            var free = declared
            let taken = Set(map.values)
            free.enumeration = declared.enumeration?.filter { !taken.contains($0.canonical()) }
            if free.enumeration == [] { free.enumeration = declared.enumeration }
            let repairs = others.map { other in
                site.mark.repair(.set(free.nearestValue(to: other.word).text), below: Self.mapPlace + [other.word])
            }
            site.note(
                Rule.upNotTotal, .error, "the table has nothing for \(others.map(\.text).joined(separator: ", "))",
                fix: "add \(others.map { "\($0.word): …" }.joined(separator: ", ")), or otherwise: keep", repair: repairs)
        }
        let known = Set(domain.map { $0.canonical() })
        for (row, key) in zip(rows, map.keys) where !known.contains(key) {
            site.note(
                Rule.idle, .warning, "the version before never has \(quoted(row.key))", fix: "take \(row.key) out of the map",
                repair: [site.mark.repair(.remove, below: Self.mapPlace + [row.key])])
        }
    }

    private static let mapPlace = ["*", "using", name, "map"]
}

/// Finds a value's row by linear search, since tables are short.
private struct BoundTable: BoundCodec {
    struct Entry: Sendable {
        let content: [UInt8]
        let isString: Bool
        let json: [UInt8]

        init(_ from: JSONValue, _ to: JSONValue) {
            if case .string(let text) = from {
                (content, isString) = (Array(text.utf8), true)
            } else {
                (content, isString) = (from.canonical(), false)
            }
            json = Array(to.text.utf8)
        }
    }

    let up, down: [Entry]
    /// Whether a value without a row is kept.
    let keeps: Bool
    /// The value above of a value without a row.
    let fallback: [UInt8]?

    func recode(_ content: RawSpan, _ kind: JSONKind, _ direction: Direction, into output: inout ByteBuffer) throws(CodecRefusal) -> Bool {
        let isUp = direction == .up
        if isUp ? find(content, kind, in: up, into: &output) : find(content, kind, in: down, into: &output) { return true }
        if isUp, let fallback {
            output.append(fallback)
            return true
        }
        return try isUp ? keep(content, kind, up, into: &output) : keep(content, kind, down, into: &output)
    }

    private func find(_ content: RawSpan, _ kind: JSONKind, in entries: [Entry], into output: inout ByteBuffer) -> Bool {
        if findSpelled(content, kind, in: entries, into: &output) { return true }
        guard kind == .number else { return false }
        let plain: [UInt8]
        do { plain = try Canonical.bytes(of: content) } catch { return false }
        return findSpelled(plain.lent, kind, in: entries, into: &output)
    }

    private func findSpelled(_ content: RawSpan, _ kind: JSONKind, in entries: [Entry], into output: inout ByteBuffer) -> Bool {
        for index in entries.indices where entries[index].isString == (kind == .string) {
            let entry = entries[index]
            guard entry.content.lent.equals(content) else { continue }
            output.append(entry.json)
            return true
        }
        return false
    }

    private func keep(_ content: RawSpan, _ kind: JSONKind, _ entries: [Entry], into output: inout ByteBuffer) throws(CodecRefusal) -> Bool
    {
        guard keeps else {
            let words = entries.map { String(utf8: $0.content.lent) ?? "" }.joined(separator: ", ")
            throw CodecRefusal(expected: "one of \(words)")
        }
        // Tables apply to scalars; other values occur only in data that was not validated against a shape.
        if kind == .object || kind == .array { throw CodecRefusal(expected: "a text, a number or a flag") }
        if kind == .string { appendQuoted(content, into: &output) } else { output.append(content) }
        return true
    }
}

extension JSONValue {
    /// The scalar in the form of a table key.
    var word: String {
        if case .string(let text) = self { text } else { text }
    }
}

extension Shape {
    /// The scalar of the given kind that a table key denotes.
    static func value(_ word: String, _ kind: Kind) -> JSONValue {
        guard kind != .string else { return .string(word) }
        do { return try JSONValue(parsing: Array(word.utf8).lent) } catch { return .string(word) }
    }
}
