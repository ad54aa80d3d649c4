internal import Bytes
internal import EventModel
internal import Hashing

/// Makes the blocks of commits, one commit after the other.
struct BlockAssembler: ~Copyable {
    private var writer: BlockWriter
    /// The blocks of the current commit.
    let blocks: BlockBatch
    var random = Xoshiro256()

    init(_ access: LogAccess) {
        writer = BlockWriter(access)
        blocks = BlockBatch(access)
    }

    /// The link of the last finished block.
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

    /// Completes the last block.
    mutating func finish() throws {
        let blocks = blocks
        try writer.finish { blocks.add($1) }
    }
}
