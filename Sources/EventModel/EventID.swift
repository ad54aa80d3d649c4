package import Bytes

/// Identifies one event in a store: any text of 1 to 64 bytes. A canonical (lower-case) UUID takes 16 bytes in the log. If the caller gives
/// no id, a UUIDv7 (RFC 9562) is generated. The id of a part, which has `#k` behind that of its event, may be longer.
public struct EventID: Hashable, Sendable, CustomStringConvertible {
    // A canonical UUID is always stored in this form, so that equal ids are also equal as values.
    private enum Form: Hashable {
        case uuid(UInt64, UInt64)
        case text(Name)
    }

    private let form: Form

    public var text: String {
        guard case .text(let name) = form else {
            var text = ByteBuffer(capacity: 36)
            append(to: &text)
            return String(utf8: text.bytes) ?? ""
        }
        return name.text
    }

    /// - Throws: `EvstoreError.invalidEventID` if the text is empty, contains a control character, or is longer than 64 bytes and not the
    ///   id of a part.
    public init(_ text: String) throws(EvstoreError) {
        let utf8 = text.utf8
        self.init(unchecked: text)
        guard !utf8.isEmpty, utf8.allSatisfy(Self.allows), utf8.count <= Self.longestBytes || isOfPart else { throw .invalidEventID(text) }
    }

    package static func isValid(_ text: RawSpan) -> Bool {
        guard (1 ... partBytesMax).contains(text.byteCount) else { return false }
        for index in 0 ..< text.byteCount { if !allows(text.byte(at: index)) { return false } }
        return text.byteCount <= longestBytes || String(utf8: text).map { EventID(unchecked: $0).isOfPart } ?? false
    }

    private static func allows(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7f }

    /// Whether a long id is that of a part of an event that may be in a store: as such it was exported, and can be appended elsewhere.
    private var isOfPart: Bool {
        guard text.utf8.count <= Self.partBytesMax, let whole else { return false }
        return whole.text.utf8.count <= Self.longestBytes || whole.isOfPart
    }

    /// The log keeps the length of an id in one byte.
    private static let partBytesMax = 255

    /// An id that was validated before, from the log's own bytes.
    package init(unchecked text: String) { form = Self.halves(of: text).map { .uuid($0, $1) } ?? .text(Name(text)) }

    /// The largest size of an id that is not that of a part.
    public static let longestBytes = 64

    /// A UUIDv7 for this moment: ids that are generated later sort later, within the clock's resolution.
    public static func make(at time: Timestamp, using generator: inout some RandomNumberGenerator) -> EventID {
        EventID(uuid: makeUUID(at: time, using: &generator))
    }

    /// The two halves of a UUIDv7 for this moment, without its text.
    package static func makeUUID(at time: Timestamp, using generator: inout some RandomNumberGenerator) -> (UInt64, UInt64) {
        let milliseconds = UInt64(bitPattern: time.microseconds / 1_000) & 0xffff_ffff_ffff
        let high = milliseconds << 16 | 0x7000 | generator.next() & 0x0fff
        let low = generator.next() & 0x3fff_ffff_ffff_ffff | 0x8000_0000_0000_0000
        return (high, low)
    }

    package init(uuid: (UInt64, UInt64)) { form = .uuid(uuid.0, uuid.1) }

    /// The two halves, most significant first, if the text is a canonical lower-case UUID.
    package var uuid: (UInt64, UInt64)? { if case .uuid(let high, let low) = form { (high, low) } else { nil } }

    /// Whether the id has the form that the store generates: a UUIDv7.
    package var isUUIDv7: Bool { uuid.map { $0.0 >> 12 & 0xf == 7 && $0.1 >> 62 == 2 } ?? false }

    /// The id of a later part of an event with this id, which a step splits: of the second part 1.
    package func ofPart(_ part: Int) -> EventID { EventID(unchecked: "\(self)#\(part)") }

    /// The id of the event of which an event with this id may be a part; nil where it can be none.
    package var whole: EventID? {
        guard case .text(let name) = form, let mark = name.text.utf8.lastIndex(of: UInt8(ascii: "#")) else { return nil }
        let (whole, part) = (name.text[..<mark], name.text[mark...].dropFirst())
        guard !whole.isEmpty, let number = UInt16(part), number > 0, part == "\(number)" else { return nil }
        return EventID(unchecked: String(whole))
    }

    package func append(to output: inout ByteBuffer) {
        switch form {
        case .uuid(let high, let low): output.append(uuid: (high, low))
        case .text(let name): output.append(name.text)
        }
    }

    private static func halves(of text: String) -> (UInt64, UInt64)? {
        guard text.utf8.count == 36 else { return nil }
        var (high, low): (UInt64, UInt64) = (0, 0)
        var index = 0
        for byte in text.utf8 {
            let isDash = index == 8 || index == 13 || index == 18 || index == 23
            switch byte {
            case UInt8(ascii: "-") where isDash: break
            case 48 ... 57 where !isDash, 97 ... 102 where !isDash:
                let digit = UInt64(byte < 58 ? byte - 48 : byte - 87)
                if index < 18 { high = high << 4 | digit } else { low = low << 4 | digit }
            default: return nil
            }
            index += 1
        }
        return (high, low)
    }

    public var description: String { text }
}
