/// The name of a stream: 1 to 200 bytes of printable ASCII without space, quotes, braces and
/// backslash. Stream templates percent-encode everything else.
public struct StreamName: Hashable, Comparable, Sendable, CustomStringConvertible {
    public let text: String

    /// - Throws: `EvstoreError.invalidStreamName`.
    public init(_ text: String) throws(EvstoreError) {
        guard Self.isValid(text.utf8) else { throw .invalidStreamName(text) }
        self.text = text
    }

    /// A name that was checked before, from the log's own bytes.
    package init(unchecked text: String) { self.text = text }

    public static let longestBytes = 200

    /// Whether a byte may stand in a name as it is.
    public static func allows(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"), UInt8(ascii: "{"), UInt8(ascii: "}"),
            UInt8(ascii: "\\"):
            false
        default: byte > 0x20 && byte < 0x7f
        }
    }

    private static func isValid(_ utf8: String.UTF8View) -> Bool {
        !utf8.isEmpty && utf8.count <= longestBytes && utf8.allSatisfy(allows)
    }

    public static func < (a: StreamName, b: StreamName) -> Bool { a.text < b.text }

    public var description: String { text }
}
