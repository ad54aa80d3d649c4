internal import Bytes
internal import EventModel
package import JSONText

/// The origin of a value that a step, guard, key or fold reads. Each context accepts some of the cases.
package indirect enum Source: Hashable, Sendable {
    /// A member of the payload.
    case pointer(JSONPointer)
    /// A member of the current element of `each`; the empty pointer denotes the element itself.
    case item(JSONPointer)
    /// A member of the row, as it was before the event.
    case row(JSONPointer)
    case metadata(JSONPointer)
    case constant(JSONValue)
    case payload, stream, type, time, position
    /// The first ten or seven characters of a date or date-time, as written.
    case day(Source)
    case month(Source)
    case template(Template<Source>)

    /// Parses a text without braces: a pointer, or the name of what an event carries beside its payload.
    package init(_ text: String) throws(ExpressionError) {
        guard text.begins(with: "$") else {
            self = .pointer(try Self.pointer(text, in: text))
            return
        }
        let name = text.unicodeScalars.prefix { $0 != "/" }
        let rest = String(text.unicodeScalars.dropFirst(name.count))
        switch (String(name), rest.isEmpty) {
        case ("$payload", true): self = .payload
        case ("$stream", true): self = .stream
        case ("$type", true): self = .type
        case ("$time", true): self = .time
        case ("$position", true): self = .position
        case ("$item", _): self = .item(try Self.pointer(rest, in: text))
        case ("$metadata", false): self = .metadata(try Self.pointer(rest, in: text))
        default: throw ExpressionError("there is no source \(quoted(text))")
        }
    }

    private static func pointer(_ text: String, in whole: String) throws(ExpressionError) -> JSONPointer {
        do { return try JSONPointer(text) } catch { throw ExpressionError("\(whole) holds no pointer: \(error.reason)") }
    }

    /// This source and all sources nested in it.
    private var all: [Source] {
        switch self {
        case .day(let source), .month(let source): [self] + source.all
        case .template(let template): [self] + template.members.flatMap(\.all)
        default: [self]
        }
    }

    /// The members of the payload that the source reads.
    package var pointers: [JSONPointer] { all.compactMap { source in if case .pointer(let pointer) = source { pointer } else { nil } } }

    package var readsPayload: Bool { all.contains(.payload) }

    /// Whether the source can be read only inside `each`.
    package var readsItem: Bool { all.contains { source in if case .item = source { true } else { false } } }

    package var readsStream: Bool { all.contains(.stream) }
}

extension Source {
    /// Writes the JSON text of what an event carries beside its payload to `output`. Returns false if the event has no such value.
    func writeBeside(_ run: inout OpRun) -> Bool {
        run.output.removeAll()
        switch self {
        case .metadata(let pointer): return run.writeMetadata(pointer)
        case .time: run.time.appendQuoted(to: &run.output)
        case .stream:
            guard let stream = run.stream else { return false }
            appendQuoted(stream, into: &run.output)
        default: return false
        }
        return true
    }

    /// Reads a source as a projection file writes it: a text, or a map with one member.
    package init(_ node: FileNode, _ what: String) throws(FileProblem) {
        switch node.kind {
        case .string(let text): self = try Source(text: text, of: node, what)
        case .map(let members):
            guard members.count == 1, let member = members.first else {
                throw node.problem(
                    "\(what) must have exactly one member", fix: "write one of: {value: x}, {row: /p}, {day: /at}, {month: /at}")
            }
            switch member.name {
            case "value": self = .constant(member.value.constant)
            case "row": self = .row(try member.value.pointer("row"))
            case "day": self = .day(try Source(plain: member.value, "day"))
            case "month": self = .month(try Source(plain: member.value, "month"))
            default: throw member.unknown(in: what, known: ["value", "row", "day", "month"])
            }
        default:
            throw node.problem("\(what) must be a source, not \(node.words)", fix: "a constant is written {value: \(node.json.text)}")
        }
    }

    /// Reads a source that is written as a text and is not a template.
    package init(plain node: FileNode, _ what: String) throws(FileProblem) {
        let text = try node.text(what)
        guard !text.has("{") else { throw node.problem("\(what) can't be a template") }
        self = try Source(text: text, of: node, what)
    }

