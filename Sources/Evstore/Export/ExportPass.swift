internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// What is exported: the events after `begin` up to `through`.
struct ExportRequest: Sendable {
    /// Nil shows each event at its birth version.
    let version: SchemaVersion?
    let format: EventFormat
    /// After which position the export begins; the epoch is that of the log as it began.
    let begin: Checkpoint
    let through: Position
    let job: Job
}

/// One export: workers write the lines of the log's chunks, and the caller's thread passes them on in the log's order.
final class ExportPass: Sendable {
    private let store: EventStore
    private let history: History
    private let request: ExportRequest
    private let line: OrderedLine<[UInt8]>
    private let names = SharedStreamNames()

    private static let chunkEvents: UInt64 = 4_096
    /// How many bytes of text are passed on at once.
    private static let pieceBytes = 1 << 20
    /// How many bytes may wait for the chunks before them.
    private static let waitingBytes = 16 << 20

    init(_ store: EventStore, _ history: History, _ request: ExportRequest) {
        (self.store, self.history, self.request) = (store, history, request)
        let chunks = (request.through.events(after: request.begin.position) + Self.chunkEvents - 1) / Self.chunkEvents
        line = OrderedLine(units: Int(clamping: chunks), waitingMax: Self.waitingBytes)
    }

    /// Calls `body` with the lines until it returns false.
    func run(_ body: ([UInt8]) throws -> Bool) throws {
        try line.run(
            jobs: store.jobs, make: { [self] in try writer() }, work: { [self] in try write(chunk: $0, $1, $2) }, body)
    }

    private func writer() throws -> LineWriter {
        let converter = try EventConverter(store, history, request.version.map(SeenAt.version) ?? .birth, sharing: names)
        return LineWriter(converter, at: request.version, request.format, source: store.source)
    }

    /// Writes the lines of a chunk and passes them on in pieces, until the export has ended.
    private func write(chunk: Int, _ writer: LineWriter, _ handOver: ([UInt8], Int) throws -> Bool) throws {
        let (begin, through) = (request.begin, request.through)
        var reached = begin.position.plus(UInt64(chunk) * Self.chunkEvents)
        let end = min(through, reached.plus(Self.chunkEvents))
        var text = ByteBuffer(capacity: Self.pieceBytes + 4_096)
        while reached < end {
            if request.job.isCancelled { throw EvstoreError.interrupted(again: "export again, from position \(reached.next)") }
            let start = reached
            try store.log.scan(after: reached, through: end) { block, reader in
                for index in block.indices {
                    let record = block.record(index)
                    try writer.write(record, reader, into: &text)
                    reached = record.position
                    if text.count >= Self.pieceBytes { return false }
                }
                return true
            }
            // A cut may have discarded events that the log had when the export began.
            try store.requireValid(Checkpoint(epoch: begin.epoch, position: end))
            guard reached > start else { throw EvstoreError.corruptBlock(position: reached.next, reason: "there is no such event") }
            if try text.count > 0 && !handOver(text.array(), text.count) { return }
            text.removeAll()
        }
    }
}
