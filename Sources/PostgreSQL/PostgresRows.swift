internal import Bytes

/// A statement's answer: rows of columns, both counted from 0.
@safe
package struct PostgresRows: ~Copyable {
    private let libpq: Libpq
    /// Owned by this value alone.
    private let result: OpaquePointer
    package let count: Int
    let columns: Int

    init(_ libpq: Libpq, owning result: OpaquePointer) {
        self.libpq = libpq
        unsafe self.result = unsafe result
        (count, columns) = unsafe (Int(libpq.tupleCount(result)), Int(libpq.fieldCount(result)))
    }

    deinit { unsafe libpq.clear(result) }

    /// How many rows the statement inserted, changed, deleted or selected; 0 for a statement without rows.
    package var affected: Int { unsafe Int(Libpq.text(libpq.commandTuples(result))) ?? 0 }

    var failure: PostgresError {
        let state = unsafe libpq.resultErrorField(result, Libpq.sqlStateField).map { unsafe Libpq.text($0) }
        let said = unsafe libpq.resultErrorField(result, Libpq.primaryField) ?? libpq.resultErrorMessage(result)
        return unsafe PostgresError(.refused, sqlState: state, Libpq.oneLine(Libpq.text(said)))
    }

    /// The OID of a column's type, equal on all servers (`pg_type.dat`); 0 where there is no such column.
    func type(_ column: Int) -> UInt32 { unsafe libpq.fieldType(result, Int32(truncatingIfNeeded: column)) }

    func isBinary(_ column: Int) -> Bool { unsafe libpq.fieldFormat(result, Int32(truncatingIfNeeded: column)) == 1 }

    /// The value of a column of the type `int2`, `int4`, `int8` or `bool` (0 and 1); nil for a null, and for a column of another type.
    package func int(_ row: Int, _ column: Int) -> Int64? {
        let bytes: Int? =
            switch type(column) {
            case 16: 1
            case 20: 8
            case 21: 2
            case 23: 4
            default: nil
            }
        return withBytes(row, column) { value -> Int64? in
            guard let bytes, value.byteCount == bytes else { return nil }
            // The most significant byte comes first, and carries the sign.
            let first = Int64(Int8(bitPattern: value.byte(at: 0)))
            return (1 ..< bytes).reduce(first) { $0 << 8 | Int64(value.byte(at: $1)) }
        } ?? nil
    }

    /// The value of a column of a type whose binary format is text: `text`, `varchar`, `name`; nil for a null, and where it is not valid
    /// UTF-8.
    package func text(_ row: Int, _ column: Int) -> String? {
        withBytes(row, column) { value in unsafe value.withUnsafeBytes { unsafe String(validating: $0, as: UTF8.self) } } ?? nil
    }

    /// A copy of a value in its type's binary format, for `bytea` its bytes; nil for a null.
    package func bytes(_ row: Int, _ column: Int) -> [UInt8]? {
        withBytes(row, column) { [UInt8](copying: $0) }
    }

    /// Lends a value in its type's binary format, for `bytea` its bytes.
    /// - Returns: nil for a null, and where there is no such row or column.
    package func withBytes<R, E: Error>(_ row: Int, _ column: Int, _ body: (RawSpan) throws(E) -> R) throws(E) -> R? {
        guard (0 ..< count).contains(row), (0 ..< columns).contains(column) else { return nil }
        let (row, column) = (Int32(row), Int32(column))
        guard unsafe libpq.isNull(result, row, column) == 0, let start = unsafe libpq.value(result, row, column) else { return nil }
        // Lent as long as the result is borrowed by this call.
        return try body(unsafe RawSpan(_unsafeStart: start, byteCount: Int(libpq.length(result, row, column))))
    }
}