    package init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        if text.has("{") || text.has("}") {
            self = .template(try Template(text: text, of: node, what))
        } else if text.begins(with: "$") {
            do { self = try Source(text) } catch {
                throw node.problem(
                    error.reason,
                    fix: "the sources are a pointer, $stream, $type, $time, $position, $payload, $metadata/x, $item and $item/x")
            }
        } else {
            self = .pointer(try JSONPointer(text: text, of: node, what))
        }
    }

    fileprivate init(inBraces text: String) throws(ExpressionError) {
        guard !text.has("{") else { throw ExpressionError("{\(text)} has a brace within braces") }
        try self.init(text)
    }
}

extension Template where Member == Source {
    package init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        do throws(ExpressionError) {
            try self.init(text, member: Source.init(inBraces:))
            if literals.contains(where: { $0.has("}") }) { throw ExpressionError("there is a } without a { before it") }
        } catch { throw node.problem("\(what) is not a template, \(quoted(text)): \(error.reason)", fix: error.fix) }
    }
}

extension JSONPointer {
    package init(text: String, of node: FileNode, _ what: String) throws(FileProblem) {
        do { try self.init(text) } catch {
            throw node.problem(
                "\(what) must be a pointer or another source, not \(quoted(text)): \(error.reason)",
                fix: text.begins(with: "/") ? "~ is written ~0 and / within a name ~1" : "a member is /\(text), a constant {value: \(text)}"
            )
        }
    }
}

/// A text composed of literals and members in braces, such as `pkg-{/name}:{/architecture}`. The context determines what the braces
/// contain: pointers in `compute` and stream names, sources in projections, captures in stream patterns.
package struct Template<Member: Hashable & Sendable>: Hashable, Sendable {
    package enum Part: Hashable, Sendable {
        case literal(String)
        case member(Member)
    }

    package let parts: [Part]

    package init(parts: [Part]) { self.parts = parts }

    /// Splits a text at its braces. A `}` without a preceding `{` remains part of its literal.
    init(_ text: String, member: (String) throws(ExpressionError) -> Member) throws(ExpressionError) {
        var (parts, rest) = ([Part](), text[...])
        while let open = rest.utf8.firstIndex(of: UInt8(ascii: "{")) {
            if open > rest.startIndex { parts.append(.literal(String(rest[..<open]))) }
            guard let close = rest.utf8[open...].firstIndex(of: UInt8(ascii: "}")) else {
                throw ExpressionError("there is a { without a } after it")
            }
            parts.append(.member(try member(String(rest[rest.utf8.index(after: open) ..< close]))))
            rest = rest[rest.utf8.index(after: close)...]
        }
        if !rest.isEmpty { parts.append(.literal(String(rest))) }
        self.parts = parts
    }

    var literals: [String] { parts.compactMap { part in if case .literal(let text) = part { text } else { nil } } }

    package var members: [Member] { parts.compactMap { part in if case .member(let member) = part { member } else { nil } } }

    package func mapMembers(_ change: (Member) -> Member) -> Template {
        Template(parts: parts.map { part in if case .member(let member) = part { .member(change(member)) } else { part } })
    }
}

extension Template: CustomStringConvertible where Member: CustomStringConvertible {
    /// The template as a file writes it.
    package var description: String {
        parts.map { part in
            switch part {
            case .literal(let text): text
            case .member(let member): "{\(member)}"
            }
        }.joined()
    }
}

// A sign of syntax and a combining mark behind it form one `Character`, which is not that sign.
extension StringProtocol {
    /// Whether the text contains a sign, whatever stands behind it.
    package func has(_ sign: Unicode.Scalar) -> Bool { unicodeScalars.contains(sign) }

    package func begins(with sign: Unicode.Scalar) -> Bool { unicodeScalars.first == sign }
}

/// Why a text is not a valid expression, as a clause, and what to write instead.
package struct ExpressionError: Error, Hashable, Sendable, CustomStringConvertible {
    package let reason: String
    package let fix: String?

    package init(_ reason: String, fix: String? = nil) { (self.reason, self.fix) = (reason, fix) }

    package var description: String { reason }
}

extension JSONPointer {
    init(inBraces text: String) throws(ExpressionError) {
        guard text.begins(with: "/") else { throw ExpressionError("{\(text)} holds no pointer", fix: "write {/\(text)}") }
        do { try self.init(text) } catch { throw ExpressionError("{\(text)} holds no pointer: \(error.reason)") }
    }
}
