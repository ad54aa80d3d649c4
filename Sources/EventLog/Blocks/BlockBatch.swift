internal import Bytes
internal import EventModel
internal import Hashing
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

    package func lend<R>(_ body: (RawSpan) throws -> R) rethrows -> R { try Self.lend(text, body) }

    private static func lend<R>(_ text: borrowing ByteBuffer, _ body: (RawSpan) throws -> R) rethrows -> R { try body(text.bytes) }

    func put(_ transaction: inout WriteTransaction) throws { try Self.put(text, table, &transaction) }

    private static func put(_ text: borrowing ByteBuffer, _ table: Table, _ transaction: inout WriteTransaction) throws {
        var offset = 0
        while let block = BlockLayout.block(text.bytes, at: offset) {
            try transaction.append(table, bytes(block.load(UInt64.self, at: BlockLayout.Header.first)).lent, block)
            offset += block.byteCount
        }
    }
}

/// Makes the blocks of commits, one commit after the other.
struct BlockAssembler: ~Copyable {
    private var writer: BlockWriter
    let blocks: BlockBatch
    var random = Xoshiro256()

    init(_ access: LogAccess) {
        writer = BlockWriter(access)
        blocks = BlockBatch(access)
    }

    var lastLink: Digest { writer.lastLink }

    /// Begins a commit: `first` is the next position, `link` the link for its first block.
    mutating func begin(_ epoch: Epoch, first: Position, link: Digest, time: Timestamp) {
        writer.begin(epoch, first: first, link: link, time: time)
        blocks.removeAll()
    }

    /// Adds one event of a span at the next position.
    mutating func add(_ events: Span<StoredEvent>, _ index: Int, _ place: BlockWriter.AssignedFields) throws {
        let blocks = blocks
        try writer.add(events, index, place) { blocks.add($1) }
    }

    mutating func finish() throws {
        let blocks = blocks
        try writer.finish { blocks.add($1) }
    }
}

/// Random numbers for event ids: xoshiro256** (Blackman and Vigna), seeded by the system. Asking the system for each id would cost more
/// than the rest of an append.
struct Xoshiro256: RandomNumberGenerator {
    private var a, b, c, d: UInt64

    init() {
        var system = SystemRandomNumberGenerator()
        (a, b, c, d) = (system.next() | 1, system.next(), system.next(), system.next())
    }

    mutating func next() -> UInt64 {
        let result = Self.rotated(b &* 5, 7) &* 9
        let shifted = b << 17
        c ^= a
        d ^= b
        b ^= c
        a ^= d
        c ^= shifted
        d = Self.rotated(d, 45)
        return result
    }

    private static func rotated(_ value: UInt64, _ bits: UInt64) -> UInt64 { value << bits | value >> (64 - bits) }
}
