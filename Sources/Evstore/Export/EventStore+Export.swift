internal import Bytes
internal import EventLog
internal import EventModel
internal import Migration
internal import SchemaEvolution

/// How an event line is written.
public enum EventFormat: String, Sendable, Hashable, CaseIterable {
    case jsonl
    /// CloudEvents 1.0 in its JSON form.
    case cloudevents
}

extension EventStore {
    /// Calls `body` with the lines of all events, each with its line feed, in the order of positions, until it returns false.
    ///
    /// `body` is called on the calling thread with about 1 MiB at a time, while other threads write the lines that follow; no transaction
    /// is open while it runs. Where `version` is nil, each event is written at its birth version, which loses nothing.
    ///
    /// Blocks the calling thread for as long as there are events; it waits for the disk alone.
    /// - Throws: `EvstoreError`: noImage, programNeeded, epochChanged where the log was cut meanwhile, interrupted; or what `body` throws,
    ///   as it is.
    public func export(
        at version: SchemaVersion? = nil, from: Position? = nil, format: EventFormat = .jsonl, cancellation: Cancellation? = nil,
        _ body: (_ lines: [UInt8]) throws -> Bool
    ) throws {
        let evolution = try evolving.current()
        let history = if let version { try self.history(serving: version, evolution.history) } else { evolution.history }
        let first = from.map { max($0, Position(1)) } ?? Position(1)
        if first > evolution.last.position { return }
        let begin = Checkpoint(epoch: evolution.last.epoch, position: first.previous)
        let request = ExportRequest(
            version: version, format: format, begin: begin, through: evolution.last.position, cancellation: cancellation)
        let pass = ExportPass(self, history, request)
        let errors = CallerErrors()
        do { try pass.run { text in try errors.noting { try body(text) } } } catch {
            throw errors.first ?? EvstoreError(converting: error, at: path)
        }
    }

    /// One event as a line of output, without a line feed. Reads nothing from the store.
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
