package import Bytes

/// The name of a stream: 1 to 200 bytes of printable ASCII without spaces, quotes, braces and backslashes. Stream templates percent-encode
/// all other characters.
public struct StreamName: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let text: String

    /// - Throws: `EvstoreError.invalidStreamName`.
    public init(_ text: String) throws(EvstoreError) {
        let utf8 = text.utf8
        guard (1 ... Self.longestBytes).contains(utf8.count), utf8.allSatisfy(Self.allows) else { throw .invalidStreamName(text) }
        self.text = text
    }

    /// A name that was validated before, from the log's own bytes.
    package init(unchecked text: String) { self.text = text }

    public static let longestBytes = 200

    /// A text as a stream template inserts it: bytes that a name can't contain, and `%` itself, as `%` and two hexadecimal digits.
    ///
    ///     try StreamName("lot-" + StreamName.encoded(key))
    public static func encoded(_ text: String) -> String {
        var bytes = ByteBuffer(capacity: text.utf8.count + 16)
        bytes.append(text)
        bytes.encodeForStreamName(from: 0)
        return String(utf8: bytes.bytes) ?? ""
    }

    /// Whether a byte is allowed in a name without encoding.
    public static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "}"),
            UInt8(ascii: "\\"):
            false
        default: byte > 0x20 && byte < 0x7f
        }
    }

    /// Whether bytes form a valid name. Checks eight bytes at a time, since every name in every block that is read is checked.
    package static func isValid(_ name: RawSpan) -> Bool {
        let count = name.byteCount
        guard (1 ... longestBytes).contains(count) else { return false }
        guard count >= 8 else {
            for offset in 0 ..< count where !allows(name.byte(at: offset)) { return false }
            return true
        }
        var offset = 0
        while offset < count - 8 {
            if !allows(eight: name.load(UInt64.self, at: offset)) { return false }
            offset += 8
        }
        return allows(eight: name.load(UInt64.self, at: count - 8))
    }

    /// Applies `allows` to each byte of a word: a byte is below n if subtracting n borrows, and equals n if their difference is zero.
    @inline(__always)
    private static func allows(eight word: UInt64) -> Bool {
        let (ones, tops): (UInt64, UInt64) = (0x0101_0101_0101_0101, 0x8080_8080_8080_8080)
        func below(_ byte: UInt64, _ word: UInt64) -> UInt64 { (word &- ones &* byte) & ~word }
        func has(_ byte: UInt8) -> UInt64 { below(1, word ^ (ones &* UInt64(byte))) }
        let refused =
            word | below(0x21, word) | has(0x7f) | has(UInt8(ascii: "\"")) | has(UInt8(ascii: "'")) | has(UInt8(ascii: "`"))
            | has(UInt8(ascii: "{")) | has(UInt8(ascii: "}")) | has(UInt8(ascii: "\\"))
        return refused & tops == 0
    }

    public static func < (a: StreamName, b: StreamName) -> Bool { a.text < b.text }

    public var description: String { text }
}

extension ByteBuffer {
    /// Percent-encodes the bytes from an offset on that are not allowed in a stream name, and percent signs.
    package mutating func encodeForStreamName(from start: Int) {
        func isPlain(_ byte: UInt8) -> Bool { StreamName.allows(byte) && byte != UInt8(ascii: "%") }
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? UInt8(ascii: "0") + value : UInt8(ascii: "A") + value - 10 }
        guard let odd = (start ..< count).first(where: { !isPlain(byte(at: $0)) }) else { return }
        let rest = [UInt8](copying: slice(odd, count - odd))
        truncate(to: odd)
        for byte in rest {
            if isPlain(byte) { append(byte) } else { append([UInt8(ascii: "%"), digit(byte >> 4), digit(byte & 15)]) }
        }
    }
}
