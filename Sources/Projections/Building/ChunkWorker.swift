internal import Bytes
internal import EventLog
internal import EventModel

/// Prepares chunks of the log, one after another.
final class ChunkWorker: @unchecked Sendable {
    // Sound to share: each worker belongs to one thread.
    private let log: EventLog
    let preparer: EventPreparer
    private let types: Set<Name>
    private let form: LogScan.Form
    private var through = Position.start
    /// The position up to which the chunk was prepared.
    private(set) var reached = Position.start

    init(_ log: EventLog, _ preparer: EventPreparer, _ census: [CensusRow]) throws {
        (self.log, self.preparer) = (log, preparer)
        let wanted = try census.filter { try preparer.isOfInterest($0.type, born: $0.born) }
        types = Set(of: wanted.map(\.type))
        guard log.access.keys != nil else {
            form = .opened
            return
        }
        let closed = try wanted.filter { try preparer.ignoresPersons($0.type, born: $0.born) }
        form = .openedExceptPersons(of: closed.map { EventKind(type: $0.type, born: $0.born) })
    }

    /// Whether the buffer was full before the whole chunk was prepared.
    var hasMore: Bool { reached < through }

    var rejections: [(target: Int, rejection: Rejection)] {
        preparer.targets.flatMap { index in preparer.outputs[index].rejections.map { (index, $0) } }
    }

    func begin(after: Position, through: Position) { (reached, self.through) = (after, through) }

    /// Prepares the chunk from `reached` on.
    /// - Parameter bytesMax: stops after the block with which the operations reach this size.
    func prepare(bytesMax: Int, partitions: Int) throws {
        preparer.removeAll()
        let after = reached
        reached = through
        defer { for target in preparer.targets { preparer.outputs[target].distribute(among: partitions) } }
        if types.isEmpty { return }
        try log.scan(after: after, through: through, types: types, form: form) { block, reader in
            try preparer.prepare(block, reader)
            if preparer.bytes < bytesMax { return true }
            reached = min(block.last, through)
            return false
        }
    }
}
