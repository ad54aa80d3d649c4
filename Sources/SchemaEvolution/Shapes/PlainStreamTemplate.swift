internal import Bytes
internal import EventModel
internal import JSONText

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
