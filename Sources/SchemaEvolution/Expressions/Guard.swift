internal import Bytes
package import EventModel
package import JSONText

/// `{path, equals / in / exists / below}`: a condition on a value. An absent value fails every test except `exists: false`.
package struct Guard: Sendable {
    /// The context of a guard, which determines the sources it may read.
    package enum Context {
        /// In a step: the payload, the metadata or the time.
        case step
        /// In a projection: every source, including the row.
        case fold
    }

    package enum Test: Equatable, Sendable {
        case oneOf([Constant])
        case exists(Bool)
        case below(Bound)
    }

    package struct Constant: Equatable, Sendable {
        package let value: JSONValue
        package let canonical: [UInt8]

        init(_ value: JSONValue) { (self.value, canonical) = (value, value.canonical()) }
    }

    /// The bound of `below`, which only values of the same kind can be below.
    package enum Bound: Equatable, Sendable {
        case number(DecimalNumber)
        case dotted(DottedNumber)
        case moment(Timestamp)
        /// Neither a number nor a dotted number nor a time. No value is below it, and `check` reports it.
        case unordered(String)
    }

    package static let members = ["path", "equals", "in", "exists", "below"]

    package let source: Source
    package let test: Test

    package init(_ node: FileNode, in place: Context = .step) throws(FileProblem) {
        switch place {
        case .step: source = try Self.step(try node.required("path", of: "the guard"))
        case .fold:
            try node.map("when", allowing: Self.members + ["row"])
            switch (node.member("path"), node.member("row")) {
            case (let path?, nil): source = try Source(plain: path, "path")
            case (nil, let row?): source = .row(try row.pointer("row"))
            default: throw node.problem("when needs path or row, and not both")
            }
        }
        let rule = place == .step ? Rule.opArgument : FileRule.value
        let tests = try node.map("the guard").filter { Self.members.dropFirst().contains($0.name) }
        guard tests.count == 1, let member = tests.first else {
            throw node.problem("a guard has one of equals, in, exists and below, not \(tests.count)", rule: rule)
        }
        test = try Self.test(member, of: source, place)
    }

    init(exists pointer: JSONPointer) { (source, test) = (.pointer(pointer), .exists(true)) }

    private static func step(_ path: FileNode) throws(FileProblem) -> Source {
        let text = try path.text("path")
        do throws(ExpressionError) {
            let source = try Source(text)
            switch source {
            case .pointer, .metadata, .time: return source
            default: throw ExpressionError("a step has no \(text)")
            }
        } catch {
            guard text.begins(with: "$") else { return .pointer(try path.pointer("path")) }
            if text.hasPrefix("$metadata/") { throw path.problem(error.reason, rule: Rule.opArgument, fix: error.fix) }
            let rest = text.firstIndex(of: "/").map { text[$0...] }
            throw path.problem(
                "path must be a pointer, $time or $metadata/x, not \(quoted(text))", rule: Rule.opArgument,
                fix: "what an event carries beside its payload is $time and $metadata"
            ).withRepairs(path.becomes(.string(rest.map { "$metadata\($0)" } ?? "$time")))
        }
    }

    private static func test(_ member: FileNode.Member, of source: Source, _ place: Context) throws(FileProblem) -> Test {
        switch member.name {
        case "equals": .oneOf([Constant(member.value.json)])
        case "in": .oneOf(try member.value.list("in").map { Constant($0.json) })
        case "exists": .exists(try member.value.flag("exists"))
        default: .below(try bound(member.value, of: source, place))
        }
    }

    private static func bound(_ node: FileNode, of source: Source, _ place: Context) throws(FileProblem) -> Bound {
        if case .number = node.kind {
            if let number = DecimalNumber(json: Array(node.json.text.utf8).lent) { return .number(number) }
            // Order: this comes before the error, since a registered projection may contain such a bound.
            if place == .fold { return .unordered(node.json.text) }
            throw node.problem("below must be a number with \(DecimalNumber.exponents), not \(node.json.text)", rule: Rule.opArgument)
        }
        guard case .string(let text) = node.kind else {
            throw node.problem("below must be a number or a text", rule: place == .step ? Rule.opArgument : FileRule.value)
        }
        if source != .time, let number = DottedNumber(text) { return .dotted(number) }
        if let time = instant(of: Array(text.utf8).lent) { return .moment(Timestamp(microseconds: time)) }
        if place == .fold { return .unordered(text) }
        throw node.problem(Bound.unordered(text).problem(of: source) ?? "", rule: Rule.opArgument)
    }
}

/// Microseconds since 1970 of a date-time, or of the start of a date in UTC; nil for other texts.
private func instant(of text: RawSpan) -> Int64? {
    guard text.byteCount == 10 else { return DateTime(text)?.microseconds }
    var midnight = ByteBuffer(capacity: 20)
    midnight.append(text)
    midnight.append("T00:00:00Z")
    return DateTime(midnight.bytes)?.microseconds
}

