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
    /// transaction is open while it runs. Where `version` is nil, each event is written at its birth version, which loses nothing. With a
    /// query, only the events are written that match it at the version, or each at its birth version.
    ///
    /// Waits while all events are read on the store's own threads.
    /// - Throws: `EvstoreError`: noImage, programNeeded, epochChanged where the log was cut meanwhile, interrupted; or what `body` throws,
    ///   unconverted.
    public func export(
        convertedTo version: SchemaVersion? = nil, from: Position? = nil, matching query: EventQuery? = nil,
        format: EventFormat = .jsonl, _ body: (_ lines: [UInt8]) throws -> Bool
    ) async throws {
        let evolution = try evolving.current()
        let history = if let version { try self.history(serving: version, evolution.history) } else { evolution.history }
        let first = from.map { max($0, Position(1)) } ?? Position(1)
        if first > evolution.last.position { return }
        let begin = Checkpoint(epoch: evolution.last.epoch, position: first.previous)
        let errors = CallerErrors()
        do {
            try await working("export") { (context) async throws(EvstoreError) in
                let pass = ExportPass(
                    store: self, history: history, version: version, query: query, format: format, begin: begin,
                    through: evolution.last.position,
                    job: context.job)
                try converting(at: path) { try pass.run { text in try errors.noting { try body(text) } } }
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

/// One export: workers write the lines of the log's chunks, and the calling thread passes them on in the order of the log. It covers the
/// events after `begin` up to `through`.
struct ExportPass: Sendable {
    let store: EventStore
    let history: History
    /// Nil shows each event at its birth version.
    let version: SchemaVersion?
    let query: EventQuery?
    let format: EventFormat
    /// The position after which the export begins, with the epoch of the log at its start.
    let begin: Checkpoint
    let through: Position
    let job: Job
    private let names = SharedStreamNames()

    private static let chunkEvents: UInt64 = 4_096
    /// The size of the text that is passed on at once.
    private static let pieceBytes = 1 << 20
    /// The size of the text that may wait for earlier chunks.
    private static let waitingBytes = 16 << 20

    func run(_ body: ([UInt8]) throws -> Bool) throws {
        let chunks = (through.events(after: begin.position) + Self.chunkEvents - 1) / Self.chunkEvents
        let line = OrderedPipeline<[UInt8]>(units: Int(clamping: chunks), waitingMax: Self.waitingBytes)
        try line.run(jobs: store.jobs, make: { try writer() }, work: { try write(chunk: $0, $1, $2) }, body)
    }

    private func writer() throws -> LineWriter {
        let converter = try EventConverter(store, history, at: version, matching: query, sharing: names)
        return LineWriter(converter, at: version, format, source: store.source)
    }

    /// Writes the lines of a chunk and passes them on in pieces, until the chunk or the export ends.
    private func write(chunk: Int, _ writer: LineWriter, _ handOver: ([UInt8], Int) throws -> Bool) throws {
        var reached = begin.position.plus(UInt64(chunk) * Self.chunkEvents)
        let end = min(through, reached.plus(Self.chunkEvents))
        var text = ByteBuffer(capacity: Self.pieceBytes + 4_096)
        while reached < end {
            if job.isCancelled { throw EvstoreError.interrupted(again: "export again, from position \(reached.next)") }
            let start = reached
            var failure: (any Error)?
            try store.log.scan(after: reached, through: end) { block, reader in
                for index in block.indices {
                    let record = block.record(index)
                    let before = text.count
                    do { try writer.write(record, reader, into: &text) } catch {
                        text.truncate(to: before)
                        if try writer.isLeftOut(error, record, reader) {
                            reached = record.position
                            continue
                        }
                        failure = error
                        return false
                    }
                    reached = record.position
                    if text.count >= Self.pieceBytes { return false }
                }
                return true
            }
            // A cut may have discarded events that the log had when the export began.
            try store.requireValid(Checkpoint(epoch: begin.epoch, position: end))
            guard reached > start || failure != nil else {
                throw EvstoreError.corruptBlock(position: reached.next, reason: "there is no such event")
            }
            if try text.count > 0 && !handOver(text.array(), text.count) { return }
            // Order: the lines before an event that can't be shown are handed over first.
            if let failure { throw failure }
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

    func isLeftOut(_ error: any Error, _ record: borrowing RecordView, _ reader: borrowing LogReader) throws -> Bool {
        try converter.isLeftOut(error, record, reader)
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

/// Writes events as CloudEvents 1.0.2 in the JSON format. Used by one thread; after its first events it allocates only for metadata.
///
/// `subject` is the stream, and `dataschema` names the store and the version; the other members of an event line are extension attributes.
/// An event that was imported as a CloudEvent keeps its `source`, `id` and extension attributes; attributes that an event has no place for
/// stay in its metadata.
struct CloudEventWriter: ~Copyable {
    private let source: String
    private var metadata = JSONEditor()
    private var text = ByteBuffer(capacity: 256)

    init(source: String) { self.source = source }

    mutating func write(_ line: EventLine, payload: RawSpan, metadata: RawSpan, into output: inout ByteBuffer) {
        let envelope = load(metadata)
        let identity = envelope.flatMap { takeIdentity(of: line, from: $0) }
        output.append("{\"specversion\":\"1.0\",\"id\":")
        if let identity { appendQuoted(identity.id, into: &output) } else { output.append(quoted: line.id) }
        output.append(",\"source\":")
        appendQuoted(identity?.source ?? source, into: &output)
        output.append(",\"type\":")
        appendQuoted(line.type, into: &output)
        output.append(",\"subject\":")
        appendQuoted(line.stream.text, into: &output)
        output.append(",\"time\":\"")
        line.time.append(to: &output)
        output.append("\",\"dataschema\":\"")
        output.append(source)
        output.append("/v")
        output.append(digits: UInt64(line.version.rawValue))
        output.append("\",\"datacontenttype\":\"\(CloudEvent.contentType)\",\"data\":")
        output.append(onOneLine: payload)
        if let envelope { writeExtensions(from: envelope, into: &output) }
        writeMetadata(metadata, isLoaded: envelope != nil, into: &output)
        output.append(",\"position\":\"")
        output.append(digits: line.position.rawValue)
        output.append("\",\"revision\":\"")
        output.append(digits: line.revision.rawValue)
        output.append("\",\"born\":")
        output.append(digits: UInt64(line.born.rawValue))
        output.append("}")
    }

    /// The CloudEvents envelope in an event's metadata; nil where it has none.
    private mutating func load(_ metadata: RawSpan) -> JSONEditor.Node? {
        if metadata.byteCount == 0 { return nil }
        do { try self.metadata.load(metadata) } catch { return nil }
        guard let node = self.metadata.member(CloudEvent.envelope, of: self.metadata.root), self.metadata.kind(node) == .object else {
            return nil
        }
        return node
    }

    /// The source and id that the event was imported with, where an import derives the event's own id from what is written of them. It
    /// derives that of a part only where source and id are short.
    private mutating func takeIdentity(of line: EventLine, from envelope: JSONEditor.Node) -> (source: String, id: String)? {
        guard let sourceNode = metadata.member(CloudEvent.source, of: envelope), let source = metadata.string(sourceNode),
            let idNode = metadata.member(CloudEvent.id, of: envelope), let whole = metadata.string(idNode)
        else { return nil }
        let id = line.part > 0 ? "\(whole)#\(line.part)" : whole
        guard line.id == EventID(ofCloudEvent: id, from: source) else { return nil }
        metadata.detach(sourceNode)
        metadata.detach(idNode)
        return (source, id)
    }

    private mutating func writeExtensions(from envelope: JSONEditor.Node, into output: inout ByteBuffer) {
        var child = metadata.firstChild(of: envelope)
        while let node = child {
            child = metadata.next(after: node)
            if !isExtension(node) { continue }
            output.append(",\"\(metadata.name(of: node))\":")
            output.append(onOneLine: metadata.text(of: node))
            metadata.detach(node)
        }
        if metadata.isEmpty(envelope) { metadata.detach(envelope) }
    }

    /// Whether a member of the envelope can be an attribute: its name and value are allowed by the format, and no export writes that name.
    private func isExtension(_ node: JSONEditor.Node) -> Bool {
        switch metadata.kind(node) {
        case .true, .false: break
        // An Integer has 32 bits, and neither a fraction nor an exponent.
        case .number: if String(utf8: metadata.text(of: node)).flatMap({ Int32($0) }) == nil { return false }
        case .string: if metadata.string(node)?.unicodeScalars.allSatisfy(Self.allows) != true { return false }
        default: return false
        }
        let name = metadata.name(of: node).utf8
        return !name.isEmpty && name.allSatisfy { (97 ... 122).contains($0) || (48 ... 57).contains($0) }
            && !CloudEvent.reserved.contains { metadata.hasName(node, $0) }
    }

    /// Whether a String may have this character: neither a control character nor one that Unicode calls a noncharacter.
    private static func allows(_ character: Unicode.Scalar) -> Bool {
        character.value >= 0x20 && !(0x7f ... 0x9f).contains(character.value) && !character.properties.isNoncharacterCodePoint
    }

    /// Writes the rest of the metadata as the text of a JSON object.
    private mutating func writeMetadata(_ whole: RawSpan, isLoaded: Bool, into output: inout ByteBuffer) {
        if whole.byteCount == 0 || isLoaded && metadata.isEmpty(metadata.root) { return }
        output.append(",\"metadata\":")
        guard isLoaded else { return appendQuoted(whole, into: &output) }
        text.removeAll()
        metadata.write(metadata.root, into: &text)
        appendQuoted(text.bytes, into: &output)
    }
}
