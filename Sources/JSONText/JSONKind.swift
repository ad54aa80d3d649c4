/// The kind of a JSON value, which its first byte determines.
package enum JSONKind: UInt8, Sendable, BitwiseCopyable {
    case object, array, string, number, `true`, `false`, null

    /// The kind of value that `byte` begins, or nil.
    @inline(__always)
    package init?(firstByte byte: UInt8) {
        if byte == UInt8(ascii: "\"") {
            self = .string
        } else if byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-") {
            self = .number
        } else {
            switch byte {
            case UInt8(ascii: "{"): self = .object
            case UInt8(ascii: "["): self = .array
            case UInt8(ascii: "t"): self = .true
            case UInt8(ascii: "f"): self = .false
            case UInt8(ascii: "n"): self = .null
            default: return nil
            }
        }
    }

    /// Whether values of this kind contain other values.
    package var isContainer: Bool { rawValue <= JSONKind.array.rawValue }
}
