internal import Bytes
internal import EventModel
internal import LMDB

/// The blocks that a commit adds to the log, one behind the other: what an entry ahead of the log holds, and a frame of a cluster log. Its
/// buffer is used again.
package final class BlockBatch {
    private var text = ByteBuffer(capacity: 4_096)
    private let table: Table
    private(set) var count = 0

    var byteCount: Int { text.count }

    init(_ access: LogAccess) { table = access.tables.blocks }

    func removeAll() {
        // What a large commit took is given back.
        if text.capacity > Self.keptBytesMax { text = ByteBuffer(capacity: 4_096) } else { text.removeAll() }
        count = 0
    }

    private static let keptBytesMax = 4 << 20

    func add(_ block: RawSpan) {
        text.append(block)
        count += 1
    }

    /// Fills the batch with the log's blocks from a position on.
    ///
    /// Not through `Blocks.view`, which learns the names of types that no other node may know yet.
    func read(from first: Position, _ transaction: borrowing ReadTransaction) throws {
        removeAll()
        var cursor = transaction.cursor(table)
        var isThere = try cursor.seek(first.rawValue)
        while isThere {
            add(cursor.value)
            isThere = try cursor.next()
        }
    }

    /// Lends all of them.
    package func lend<R>(_ body: (RawSpan) throws -> R) rethrows -> R { try Self.lend(text, body) }

    private static func lend<R>(_ text: borrowing ByteBuffer, _ body: (RawSpan) throws -> R) rethrows -> R { try body(text.bytes) }

    /// Adds them to the log.
    func put(_ transaction: inout WriteTransaction) throws { try Self.put(text, table, &transaction) }

    private static func put(_ text: borrowing ByteBuffer, _ table: Table, _ transaction: inout WriteTransaction) throws {
        var offset = 0
        while let block = BlockLayout.block(text.bytes, at: offset) {
            try transaction.append(table, bytes(block.load(UInt64.self, at: BlockLayout.Header.first)).lent, block)
            offset += block.byteCount
        }
    }
}
