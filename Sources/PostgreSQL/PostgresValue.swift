internal import Bytes

/// A parameter of a statement: `$1`, `$2` and so on. All are sent in PostgreSQL's binary formats, so that nothing has to be quoted.
package enum PostgresValue: Hashable, Sendable {
    /// Null, with the type that the statement has there.
    case null
    /// A `text`. It may hold no zero character, which the server refuses.
    case text(String)
    /// An `int8`.
    case int(Int64)
    /// A `bytea`.
    case bytes([UInt8])

    /// The OID of the type, equal on all servers (`pg_type.dat`); 0 leaves it to the statement.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .text: 25
        case .int: 20
        case .bytes: 17
        }
    }

    /// The bytes to send, nil for null.
    var sent: [UInt8]? {
        switch self {
        case .null: nil
        case .text(let text): Array(text.utf8)
        case .int(let number): (0 ..< 8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        case .bytes(let bytes): bytes
        }
    }
}

extension Libpq {
    /// Lends values in libpq's form, without copying their bytes.
    static func withPointers<R>(_ values: [[UInt8]?], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
        // A null pointer would mean null, and that of an empty array may be one.
        unsafe withUnsafePointer(to: CChar(0)) { none in
            func lend(_ pointers: [UnsafePointer<CChar>?]) -> R {
                if unsafe pointers.count == values.count { return unsafe body(pointers) }
                guard let value = unsafe values[pointers.count] else { return unsafe lend(pointers + [nil]) }
                return unsafe value.withUnsafeBytes { bytes in
                    unsafe lend(pointers + [bytes.baseAddress?.assumingMemoryBound(to: CChar.self) ?? none])
                }
            }
            return unsafe lend([])
        }
    }

    /// Lends texts as a null-terminated array of C strings.
    static func withTexts<R>(_ texts: [String], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
        unsafe withPointers(texts.map { Array($0.utf8) + [0] }) { unsafe body($0 + [nil]) }
    }
}
