internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import Migration
internal import SchemaEvolution

/// Writes stored events as lines, as an event reader shows them. Used by one thread; allocates nothing for an event.
final class LineWriter {
    private let eventReader: EventReader
    private let version: SchemaVersion?
    private let format: EventFormat
    private let source: String

    init(_ eventReader: EventReader, at version: SchemaVersion?, _ format: EventFormat, source: String) {
        (self.eventReader, self.version, self.format, self.source) = (eventReader, version, format, source)
    }

    /// Appends a line, with its line feed, for each event that a stored one is seen as.
    func write(_ record: borrowing RecordView, _ reader: borrowing LogReader, into text: inout ByteBuffer) throws {
        var event = EventLine(
            stream: try eventReader.stream(of: record, reader), type: "", id: record.id, time: record.time, position: record.position,
            revision: record.revision, born: record.born, version: version ?? record.born, epoch: record.epoch)
        let (id, metadata) = (event.id, record.metadata)
        try eventReader.view(record, reader) { image in
            (event.type, event.part) = (image.type, image.part)
            if image.part > 0 { event.id = id.ofPart(image.part) }
            event.write(as: format, source: source, payload: image.payload, metadata: metadata, into: &text)
            text.append(UInt8(ascii: "\n"))
        }
    }
}

extension EventLine {
    /// Writes the line without a line feed.
    func write(as format: EventFormat, source: String, payload: RawSpan, metadata: RawSpan, into text: inout ByteBuffer) {
        switch format {
        case .jsonl: write(payload: payload, metadata: metadata, into: &text)
        case .cloudevents: writeCloudEvent(source: source, payload: payload, metadata: metadata, into: &text)
        }
    }

    /// CloudEvents 1.0.2, JSON format: `subject` is the stream, `dataschema` names the version; what else an event line says
    /// is in extension attributes, whose names are lower-case letters.
    private func writeCloudEvent(source: String, payload: RawSpan, metadata: RawSpan, into text: inout ByteBuffer) {
        text.append("{\"specversion\":\"1.0\",\"id\":")
        text.append(quoted: id)
        text.append(",\"source\":")
        appendQuoted(source, into: &text)
        text.append(",\"type\":")
        appendQuoted(type, into: &text)
        text.append(",\"subject\":")
        appendQuoted(stream.text, into: &text)
        text.append(",\"time\":\"")
        time.append(to: &text)
        text.append("\",\"dataschema\":\"")
        text.append(source)
        text.append("/v")
        text.append(digits: UInt64(version.rawValue))
        text.append("\",\"datacontenttype\":\"application/json\",\"data\":")
        text.append(onOneLine: payload)
        if metadata.byteCount > 0 {
            text.append(",\"metadata\":")
            appendQuoted(metadata, into: &text)
        }
        text.append(",\"position\":\"")
        text.append(digits: position.rawValue)
        text.append("\",\"revision\":\"")
        text.append(digits: revision.rawValue)
        text.append("\",\"born\":")
        text.append(digits: UInt64(born.rawValue))
        text.append("}")
    }
}
