internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// The parameters of an export: it covers the events after `begin` up to `through`.
struct ExportRequest: Sendable {
    /// Nil shows each event at its birth version.
    let version: SchemaVersion?
    let format: EventFormat
    /// The position after which the export begins, with the epoch of the log at its start.
    let begin: Checkpoint
    let through: Position
    let job: Job
}

/// One export: workers write the lines of the log's chunks, and the calling thread passes them on in the order of the log.
final class ExportPass: Sendable {
    private let store: EventStore
    private let history: History
    private let request: ExportRequest
    private let line: OrderedPipeline<[UInt8]>
    private let names = SharedStreamNames()

    private static let chunkEvents: UInt64 = 4_096
    /// The size of the text that is passed on at once.
    private static let pieceBytes = 1 << 20
    /// The size of the text that may wait for earlier chunks.
    private static let waitingBytes = 16 << 20

    init(_ store: EventStore, _ history: History, _ request: ExportRequest) {
        (self.store, self.history, self.request) = (store, history, request)
        let chunks = (request.through.events(after: request.begin.position) + Self.chunkEvents - 1) / Self.chunkEvents
        line = OrderedPipeline(units: Int(clamping: chunks), waitingMax: Self.waitingBytes)
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

    /// Writes the lines of a chunk and passes them on in pieces, until the chunk or the export ends.
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
