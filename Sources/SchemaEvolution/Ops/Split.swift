internal import Bytes
internal import EventModel
internal import JSONText

/// `split {path, into, separator, at, missing}`: splits one text into several.
struct Split: Op {
    static let name = "split"

    let path: JSONPointer
    let rule: SeparatorRule

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("split", allowing: ["path", "into", "separator", "at", "missing", "because"])
        path = try arguments.required("path", of: "split").pointer("path")
        rule = try SeparatorRule(arguments, parts: "into", of: "split")
    }

    var origin: JSONPointer? { path }

    /// A pointer to the whole becomes a pointer to its first part.
    func destination(of pointer: JSONPointer) -> JSONPointer { pointer == path ? rule.parts[0] : pointer }

    var writes: [JSONPointer] { [path] + rule.parts }

    var loss: String? { rule.because }

    var summary: OpSummary { OpSummary(verb: "split", object: path.description) }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        rule.effects(whole: path, splits: direction == .up, in: holder)
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        let before = site.shape
        guard let old = site.require(path), rule.checkText(old, path, &site) else { return nil }
        let common = rule.parts.map { path.commonParents(with: $0) }.min() ?? 0
        guard let (_, always) = site.take(path, common: common, makingRoomFor: path) else { return nil }
        var needed: [JSONPointer] = []
        for (index, part) in rule.parts.enumerated() {
            var text = Shape(.string)
            text.isNullable = index == 0 && old.isNullable
            // Null goes into the first part, and then the later ones are absent: version n may allow that.
            let isMade = index == 0 || rule.refusesMissing && !(old.isNullable && site.declaresOptional(part))
            if index > 0, old.isNullable, site.declaredRequires(part) == true { needed.append(part) }
            guard site.put(text, at: part, .moved(always: always && isMade), common: common) else { return nil }
        }
        if rule.refusesMissing, !needed.isEmpty {
            let all = needed.map(\.description).joined(separator: ", ")
            site.note(
                Rule.upNotTotal, .warning,
                "\(path) may be null, which has no image: null goes into \(rule.parts[0]), and the version requires \(all)",
                fix: "take \(all) out of required")
        }
        site.opClass.insert(.partial)
        if old.hasBounds || old.format != nil || rule.refusesMissing { site.isUnproved = true }
        site.stream = site.stream.map { rule.split($0, path) }
        guard let whole = MemberLocation(path, here: before, there: site.shape) else { return nil }
        let parts = rule.parts.compactMap { MemberLocation($0, here: site.shape, there: before) }
        return SeparatedText(whole: whole, parts: parts, rule: rule, splits: .up)
    }
}

/// `join {paths, path, separator, at, missing}`: joins several texts to one.
struct Join: Op {
    static let name = "join"

    let path: JSONPointer
    let rule: SeparatorRule

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("join", allowing: ["paths", "path", "separator", "at", "missing", "because"])
        path = try arguments.required("path", of: "join").pointer("path")
        rule = try SeparatorRule(arguments, parts: "paths", of: "join")
    }

    var origin: JSONPointer? { rule.parts[0] }

    func destination(of pointer: JSONPointer) -> JSONPointer { pointer == rule.parts[0] ? path : pointer }

    var writes: [JSONPointer] { [path] + rule.parts }

    var loss: String? { rule.because }

    var summary: OpSummary { OpSummary(verb: "join", object: rule.parts.map(\.description).joined(separator: " ")) }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        rule.effects(whole: path, splits: direction == .down, in: holder)
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        let before = site.shape
        let common = rule.parts.map { path.commonParents(with: $0) }.min() ?? 0
        var isAlways = true
        var isNullable = false
        for (index, part) in rule.parts.enumerated() {
            guard let old = site.require(part), rule.checkText(old, part, &site) else { return nil }
            if old.isNullable, index > 0 {
                return site.refuse(
                    Rule.wrongKind, "\(part) may be null, and only the first part may", fix: "unset: {path: \(part), equals: null}")
            }
            if old.hasBounds || old.format != nil { site.isUnproved = true }
            guard let (_, always) = site.take(part, common: common, makingRoomFor: path, restoring: rule.parts) else { return nil }
            if index == 0 { (isAlways, isNullable) = (always, old.isNullable) }
            if index > 0, always { site.isUnproved = true }
        }
        var text = Shape(.string)
        text.isNullable = isNullable
        guard site.put(text, at: path, .moved(always: isAlways), common: common) else { return nil }
        site.opClass.insert(.partial)
        if let stream = site.stream {
            if let joined = rule.join(stream, path) {
                site.stream = joined
            } else {
                site.note(
                    Rule.wrongKind,
                    "the stream template \(quoted(stream.description)) holds some of the parts, and not all with \(quoted(rule.separator)) between",
                    fix: "join with the template's own separator")
            }
        }
        guard let whole = MemberLocation(path, here: site.shape, there: before) else { return nil }
        let parts = rule.parts.compactMap { MemberLocation($0, here: before, there: site.shape) }
        return SeparatedText(whole: whole, parts: parts, rule: rule, splits: .down)
    }
}

