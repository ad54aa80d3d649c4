internal import Bytes
internal import EventModel
internal import Hashing

/// Makes the blocks of commits, one commit after the other.
struct BlockMaking: ~Copyable {
    private var writer: BlockWriter
    /// Those of the commit that is being made.
    let blocks: BlockBatch
    var random = Randomness()

    init(_ access: LogAccess) {
        writer = BlockWriter(access)
        blocks = BlockBatch(access)
    }

    /// The link of the last finished block.
    var lastLink: Digest { writer.lastLink }

    /// Begins a commit: `first` is the next position, `link` what its first block links to.
    mutating func begin(_ epoch: Epoch, first: Position, link: Digest, time: Timestamp) {
        writer.begin(epoch, first: first, link: link, time: time)
        blocks.removeAll()
    }

    /// Adds an event, where it lies among others, at the next position.
    mutating func add(_ events: Span<StoredEvent>, _ index: Int, _ place: BlockWriter.Place) throws {
        let blocks = blocks
        try writer.add(events, index, place) { blocks.add($1) }
    }

    /// Completes the last block.
    mutating func finish() throws {
        let blocks = blocks
        try writer.finish { blocks.add($1) }
    }
}