extension Guard.Bound {
    /// The error for an invalid bound; nil if the bound is valid.
    package func problem(of source: Source) -> String? {
        guard case .unordered(let text) = self else { return nil }
        let wanted = source == .time ? "a date or a date-time for $time" : "a number, a dotted number such as 1.10.2, a date or a date-time"
        return "below must be \(wanted), not \(quoted(text))"
    }

    /// Whether a value is below the bound. `content` is a string's decoded text, or the JSON text of other values.
    func isAbove(_ content: RawSpan, _ kind: JSONKind) -> Bool {
        switch self {
        case .number(let limit): kind == .number && DecimalNumber(json: content).map { $0 < limit } ?? false
        case .dotted(let limit): (kind == .string || kind == .number) && DottedNumber(content).map { $0 < limit } ?? false
        case .moment(let limit): kind == .string && instant(of: content).map { $0 < limit.microseconds } ?? false
        case .unordered: false
        }
    }
}

extension Guard.Test {
    package var holdsWhereAbsent: Bool { if case .exists(false) = self { true } else { false } }

    /// Whether the test holds for a present value, given as JSON text.
    package func holds(_ json: RawSpan) -> Bool {
        switch self {
        case .exists(let wanted): return wanted
        case .oneOf(let constants): return constants.contains { Self.same(json, $0.canonical.lent) }
        case .below(let bound):
            guard let kind = JSONKind(firstByte: json.peek(at: 0)) else { return false }
            guard kind == .string else { return bound.isAbove(json, kind) }
            if isPlainString(json) { return bound.isAbove(json.slice(1, json.byteCount - 2), kind) }
            return decodedString(json).map { bound.isAbove(Array($0.utf8).lent, kind) } ?? false
        }
    }

    /// Whether two JSON texts mean the same value; the second one is canonical.
    private static func same(_ value: RawSpan, _ canonical: RawSpan) -> Bool {
        if value.equals(canonical) { return true }
        guard value.byteCount > 0, canonical.byteCount > 0 else { return false }
        // Two different texts without escapes are different strings.
        if isPlainString(value) { return false }
        do { return try JSONEquality.same(value, canonical) } catch { return false }
    }
}

extension Guard {
    /// The constants that no value of a shape equals, each with the reason.
    package func misfits(_ shape: Shape) -> [(constant: JSONValue, reason: String)] {
        guard case .oneOf(let constants) = test else { return [] }
        return constants.compactMap { constant in
            shape.rejection(of: constant.value).map { (constant: constant.value, reason: $0.reason) }
        }
    }

    func holds<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) -> Bool {
        guard case .pointer(let pointer) = source else { return doc.holdsBeside(self) }
        guard let node = doc.value(at: pointer, from: object) else { return test.holdsWhereAbsent }
        switch test {
        case .exists(let wanted): return wanted
        case .oneOf(let constants): return doc.equals(node, anyOf: constants.map(\.canonical))
        case .below: return doc.isBelow(node, self)
        }
    }

    /// Whether the value with this content is below the guard's bound.
    func holds(onContent content: RawSpan, _ kind: JSONKind) -> Bool {
        if case .below(let bound) = test { bound.isAbove(content, kind) } else { false }
    }

    /// Whether the guard holds for the event's metadata or time.
    func holdsBeside(_ run: inout OpRun) -> Bool {
        if source == .time, case .below(.moment(let limit)) = test { return run.time < limit }
        return source.writeBeside(&run) ? test.holds(run.output.bytes) : test.holdsWhereAbsent
    }
}

/// Numbers separated by dots, such as `1.10.2`, compared number by number. Missing trailing numbers count as 0, so 1.2 equals 1.2.0.
///
/// The labels of application releases are dotted numbers, and `below` can compare texts as dotted numbers.
package struct DottedNumber: Comparable, Sendable, CustomStringConvertible {
    private let numbers: [UInt64]

    private static let digitsMax = 19

    /// Nil unless the text consists of numbers of at most 19 digits, separated by dots.
    package init?(_ text: RawSpan) {
        var numbers: [UInt64] = []
        var (number, digits): (UInt64, Int) = (0, 0)
        for offset in 0 ... text.byteCount {
            if offset < text.byteCount, isDigit(text.byte(at: offset)) {
                if digits == Self.digitsMax { return nil }
                (number, digits) = (number * 10 + UInt64(text.byte(at: offset) - UInt8(ascii: "0")), digits + 1)
            } else {
                guard digits > 0, offset == text.byteCount || text.byte(at: offset) == UInt8(ascii: ".") else { return nil }
                numbers.append(number)
                (number, digits) = (0, 0)
            }
        }
        self.numbers = numbers
    }

    package init?(_ text: String) { self.init(Array(text.utf8).lent) }

    private func number(_ index: Int) -> UInt64 { index < numbers.count ? numbers[index] : 0 }

    package var description: String { numbers.map(String.init).joined(separator: ".") }

    package static func == (a: DottedNumber, b: DottedNumber) -> Bool { !(a < b) && !(b < a) }

    package static func < (a: DottedNumber, b: DottedNumber) -> Bool {
        for index in 0 ..< max(a.numbers.count, b.numbers.count) where a.number(index) != b.number(index) {
            return a.number(index) < b.number(index)
        }
        return false
    }
}