/// Splits the text of one member into several members in one direction, and joins them in the other.
final class SeparatedText: StagedOp {
    let whole: MemberLocation
    let parts: [MemberLocation]
    let splitter: TextSplitter
    /// The direction in which the op splits.
    private let splits: Direction

    init(whole: MemberLocation, parts: [MemberLocation], rule: SeparatorRule, splits: Direction) {
        (self.whole, self.parts, self.splits) = (whole, parts, splits)
        splitter = TextSplitter(rule)
    }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        if direction == splits { try split(&doc, at: object) } else { try join(&doc, at: object) }
    }

    private func split<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) throws(OpStop) {
        guard let node = whole.find(in: &doc, at: object) else {
            whole.prune(in: &doc, at: object, taken: false)
            for part in parts { _ = part.holder(in: &doc, at: object, forValue: false) }
            return
        }
        switch doc.kind(node) {
        case .null:
            let null = whole.take(from: &doc, at: object)
            parts[0].put(null, into: &doc, at: object)
        case .string:
            let made = try doc.split(node, self)
            doc.detach(node)
            whole.prune(in: &doc, at: object, taken: true)
            for (index, part) in parts.enumerated() {
                let holder = part.holder(in: &doc, at: object, forValue: index < made.count)
                if index < made.count, let holder { doc.set(part.name, of: holder, toValueOf: made[index]) }
            }
        case .object, .array, .number, .true, .false:
            throw doc.refusal(at: whole.pointer, expected: "a string", found: .node(node))
        }
    }

    private func join<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) throws(OpStop) {
        var texts: [TextPiece<D.Node>] = []
        for (index, part) in parts.enumerated() {
            guard let node = part.find(in: &doc, at: object) else {
                guard index == 0 else { continue }
                for other in parts.dropFirst() {
                    guard let node = other.find(in: &doc, at: object) else { continue }
                    throw doc.refusal(at: part.pointer, expected: "there beside \(other.pointer)", found: .node(node))
                }
                break
            }
            let kind = doc.kind(node)
            if index == 0, kind == .null {
                let null = part.take(from: &doc, at: object)
                // The joined member is null and can't hold the other parts.
                for other in parts.dropFirst() where other.take(from: &doc, at: object) != nil { doc.lose(1) }
                whole.put(null, into: &doc, at: object)
                return
            }
            guard kind == .string else { throw doc.refusal(at: part.pointer, expected: "a string", found: .node(node)) }
            if !texts.isEmpty { texts.append(.literal(splitter.separator)) }
            texts.append(.text(node))
        }
        let made = texts.isEmpty ? nil : doc.concatenate(texts)
        for part in parts { _ = part.take(from: &doc, at: object) }
        guard let holder = whole.holder(in: &doc, at: object, forValue: made != nil), let made else { return }
        doc.set(whole.name, of: holder, toValueOf: made)
    }
}

/// The arguments that `split` and `join` share: how a text is split into parts and joined from them.
struct SeparatorRule: Sendable {
    /// The members that hold the parts, in order; the first is always present.
    let parts: [JSONPointer]
    let separator: String
    /// Whether a text with too many separators is split at the last ones.
    let isAtLast: Bool
    /// Whether a text with too few separators is refused.
    let refusesMissing: Bool
    /// The reason for losing texts that change in a round trip.
    let because: String?

    private static let partsMax = 63

    init(_ arguments: FileNode, parts name: String, of op: String) throws(FileProblem) {
        let list = try arguments.required(name, of: op)
        parts = try list.pointers(name)
        guard parts.count >= 2, Set(parts).count == parts.count else {
            throw list.problem("\(name) must be at least two members, each once", rule: Rule.opArgument)
        }
        guard parts.count <= Self.partsMax else {
            throw list.problem(
                "\(name) has \(parts.count) members, and at most \(Self.partsMax) are parts of one text", rule: Rule.opArgument)
        }
        separator = try arguments.required("separator", of: op, choices: "the text between two parts", guess: .string(" "))
            .text("separator")
        guard !separator.isEmpty else { throw arguments.problem("the separator is empty", rule: Rule.opArgument) }
        let end = try arguments.required("at", of: op, choices: "first or last", guess: .string("first"))
        isAtLast = try end.word("at", of: ["first", "last"], why: "at says which separator counts where the text has several") == "last"
        because = try arguments.member("because")?.text("because")
        let answers = ["absent", "error"]
        let missing = try arguments.required("missing", of: op, choices: "absent or error", guess: .string("absent"))
        refusesMissing = try missing.word("missing", of: answers, why: "missing says what a text without separator is") == "error"
    }

    /// Whether a member is a string; adds a finding if it is not.
    func checkText(_ shape: Shape, _ pointer: JSONPointer, _ site: inout BindingContext) -> Bool {
        if shape.kind == .string { return true }
        site.note(Rule.wrongKind, "\(pointer) is \(shape.noun), not a string", fix: "convert it to a string before")
        return false
    }

