internal import Bytes
internal import Glibc
package import Platform

/// Memory for rows that follow those of a table of integer keys and are not in the file yet. Rows are added behind one another and never
/// moved, so that those who read the first ones are not disturbed.
@safe
package final class AheadRows: @unchecked Sendable {
    // Sound to share: one thread at a time adds, under its owner's lock, and a view shows only rows that were added before it was made.
    fileprivate struct Row {
        var key: UInt64
        var start: Int
        var count: Int
    }

    fileprivate let rows: UnsafeMutablePointer<Row>
    fileprivate let bytes: UnsafeMutableRawPointer
    private let bytesMax: Int
    private let rowsMax: Int
    /// How many bytes and rows there are. Behind a pointer, as of a `Monitor`.
    private let filled = UnsafeMutablePointer<(bytes: Int, rows: Int)>.allocate(capacity: 1)

    package var count: Int {
        defer { withExtendedLifetime(self) {} }
        return unsafe filled.pointee.rows
    }

    /// - Parameter bytesMax: of all values together. The memory is taken as it is filled.
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

    /// Whether rows with so many bytes in all fit in.
    package func hasRoom(_ count: Int, _ values: Int) -> Bool {
        defer { withExtendedLifetime(self) {} }
        let (bytes, rows) = unsafe filled.pointee
        return rows + count <= rowsMax && bytes + values <= bytesMax
    }

    /// Adds a row, whose key is higher than all others.
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

    /// Forgets all rows, which nobody shows any more.
    package func removeAll() {
        defer { withExtendedLifetime(self) {} }
        unsafe filled.pointee = (0, 0)
    }

    package func key(_ index: Int) -> UInt64 {
        defer { withExtendedLifetime(self) {} }
        precondition(index >= 0 && index < count, "a row that is there")
        return unsafe rows[index].key
    }

    /// The first of the rows up to `end` whose key is not below `key`; `end` where there is none.
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

/// Some of such rows, as one read transaction sees them behind those of the table.
package final class AheadView: Sendable {
    fileprivate let rows: AheadRows
    package let range: Range<Int>
    let table: Table
    /// What its maker notes of it.
    package let note: [UInt8]

    package init(_ rows: AheadRows, _ range: Range<Int>, of table: Table, note: [UInt8]) {
        precondition(range.lowerBound >= 0 && range.upperBound <= rows.count, "a view shows rows that are there")
        (self.rows, self.range, self.table, self.note) = (rows, range, table, note)
    }

    func index(of key: UInt64) -> Int { max(rows.index(of: key, range.upperBound), range.lowerBound) }

    var firstKey: UInt64 { unsafe rows.rows[range.lowerBound].key }

    /// The key of a row as the bytes that LMDB has for it.
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

/// Says which rows follow those of a table in the file: a read transaction shows them as if they were there.
package protocol AheadSource: AnyObject, Sendable {
    /// Up to where there are rows. Asked before a transaction begins.
    func end() throws(StorageError) -> AheadEnd

    /// The rows that a transaction lacks up to `end`, which was asked for before it began.
    func rows(upTo end: AheadEnd, _ transaction: borrowing ReadTransaction) throws(StorageError) -> AheadAnswer
}

/// The end of the rows in the file and behind it.
package struct AheadEnd: Equatable, Sendable {
    package var epoch: UInt32
    /// 0 where the file has them all.
    package var last: UInt64

    package init(epoch: UInt32, last: UInt64) { (self.epoch, self.last) = (epoch, last) }
}

package enum AheadAnswer {
    /// The file has them all.
    case none
    case rows(AheadView)
    /// Rows were moved to the file meanwhile: a transaction that begins now has them.
    case begunTooEarly
}
