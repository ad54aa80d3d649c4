internal import Bytes
internal import EventLog
internal import EventModel

/// Prepares one chunk of the log after another.
final class ChunkWorker: @unchecked Sendable {
    // Sound to share: each belongs to one thread.
    private let log: EventLog
    private let preparer: EventPreparer
    private let types: Set<Name>
    private var through = Position.start
    /// Up to where the chunk was prepared.
    private(set) var reached = Position.start

    init(_ log: EventLog, _ preparer: EventPreparer, _ census: [CensusRow]) throws {
        (self.log, self.preparer) = (log, preparer)
        types = Set(of: try census.filter { try preparer.isOfInterest($0.type, born: $0.born) }.map(\.type))
    }

    /// Whether the chunk ended before its buffer held all of it.
    var hasMore: Bool { reached < through }
    var bytes: Int { preparer.bytes }
    var folded: UInt64 { preparer.folded }
    /// What all chunks so far have shown.
    var witnessed: Witnesses.List { preparer.witnessed }

    var rejections: [(target: Int, rejection: Rejection)] {
        preparer.targets.flatMap { index in preparer.outputs[index].rejections.map { (index, $0) } }
    }

    func begin(after: Position, through: Position) { (reached, self.through) = (after, through) }

    /// Prepares the chunk from where it was `reached`.
    /// - Parameter bytesMax: ends with the block in which its operations reach so many bytes.
    func prepare(bytesMax: Int, partitions: Int) throws {
        preparer.removeAll()
        let after = reached
        reached = through
        defer { for target in preparer.targets { preparer.outputs[target].distribute(among: partitions) } }
        if types.isEmpty { return }
        try log.scan(after: after, through: through, types: types) { block, reader in
            try preparer.prepare(block, reader)
            if preparer.bytes < bytesMax { return true }
            reached = min(block.last, through)
            return false
        }
    }

    /// Lends the operations of one definition, where each begins, and which are those of one partition.
    func lend(_ target: Int, _ partition: Int, _ body: (RawSpan, borrowing Slots<UInt32>, Range<Int>) throws -> Void) rethrows {
        try preparer.outputs[target].lend(partition, body)
    }
}
