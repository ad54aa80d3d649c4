internal import Bytes
internal import EventLog
internal import EventModel
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
