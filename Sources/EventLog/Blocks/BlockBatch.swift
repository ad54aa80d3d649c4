internal import Bytes
internal import EventModel
internal import LMDB

/// The blocks that a transaction has added to the log, one behind the other: an entry ahead of the log holds them, and a frame of a cluster
/// log. Its buffer is used again.
final class BlockBatch {
    private var text = ByteBuffer(capacity: 4_096)
    private let table: Table
    private let bytesMax: Int
    /// Whether the blocks have more bytes than `bytesMax`, so that not all of them are here.
    private(set) var isCut = false

    var byteCount: Int { text.count }

    init(_ access: LogAccess, bytesMax: Int) { (table, self.bytesMax) = (access.tables.blocks, bytesMax) }

    func removeAll() {
        // What a large commit took is given back.
        if text.capacity > Self.keptBytesMax { text = ByteBuffer(capacity: 4_096) } else { text.removeAll() }
        isCut = false
    }

    private static let keptBytesMax = 4 << 20

    /// Adds a block to the log and to the batch.
    func add(_ block: RawSpan, at first: Position, _ transaction: inout WriteTransaction) throws {
        try transaction.append(table, bytes(first.rawValue).lent, block)
        keep(block, bytesMax)
    }

    /// Fills the batch with the log's blocks from a position on, up to so many bytes where that is given.
    ///
    /// Not through `Blocks.view`, which learns the names of types that no other node may know yet.
    func read(from first: Position, upTo most: Int? = nil, _ transaction: borrowing ReadTransaction) throws {
        removeAll()
        var cursor = try transaction.cursor(table)
        var isThere = try cursor.seek(bytes(first.rawValue).lent)
        while isThere, !isCut {
            keep(cursor.value, most ?? bytesMax)
            isThere = try cursor.next()
        }
    }

    /// Lends the blocks.
    func lend<R>(_ body: (RawSpan) throws -> R) rethrows -> R { try Self.lend(text, body) }

    private static func lend<R>(_ text: borrowing ByteBuffer, _ body: (RawSpan) throws -> R) rethrows -> R { try body(text.bytes) }

    private func keep(_ block: RawSpan, _ most: Int) {
        isCut = isCut || text.count + block.byteCount > most
        if !isCut { text.append(block) }
    }
}
