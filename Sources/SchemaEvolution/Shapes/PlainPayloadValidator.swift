package import Bytes
internal import EventModel
package import JSONText

/// Validates a payload in one pass over its bytes. It accepts valid payloads that are plain, as nearly all are. A rejected payload may
/// still be valid: `JSONScanner` and `ShapeProgram` decide, and report why a payload is invalid.
package final class PlainPayloadValidator: Sendable {
    private let members: KnownMembers
    /// The members whose shapes require more than a kind, with their nodes in the program.
    private let checked: [Checked]
    private let program: ShapeProgram
    /// Nil if the type has no stream template, or one that uses nested members.
    private let name: PlainStreamTemplate?

    private struct Checked {
        let member: Int
        let node: Int
    }

    /// Nil unless the shape is an object with declared members.
    init?(_ program: ShapeProgram, _ stream: StreamTemplate?) {
        let root = program.nodes[0]
        guard root.kind == .object, root.inner < 0, root.choices == nil else { return nil }
        var known: [KnownMember] = []
        var checked: [Checked] = []
        for member in program.members[root.members] {
            let node = program.nodes[member.node]
            let name = String(decoding: program.names[member.name], as: UTF8.self)
            if !node.isDecidedByKind { checked.append(Checked(member: known.count, node: member.node)) }
            known.append(KnownMember(MemberName(name), kinds: node.kind.bits(orNull: node.isNullable), isRequired: member.isRequired))
        }
        guard let members = KnownMembers(known) else { return nil }
        (self.members, self.checked, self.program) = (members, checked, program)
        name = stream.flatMap { PlainStreamTemplate($0, among: known.map(\.name)) }
    }

    /// True if the payload is valid JSON within the limits and fits the shape. False if it does not, or if only `JSONScanner.validate` and
    /// `EventShape.validate` can tell.
    package func accepts(_ payload: RawSpan, _ limits: JSONLimits, _ scratch: inout PlainPayloadScratch) -> Bool {
        guard takeText(payload, into: &scratch.arena) != nil else { return false }
        scratch.slots.fill(0 ..< members.count, with: ValueSlot(kind: .null))
        return members.scanStrictly(scratch.arena, limits: limits, into: &scratch.slots) && fits(payload, scratch.slots)
    }

    /// Checks a payload within a text that is known to be valid JSON. Returns false if fewer than `textEndBytes` bytes follow the payload.
    package func accepts(validIn text: borrowing ByteBuffer, _ payload: Range<Int>, _ scratch: inout PlainPayloadScratch) -> Bool {
        guard text.count - payload.upperBound >= textEndBytes, text.byte(at: payload.lowerBound) == UInt8(ascii: "{") else { return false }
        scratch.slots.fill(0 ..< members.count, with: ValueSlot(kind: .null))
        scratch.order.begin()
        let end = members.scan(text, at: payload.lowerBound, base: 0, into: &scratch.slots, order: &scratch.order)
        return end == payload.upperBound && fits(text.bytes, scratch.slots)
    }

    private func fits(_ text: RawSpan, _ slots: borrowing UniqueArray<ValueSlot>) -> Bool {
        for index in checked.indices {
            let start = slots[checked[index].member].start
            if start >= 0, !program.accepts(text, at: Int(start), checked[index].node) { return false }
        }
        return true
    }

    /// Whether a valid stream name matches the payload that was accepted last. Also false if a comparison of bytes can't tell.
    package func isNamed(_ stream: RawSpan, _ payload: RawSpan, _ scratch: borrowing PlainPayloadScratch) -> Bool {
        name?.matches(stream, payload, scratch.slots) ?? false
    }
}

extension ShapeProgram.Node {
    /// Whether every value of these kinds fits.
    fileprivate var isDecidedByKind: Bool {
        switch kind {
        case .object, .array, .integer: false
        case .any, .null, .boolean: choices == nil
        case .number: choices == nil && minimum < 0 && maximum < 0
        case .string: choices == nil && format == nil && least == 0 && most == .max
        }
    }
}

/// The buffers of a `PlainPayloadValidator`, which each thread reuses for every payload.
package struct PlainPayloadScratch: ~Copyable {
    fileprivate var arena = ByteBuffer(capacity: 1_024)
    /// The locations of the members of the last payload.
    fileprivate var slots = UniqueArray<ValueSlot>(capacity: 64)
    fileprivate var order = MemberOrder()

    package init() {}
}

/// A stream template over top-level members, matched by comparing bytes.
struct PlainStreamTemplate: Sendable {
    private struct Part {
        let literal: [UInt8]
        /// The index of the member that follows the literal; nil at the end.
        let member: Int?
    }

    private let parts: [Part]

    /// Nil if the template uses nested members.
    init?(_ template: StreamTemplate, among members: [MemberName]) {
        var parts: [Part] = []
        var literal: [UInt8] = []
        for part in template.parts {
            switch part {
            case .literal(let text): literal += Array(text.utf8)
            case .member(let pointer):
                guard pointer.tokens.count == 1, let member = members.firstIndex(of: pointer.tokens[0]) else { return nil }
                parts.append(Part(literal: literal, member: member))
                literal = []
            }
        }
        self.parts = parts + [Part(literal: literal, member: nil)]
    }

    /// Whether a valid stream name matches the payload. Also false if a comparison of bytes can't tell: if a member is a string with
    /// escapes or percent signs, or an integer that is long or not canonical.
    func matches(_ stream: RawSpan, _ payload: RawSpan, _ slots: borrowing UniqueArray<ValueSlot>) -> Bool {
        var offset = 0
        for index in parts.indices {
            let literal = parts[index].literal
            guard literal.count <= stream.byteCount - offset, stream.slice(offset, literal.count).equals(literal.lent) else {
                return false
            }
            offset += literal.count
            guard let member = parts[index].member else { break }
            guard let text = Self.text(of: slots[member], payload), text.count <= stream.byteCount - offset,
                stream.slice(offset, text.count).equals(payload.slice(text.lowerBound, text.count))
            else { return false }
            offset += text.count
        }
        return offset == stream.byteCount
    }

    private static func text(of slot: ValueSlot, _ payload: RawSpan) -> Range<Int>? {
        guard slot.start >= 0 else { return nil }
        let (start, end) = (Int(slot.start), Int(slot.end))
        if slot.kind == .string, !slot.hasEscapes {
            for place in start + 1 ..< end - 1 where payload.byte(at: place) == UInt8(ascii: "%") { return nil }
            return start + 1 ..< end - 1
        }
        guard slot.kind == .number, end - start <= 15, (49 ... 57).contains(payload.byte(at: start)) else { return nil }
        for place in start ..< end where payload.byte(at: place) &- UInt8(ascii: "0") > 9 { return nil }
        return start ..< end
    }
}
