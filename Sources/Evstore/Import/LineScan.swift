internal import Bytes
internal import EventModel
internal import JSONText

/// The members of an event line as byte ranges in its chunk. Ranges of strings exclude the quotes.
struct LineFields {
    var stream: Range<Int>
    var type: Range<Int>
    var payload: Range<Int>
    /// Empty where there is none.
    var metadata: Range<Int>
    var id: Range<Int>?
    var time: Timestamp?
    var version: SchemaVersion?
}

/// Finds the members of event lines in place. Reused from line to line; allocates nothing.
///
/// It reads lines of this product's own form whose names have no escapes, as almost all are. For every other line it returns nil, and so
/// for one with a stream, id, time or version that is refused: the parser reads it, and names the error.
struct LineScan: ~Copyable {
    private var slots = UniqueArray<ValueSlot>(repeating: ValueSlot(kind: .null), count: Member.all.count)
    private var order = MemberOrder()
    private let members = KnownMembers(Member.all)

    private enum Member {
        static let (stream, type, data, id, time, metadata, version) = (0, 1, 2, 3, 4, 5, 6)
        /// In the order of the numbers. The members after `version` come from exports and are ignored.
        static let all =
            [
                known("stream", [.string], isRequired: true), known("type", [.string], isRequired: true),
                known("data", [.object], isRequired: true), known("id", [.string, .null]), known("time", [.string, .null]),
                known("metadata", [.object, .null]), known("version", [.number]),
            ] + ["position", "revision", "born", "part", "epoch"].map { KnownMember(MemberName($0), kinds: .max, isRequired: false) }

        private static func known(_ name: String, _ kinds: [JSONKind], isRequired: Bool = false) -> KnownMember {
            KnownMember(MemberName(name), kinds: kinds.reduce(0) { $0 | 1 << $1.rawValue }, isRequired: isRequired)
        }
    }

    /// The fields of the line from `start` to `end`, which must be one JSON value.
    mutating func fields(of text: borrowing ByteBuffer, _ start: Int, _ end: Int) -> LineFields? {
        order.begin()
        guard let members, text.byte(at: start) == UInt8(ascii: "{"),
            let scanned = members.scan(text, at: start, base: 0, into: &slots, order: &order), scanned <= end,
            let stream = plainText(Member.stream), let type = plainText(Member.type)
        else { return nil }
        var fields = LineFields(stream: stream, type: type, payload: place(Member.data), metadata: 0 ..< 0)
        guard StreamName.isValid(text.slice(stream.lowerBound, stream.count)) else { return nil }
        if isThere(Member.metadata) { fields.metadata = place(Member.metadata) }
        if isThere(Member.id) {
            guard let id = plainText(Member.id), EventID.isValid(text.slice(id.lowerBound, id.count)) else { return nil }
            fields.id = id
        }
        if isThere(Member.time) {
            guard let range = plainText(Member.time), let time = Timestamp(utf8: text.slice(range.lowerBound, range.count)) else {
                return nil
            }
            fields.time = time
        }
        if isThere(Member.version) {
            guard let version = number(text, Member.version) else { return nil }
            fields.version = SchemaVersion(version)
        }
        return fields
    }

    /// Whether a member has a value other than null.
    private func isThere(_ member: Int) -> Bool { slots[member].kind != .null }

    private func place(_ member: Int) -> Range<Int> { Int(slots[member].start) ..< Int(slots[member].end) }

    private func plainText(_ member: Int) -> Range<Int>? {
        let slot = slots[member]
        return slot.kind == .string && !slot.hasEscapes ? Int(slot.start) + 1 ..< Int(slot.end) - 1 : nil
    }

    private func number(_ text: borrowing ByteBuffer, _ member: Int) -> UInt32? {
        let range = place(member)
        guard range.count < 10 else { return nil }
        return text.slice(range.lowerBound, range.count).number(at: 0, digits: range.count).map { UInt32($0) }
    }
}
