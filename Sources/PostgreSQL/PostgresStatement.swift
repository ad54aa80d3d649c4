internal import Bytes

/// A statement with the form of its answer: a server, or somebody in its place, may answer anything.
package struct PostgresStatement: Sendable {
    package let sql: String
    /// The name under which the server keeps the prepared statement, so that later calls need no parsing and planning; nil where it is not
    /// kept. Each name belongs to one statement, whose parameters have the same types each time.
    let name: String?
    /// Nil accepts the columns that the server sends.
    let columns: [PostgresColumn]?
    let rows: ClosedRange<Int>
    /// The most bytes of a complete answer.
    let bytesMax: Int

    /// - Parameters:
    ///   - columns: the columns of a row of the answer; none for a statement without rows.
    ///   - rows: how many rows the answer may have.
    package init(
        _ sql: String, answers columns: [PostgresColumn]? = [], rows: ClosedRange<Int> = 0 ... 0, keptAs name: String? = nil,
        bytesMax: Int = 1 << 20
    ) {
        precondition(!sql.utf8.contains(0), "a statement without a zero character")
        (self.sql, self.columns, self.rows, self.name, self.bytesMax) = (sql, columns, rows, name, bytesMax)
    }
}

/// A column of an answer, by the types of PostgreSQL (`pg_type.dat`).
package struct PostgresColumn: Sendable {
    enum Kind: Sendable {
        case number(ClosedRange<Int64>)
        case truth
        case text
        case bytes
    }

    let kind: Kind
    /// The lengths of a value in its binary format.
    let lengths: ClosedRange<Int>
    let isOptional: Bool

    private init(_ kind: Kind, _ lengths: ClosedRange<Int>, isOptional: Bool = false) {
        (self.kind, self.lengths, self.isOptional) = (kind, lengths, isOptional)
    }

    /// An `int8` within bounds.
    package static func number(_ range: ClosedRange<Int64> = .min ... .max, isOptional: Bool = false) -> PostgresColumn {
        PostgresColumn(.number(range), 8 ... 8, isOptional: isOptional)
    }

    /// A `bool`.
    package static let truth = PostgresColumn(.truth, 1 ... 1)

    /// A `text`, `varchar` or `name` of at most this many bytes.
    package static func text(upTo bytes: Int) -> PostgresColumn { PostgresColumn(.text, 0 ... bytes) }

    /// A `bytea`.
    package static func bytes(_ lengths: ClosedRange<Int>, isOptional: Bool = false) -> PostgresColumn {
        PostgresColumn(.bytes, lengths, isOptional: isOptional)
    }

    /// A `bytea` of one length.
    package static func bytes(_ length: Int) -> PostgresColumn { bytes(length ... length) }

    var types: Set<UInt32> {
        switch kind {
        case .number: [20]
        case .truth: [16]
        case .text: [25, 1_043, 19]
        case .bytes: [17]
        }
    }
}

extension PostgresRows {
    /// Why the answer does not have the form that the statement declares; nil where it has.
    borrowing func flaw(as answer: PostgresStatement) -> String? {
        guard let wanted = answer.columns else { return nil }
        if columns != wanted.count { return "it has \(columns) columns in place of \(wanted.count)" }
        if !answer.rows.contains(count) { return "it has \(count) rows" }
        for (index, column) in wanted.enumerated() where !isBinary(index) || !column.types.contains(type(index)) {
            return "its column \(index + 1) has another type"
        }
        for row in 0 ..< count {
            for (index, column) in wanted.enumerated() {
                if let flaw = flaw(row, index, column) { return "its row \(row + 1), column \(index + 1) \(flaw)" }
            }
        }
        return nil
    }

    private borrowing func flaw(_ row: Int, _ index: Int, _ column: PostgresColumn) -> String? {
        guard let bytes = withBytes(row, index, { $0.byteCount }) else { return column.isOptional ? nil : "is null" }
        if !column.lengths.contains(bytes) { return "has \(bytes) bytes" }
        switch column.kind {
        case .number(let range):
            guard let number = int(row, index), range.contains(number) else { return "is a number out of its bounds" }
        case .text:
            guard text(row, index) != nil else { return "is no UTF-8" }
        case .truth, .bytes: break
        }
        return nil
    }
}

/// A parameter of a statement: `$1`, `$2` and so on. All are sent in PostgreSQL's binary formats, so that nothing has to be quoted.
package enum PostgresValue: Hashable, Sendable {
    /// A `text`. It may hold no zero character, which the server refuses.
    case text(String)
    /// An `int8`.
    case int(Int64)
    /// A `bytea`.
    case bytes([UInt8])

    /// The OID of the type, equal on all servers (`pg_type.dat`).
    var type: UInt32 {
        switch self {
        case .text: 25
        case .int: 20
        case .bytes: 17
        }
    }

    var sent: [UInt8] {
        switch self {
        case .text(let text): Array(text.utf8)
        case .int(let number): (0 ..< 8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        case .bytes(let bytes): bytes
        }
    }
}

extension Libpq {
    /// Lends values in libpq's form, without copying their bytes.
    static func withPointers<R>(_ values: [[UInt8]], _ body: ([UnsafePointer<CChar>?]) -> R) -> R {
        // A null pointer would mean null, and that of an empty array may be one.
        unsafe withUnsafePointer(to: CChar(0)) { none in
            func lend(_ pointers: [UnsafePointer<CChar>?]) -> R {
                if unsafe pointers.count == values.count { return unsafe body(pointers) }
                return unsafe values[pointers.count].withUnsafeBytes { bytes in
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
