internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// One export: workers write the lines of the log's chunks, and the caller's thread gives them out in the log's order.
final class ExportPass: Sendable {
    private let store: EventStore
    private let history: History
    private let version: SchemaVersion?
    private let format: EventFormat
    /// What was there when the export began, and after which position it begins.
    private let begin: Checkpoint
    private let through: Position
    private let cancellation: Cancellation?
    private let line: OrderedLine<[UInt8]>
    private let names = SharedStreamNames()

    private static let chunkEvents: UInt64 = 4_096
    /// How much text is given out at once.
    private static let pieceBytes = 1 << 20
    /// How much of it may wait for its turn.
    private static let waitingBytes = 16 << 20

    init(
        _ store: EventStore, _ history: History, at version: SchemaVersion?, _ format: EventFormat, _ begin: Checkpoint,
        through: Position, _ cancellation: Cancellation?
    ) {
        (self.store, self.history, self.version, self.format) = (store, history, version, format)
        (self.begin, self.through, self.cancellation) = (begin, through, cancellation)
        let chunks = (through.rawValue - begin.position.rawValue + Self.chunkEvents - 1) / Self.chunkEvents
        line = OrderedLine(units: Int(chunks), waitingMax: Self.waitingBytes)
    }

    /// Gives the lines to `body` until it returns false.
    func run(_ body: ([UInt8]) throws -> Bool) throws {
        try line.run(
            jobs: store.jobs, make: { [self] in try writer() }, work: { [self] in try write(chunk: $0, $1, $2) }, body)
    }

    private func writer() throws -> LineWriter {
        LineWriter(try EventReader(store, history, at: version, sharing: names), at: version, format, source: store.source)
    }

    /// Writes the lines of a chunk and hands them over in pieces, until nobody wants more.
    private func write(chunk: Int, _ writer: LineWriter, _ handOver: ([UInt8], Int) throws -> Bool) throws {
        var reached = Position(begin.position.rawValue + UInt64(chunk) * Self.chunkEvents)
        let end = min(through, Position(reached.rawValue + Self.chunkEvents))
        var text = ByteBuffer(capacity: Self.pieceBytes + 4_096)
        while reached < end {
            if cancellation?.isCancelled == true { throw EvstoreError.interrupted(again: "export again, from position \(reached.next)") }
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
            // A cut may have taken off what was there when the export began.
            try store.requireValid(Checkpoint(epoch: begin.epoch, position: end))
            guard reached > start else { throw EvstoreError.corruptBlock(position: reached.next, reason: "there is no such event") }
            if try text.count > 0 && !handOver(text.array(), text.count) { return }
            text.removeAll()
        }
    }
}
