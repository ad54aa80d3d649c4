internal import Bytes
internal import Glibc
package import Platform

/// Memory for rows that follow those of a table with integer keys and are not in the file yet. Rows are only appended and never moved, so
/// that readers of earlier rows are not disturbed.
@safe
package final class AheadRows: @unchecked Sendable {
    // Sound to share: one thread at a time appends, under its owner's lock, and a view shows only rows that were there when it was made.
    fileprivate struct Row {
        var key: UInt64
        var start: Int
        var count: Int
    }

    fileprivate let rows: UnsafeMutablePointer<Row>
    fileprivate let bytes: UnsafeMutableRawPointer
    private let bytesMax: Int
    private let rowsMax: Int
    /// The used bytes and rows. Behind a pointer for the reason given at `Monitor`.
    private let filled = UnsafeMutablePointer<(bytes: Int, rows: Int)>.allocate(capacity: 1)

    package var count: Int {
        defer { withExtendedLifetime(self) {} }
        return unsafe filled.pointee.rows
    }

    /// - Parameter bytesMax: for all values together. The kernel gives the memory as it is filled.
    package init(bytesMax: Int, rowsMax: Int) {
        (self.bytesMax, self.rowsMax) = (bytesMax, rowsMax)
        unsafe filled.initialize(to: (0, 0))
        unsafe rows = .allocate(capacity: rowsMax)
        unsafe bytes = .allocate(byteCount: bytesMax, alignment: 16)
    }

    deinit {
        unsafe filled.deallocate()
        unsafe rows.deallocate()
        unsafe bytes.deallocate()
    }

    /// Whether `count` rows with `values` bytes in all fit in.
    package func hasRoom(_ count: Int, _ values: Int) -> Bool {
        defer { withExtendedLifetime(self) {} }
        let (bytes, rows) = unsafe filled.pointee
        return rows + count <= rowsMax && bytes + values <= bytesMax
    }

    /// Appends a row, whose key is higher than all others.
    package func append(_ key: UInt64, _ value: RawSpan) {
        defer { withExtendedLifetime(self) {} }
        precondition(hasRoom(1, value.byteCount), "a row fits in")
        let (start, count) = unsafe filled.pointee
        unsafe rows[count] = Row(key: key, start: start, count: value.byteCount)
        unsafe value.withUnsafeBytes { source in
            if let base = source.baseAddress { unsafe (bytes + start).copyMemory(from: base, byteCount: source.count) }
        }
        unsafe filled.pointee = (start + value.byteCount, count + 1)
    }

    /// Removes all rows. No view may show them any more.
    package func removeAll() {
        defer { withExtendedLifetime(self) {} }
        unsafe filled.pointee = (0, 0)
    }

    package func key(_ index: Int) -> UInt64 {
        defer { withExtendedLifetime(self) {} }
        precondition(index >= 0 && index < count, "a row that is there")
        return unsafe rows[index].key
    }

    /// The index of the first row before `end` whose key is not below `key`; `end` where there is none.
    package func index(of key: UInt64, _ end: Int) -> Int {
        defer { withExtendedLifetime(self) {} }
        var (low, high) = (0, end)
        while low < high {
            let middle = (low + high) / 2
            if unsafe rows[middle].key < key { low = middle + 1 } else { high = middle }
        }
        return low
    }
}

/// A range of `AheadRows`, as one read transaction sees them behind the rows of the table.
package final class AheadView: Sendable {
    fileprivate let rows: AheadRows
    package let range: Range<Int>
    let table: Table
    /// A note of the view's maker.
    package let note: [UInt8]

    package init(_ rows: AheadRows, _ range: Range<Int>, of table: Table, note: [UInt8]) {
        precondition(range.lowerBound >= 0 && range.upperBound <= rows.count, "a view shows rows that are there")
        (self.rows, self.range, self.table, self.note) = (rows, range, table, note)
    }

    func index(of key: UInt64) -> Int { max(rows.index(of: key, range.upperBound), range.lowerBound) }

    var firstKey: UInt64 { unsafe rows.rows[range.lowerBound].key }

    /// A row's key in the form that LMDB has for keys.
    func key(_ index: Int) -> UnsafeRawBufferPointer {
        precondition(range.contains(index), "a row of the view")
        return unsafe UnsafeRawBufferPointer(start: rows.rows + index, count: 8)
    }

    func value(_ index: Int) -> UnsafeRawBufferPointer {
        precondition(range.contains(index), "a row of the view")
        let row = unsafe rows.rows[index]
        return unsafe UnsafeRawBufferPointer(start: rows.bytes + row.start, count: row.count)
    }

    /// Lends each row, in the order of the keys.
    package func forEach(_ body: (UInt64, RawSpan) throws -> Void) rethrows {
        for index in range {
            let (key, value) = unsafe (rows.rows[index].key, value(index))
            try body(key, unsafe value.bytes)
        }
    }
}

/// Knows which rows follow those of a table in the file: a read transaction shows them as if they were in the table.
package protocol AheadSource: AnyObject, Sendable {
    /// The end of the rows. Asked for before a transaction begins.
    func end() throws(StorageError) -> AheadEnd

    /// The rows up to `end` that the transaction's snapshot of the file lacks. `end` was asked for before the transaction began.
    func rows(upTo end: AheadEnd, _ transaction: borrowing ReadTransaction) throws(StorageError) -> AheadAnswer
}

/// The end of the rows of the file and of those behind them.
package struct AheadEnd: Equatable, Sendable {
    package var epoch: UInt32
    /// 0 where the file has all rows.
    package var last: UInt64

    package init(epoch: UInt32, last: UInt64) { (self.epoch, self.last) = (epoch, last) }
}

package enum AheadAnswer {
    /// The file has all rows.
    case none
    case rows(AheadView)
    /// Rows were moved to the file meanwhile: a transaction that begins now finds them there.
    case begunTooEarly
}