    /// The template with the parts in place of the whole.
    func split(_ template: StreamTemplate, _ whole: JSONPointer) -> StreamTemplate {
        StreamTemplate(
            parts: template.parts.flatMap { part in
                guard case .member(whole) = part else { return [part] }
                return Array(parts.map { [StreamTemplate.Part.member($0)] }.joined(separator: [.literal(separator)]))
            }
        ).merged
    }

    /// The template with the whole in place of the parts; nil if it contains only some parts or joins them by another separator.
    func join(_ template: StreamTemplate, _ whole: JSONPointer) -> StreamTemplate? {
        guard template.members.contains(where: parts.contains) else { return template }
        let run = split(StreamTemplate(parts: [.member(whole)]), whole).parts
        var (result, rest) = ([StreamTemplate.Part](), template.parts[...])
        while let first = rest.first {
            if rest.starts(with: run) {
                result.append(.member(whole))
                rest = rest.dropFirst(run.count)
            } else {
                if case .member(let pointer) = first, parts.contains(pointer) { return nil }
                result.append(first)
                rest = rest.dropFirst()
            }
        }
        return StreamTemplate(parts: result)
    }
}

extension StreamTemplate {
    /// The template with adjacent literals merged.
    var merged: StreamTemplate {
        var result: [Part] = []
        for part in parts {
            if case .literal(let more) = part, case .literal(let text)? = result.last {
                result[result.count - 1] = .literal(text + more)
            } else {
                result.append(part)
            }
        }
        return StreamTemplate(parts: result)
    }
}

extension SeparatorRule {
    func effects(whole: JSONPointer, splits: Bool, in holder: JSONPointer) -> [OpEffect] {
        let (whole, parts) = (whole.below(holder), parts.map { $0.below(holder) })
        let all = parts.map(\.description).joined(separator: ", ")
        let missing = refusesMissing ? "the event is refused" : "absent"
        if splits {
            let place = "at the \(isAtLast ? "last" : "first") \(quoted(separator))"
            let rest = parts.dropFirst().map { OpEffect(.appears($0), "is split off \(whole) \(place); without one, \(missing)") }
            let first = OpEffect(.changes(whole), "is split \(place) into \(all); null stays null")
            return [first, OpEffect(.moves(from: whole, to: parts[0]), "")] + rest
        }
        let rest = parts.dropFirst().map { OpEffect(.goes($0), "goes into \(whole)") }
        let first = OpEffect(
            .changes(parts[0]),
            "is joined of those of \(all) that are there, with \(quoted(separator)) between; "
                + "where it is null, the others are lost; where it is absent and another is there, the event is refused")
        return [first, OpEffect(.moves(from: parts[0], to: whole), "")] + rest
    }
}

struct TextPart: BitwiseCopyable {
    let start, count: Int32
}

struct TextSplitter: ~Copyable, Sendable {
    let separator: [UInt8]
    private let first: UInt8
    private let width: Int
    /// The number of separators at which a text is split.
    private let wanted: Int
    private let isAtLast: Bool
    /// Whether a text with too few separators is refused.
    private let refusesMissing: Bool

    init(_ rule: SeparatorRule) {
        separator = Array(rule.separator.utf8)
        (first, width, wanted) = (separator[0], separator.count, rule.parts.count - 1)
        (isAtLast, refusesMissing) = (rule.isAtLast, rule.refusesMissing)
    }

    init(copying other: borrowing TextSplitter) {
        (separator, first, width, wanted) = (other.separator, other.first, other.width, other.wanted)
        (isAtLast, refusesMissing) = (other.isAtLast, other.refusesMissing)
    }

    /// Finds the parts of a text. Returns false if it has too few separators and the rule refuses that.
    func split(_ text: RawSpan, into slices: inout UniqueArray<TextPart>) -> Bool {
        slices.removeAll()
        let found = refusesMissing || isAtLast ? count(in: text) : wanted
        if refusesMissing, found < wanted { return false }
        // If there are too many separators, the text is split at the first or last ones; the others remain in the part at the opposite end.
        var skipped = isAtLast ? max(found - wanted, 0) : 0
        var start = 0
        while true {
            var end = slices.count < wanted ? next(in: text, from: start) : nil
            while skipped > 0, let passed = end {
                end = next(in: text, from: passed + width)
                skipped -= 1
            }
            slices.append(
                TextPart(start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: (end ?? text.byteCount) - start)))
            guard let end else { return true }
            start = end + width
        }
    }

    /// The number of separators in a text; stops at `wanted` if more make no difference.
    private func count(in text: RawSpan) -> Int {
        var count = 0
        var offset = 0
        while isAtLast || count < wanted, let found = next(in: text, from: offset) {
            count += 1
            offset = found + width
        }
        return count
    }

    private func next(in text: RawSpan, from start: Int) -> Int? {
        var offset = start
        while offset &+ width <= text.byteCount {
            if text.byte(at: offset) == first, width == 1 || text.slice(offset, width).equals(separator.lent) { return offset }
            offset &+= 1
        }
        return nil
    }
}
