internal import Bytes
internal import EventModel
internal import LMDB

/// The blocks that a commit adds to the log, one after the other, as an entry ahead of the log and a frame of a cluster log hold them. Its
/// buffer is reused.
package final class BlockBatch {
    private var text = ByteBuffer(capacity: 4_096)
    private let table: Table
    private(set) var count = 0

    var byteCount: Int { text.count }

    init(_ access: LogAccess) { table = access.tables.blocks }

    func removeAll() {
        // The memory that a large commit took is freed.
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
    /// `Blocks.view` is not used: it learns the names of types that no other node may know yet.
    func read(from first: Position, _ transaction: borrowing ReadTransaction) throws {
        removeAll()
        var cursor = transaction.cursor(table)
        var isThere = try cursor.seek(first.rawValue)
        while isThere {
            add(cursor.value)
            isThere = try cursor.next()
        }
    }

    /// Lends the bytes of all blocks.
    package func lend<R>(_ body: (RawSpan) throws -> R) rethrows -> R { try Self.lend(text, body) }

    private static func lend<R>(_ text: borrowing ByteBuffer, _ body: (RawSpan) throws -> R) rethrows -> R { try body(text.bytes) }

    /// Adds the blocks to the log.
    func put(_ transaction: inout WriteTransaction) throws { try Self.put(text, table, &transaction) }

    private static func put(_ text: borrowing ByteBuffer, _ table: Table, _ transaction: inout WriteTransaction) throws {
        var offset = 0
        while let block = BlockLayout.block(text.bytes, at: offset) {
            try transaction.append(table, bytes(block.load(UInt64.self, at: BlockLayout.Header.first)).lent, block)
            offset += block.byteCount
        }
    }
}
