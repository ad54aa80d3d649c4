internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import Migration
internal import Projections
internal import SchemaEvolution

/// The format of an event line.
public enum EventFormat: String, Sendable, Hashable, CaseIterable {
    case jsonl
    /// CloudEvents 1.0 in its JSON form.
    case cloudevents
}

extension EventStore {
    /// Calls `body` with the lines of all events, each with its line feed, in the order of positions, until it returns false.
    ///
    /// `body` is called on one of the store's threads with about 1 MiB at a time, while other threads prepare the following lines; no
    /// transaction is open while it runs. Where `version` is nil, each event is written at its birth version, which loses nothing.
    ///
    /// Waits while all events are read on the store's own threads.
    /// - Throws: `EvstoreError`: noImage, programNeeded, epochChanged where the log was cut meanwhile, interrupted; or what `body` throws,
    ///   unconverted.
    public func export(
        convertedTo version: SchemaVersion? = nil, from: Position? = nil, format: EventFormat = .jsonl,
        _ body: (_ lines: [UInt8]) throws -> Bool
    ) async throws {
        let evolution = try evolving.current()
        let history = if let version { try self.history(serving: version, evolution.history) } else { evolution.history }
        let first = from.map { max($0, Position(1)) } ?? Position(1)
        if first > evolution.last.position { return }
        let begin = Checkpoint(epoch: evolution.last.epoch, position: first.previous)
        let errors = CallerErrors()
        do {
            try await working("export") { (context) async throws(EvstoreError) in
                let request = ExportRequest(
                    version: version, format: format, begin: begin, through: evolution.last.position, job: context.job)
                try converting(at: path) { try ExportPass(self, history, request).run { text in try errors.noting { try body(text) } } }
            }
        } catch { throw errors.first ?? error }
    }

    /// Writes one event as a line without a line feed. Reads nothing from the store.
    public func line(_ event: RecordedEvent, format: EventFormat = .jsonl) -> [UInt8] {
        var text = ByteBuffer(capacity: 1_024)
        let line = EventLine(
            stream: event.stream, type: event.type, id: event.id, time: event.time, position: event.position, revision: event.revision,
            born: event.born, version: event.version, part: event.part, epoch: event.epoch
        )
        switch format {
        case .jsonl: line.write(payload: event.payload.lent, metadata: event.metadata.lent, into: &text)
        case .cloudevents:
            var writer = CloudEventWriter(source: source)
            writer.write(line, payload: event.payload.lent, metadata: event.metadata.lent, into: &text)
        }
        return text.array()
    }

    /// The `source` of the store's CloudEvents.
    var source: String { "urn:evstore:\(log.storeID)" }
}

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

/// Writes stored events as lines, converted by an event converter. Used by one thread; allocates nothing per event.
final class LineWriter {
    private let converter: EventConverter
    private let version: SchemaVersion?
    private let format: EventFormat
    private var cloudEvents: CloudEventWriter

    init(_ converter: EventConverter, at version: SchemaVersion?, _ format: EventFormat, source: String) {
        (self.converter, self.version, self.format) = (converter, version, format)
        cloudEvents = CloudEventWriter(source: source)
    }

    /// Appends one line with its line feed for each image of a stored event.
    func write(_ record: borrowing RecordView, _ reader: borrowing LogReader, into text: inout ByteBuffer) throws {
        var event = EventLine(
            stream: try converter.stream(of: record, reader), type: "", id: record.id, time: record.time, position: record.position,
            revision: record.revision, born: record.born, version: version ?? record.born, epoch: record.epoch)
        let (id, metadata) = (event.id, record.metadata)
        try converter.view(record, reader) { image in
            (event.type, event.part) = (image.type, image.part)
            if image.part > 0 { event.id = id.ofPart(image.part) }
            switch format {
            case .jsonl: event.write(payload: image.payload, metadata: metadata, into: &text)
            case .cloudevents: cloudEvents.write(event, payload: image.payload, metadata: metadata, into: &text)
            }
            text.append(UInt8(ascii: "\n"))
        }
    }
}
