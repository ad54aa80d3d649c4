internal import Bytes
internal import EventModel
package import JSONText

/// Where a step, a guard, a key or a fold takes a value from. Each context takes some of them.
package indirect enum Source: Hashable, Sendable {
    /// In the payload.
    case pointer(JSONPointer)
    /// In the element that `each` is at; the element itself for the empty pointer.
    case item(JSONPointer)
    /// In the row, as it was before the event.
    case row(JSONPointer)
    case metadata(JSONPointer)
    case constant(JSONValue)
    case payload, stream, type, time, position
    /// The first ten or seven characters of a date or date-time, as written.
    case day(Source)
    case month(Source)
    case template(Template<Source>)

    /// What a text without braces names: a pointer, or what an event carries beside its payload.
    package init(_ text: String) throws(ExpressionError) {
        guard text.hasPrefix("$") else {
            self = .pointer(try Self.pointer(text, in: text))
            return
        }
        let name = text.prefix { $0 != "/" }
        let rest = String(text.dropFirst(name.count))
        switch (name, rest.isEmpty) {
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

    /// Itself and those that it is made of.
    private var all: [Source] {
        switch self {
        case .day(let source), .month(let source): [self] + source.all
        case .template(let template): [self] + template.members.flatMap(\.all)
        default: [self]
        }
    }

    /// The members of the payload that it is made of.
    package var pointers: [JSONPointer] { all.compactMap { source in if case .pointer(let pointer) = source { pointer } else { nil } } }

    /// Whether all of the payload is needed to read it.
    package var readsPayload: Bool { all.contains(.payload) }

    /// Whether `each` is needed to read it.
    package var readsItem: Bool { all.contains { source in if case .item = source { true } else { false } } }

    /// Whether the name of the event's stream is needed to read it.
    package var readsStream: Bool { all.contains(.stream) }
}

extension Source {
    /// Puts the JSON text of what an event carries beside its payload into `output`; false where it has none.
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
}
