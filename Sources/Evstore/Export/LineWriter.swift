internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import Migration
internal import SchemaEvolution

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
