internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import Migration
internal import Projections
internal import SchemaEvolution

/// How an event line is written.
public enum EventFormat: String, Sendable, Hashable, CaseIterable {
    case jsonl
    /// CloudEvents 1.0 in its JSON form.
    case cloudevents
}

extension EventStore {
    /// Gives each event as one line with its line feed to `body`, in the order of positions, until it returns false.
    ///
    /// At birth where `version` is nil, which loses nothing.
    public func export(
        at version: SchemaVersion? = nil, from: Position? = nil, format: EventFormat = .jsonl, cancellation: Cancellation? = nil,
        _ body: ([UInt8]) throws -> Bool
    ) throws(EvstoreError) {
        let evolution = try evolving.current()
        let history = if let version { try self.history(serving: version, evolution) } else { evolution.history }
        let source = "urn:evstore:\(log.storeID)"
        var text = ByteBuffer(capacity: 1_024)
        try scan(from: from, try Lens(log, history, at: version)) { event in
            if cancellation?.isCancelled == true { throw EvstoreError.interrupted(again: "export again, from position \(event.position)") }
            text.removeAll()
            event.write(as: format, source: source, into: &text)
            text.append(UInt8(ascii: "\n"))
            return try body(text.array())
        }
    }

    /// One event as a line of output, without a line feed.
    public func line(_ event: RecordedEvent, format: EventFormat = .jsonl) -> [UInt8] {
        var text = ByteBuffer(capacity: 1_024)
        event.write(as: format, source: "urn:evstore:\(log.storeID)", into: &text)
        return text.array()
    }
}

extension RecordedEvent {
    func write(as format: EventFormat, source: String, into text: inout ByteBuffer) {
        switch format {
        case .jsonl:
            EventLine(
                stream: stream.text, type: type, id: lineID, time: time, position: position, revision: revision, born: born,
                version: version, part: part, epoch: epoch
            ).write(payload: payload.lent, metadata: metadata.lent, into: &text)
        case .cloudevents: writeCloudEvent(source: source, into: &text)
        }
    }

    /// The event's own id: the line's writer adds the part's number.
    private var lineID: String { part == 0 ? id.text : String(id.text.dropLast(1 + String(part).count)) }

    /// CloudEvents 1.0.2, JSON format: `subject` is the stream, `dataschema` names the version; what else an event line says
    /// is in extension attributes, whose names are lower-case letters.
    private func writeCloudEvent(source: String, into text: inout ByteBuffer) {
        func member(_ name: String, _ value: String) {
            text.append(",\"\(name)\":")
            appendQuoted(Array(value.utf8).lent, into: &text)
        }
        text.append("{\"specversion\":\"1.0\"")
        member("id", id.text)
        member("source", source)
        member("type", type)
        member("subject", stream.text)
        member("time", time.description)
        member("dataschema", "\(source)/v\(version.rawValue)")
        member("datacontenttype", "application/json")
        text.append(",\"data\":")
        text.append(onOneLine: payload.lent)
        if !metadata.isEmpty { member("metadata", String(decoding: metadata, as: UTF8.self)) }
        text.append(",\"position\":\"\(position)\",\"revision\":\"\(revision)\",\"born\":\(born.rawValue)}")
    }
}
