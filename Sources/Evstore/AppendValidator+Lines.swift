internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Validates events that lie in a text: no event value is created before the event is to be appended.
extension AppendValidator {
    /// The checks for the event of a line; nil where the store keeps more of such an event than the line says (shadows), and where the
    /// event is refused for its version or its size.
    func entry(for line: LineFields, _ text: RawSpan) throws(EvstoreError) -> Entry? {
        let birth = line.version ?? rules.version
        guard birth.rawValue > 0, allows(birth), options.allowsEvent(payloadBytes: line.payload.count, metadataBytes: line.metadata.count)
        else { return nil }
        let name = text.slice(line.type)
        if let last = lastEntry, last.birth == birth, name.equals(utf8: last.type) { return last.shadowed.isEmpty ? last : nil }
        guard let type = String(utf8: name), type.utf8.count <= options.typeNameBytesMax else { return nil }
        let entry = try entry(type, birth)
        return entry.shadowed.isEmpty ? entry : nil
    }

    /// Checks the event of a line that is valid JSON. Returns whether its stream is the one that its type's template names.
    func check(_ line: LineFields, _ entry: Entry, _ text: borrowing ByteBuffer, time: Timestamp) throws(EvstoreError) -> Bool {
        let payload = text.slice(line.payload.lowerBound, line.payload.count)
        let stream = text.slice(line.stream.lowerBound, line.stream.count)
        let isPlain = entry.plain?.accepts(validIn: text, line.payload, &scratch) ?? false
        if !isPlain, let shape = entry.shape { try shape.check(payload, type: entry.type, at: entry.birth) }
        var isInItsStream = true
        if let template = entry.shape?.stream {
            isInItsStream = template.names(stream, for: payload, using: &streamName)
            if !isInItsStream, rules.enforcesStream {
                throw streamMismatch(given: String(utf8: stream) ?? "", payload, template, entry.type, at: entry.birth)
            }
        }
        if entry.targets.isEmpty { return isInItsStream }
        try checkImages(
            entry, payload: payload, stream: StreamName(unchecked: String(utf8: stream) ?? ""),
            metadata: text.slice(line.metadata.lowerBound, line.metadata.count), time: line.time ?? time)
        return isInItsStream
    }

    /// Creates the event to store.
    func stored(_ line: LineFields, _ entry: Entry, _ text: RawSpan, time: Timestamp) throws(EvstoreError) -> StoredEvent {
        var event = StoredEvent(
            stream: StreamName(unchecked: String(utf8: text.slice(line.stream)) ?? ""), type: entry.type, born: entry.birth,
            payload: [UInt8](copying: text.slice(line.payload)), time: line.time ?? time)
        if !line.metadata.isEmpty { event.metadata = [UInt8](copying: text.slice(line.metadata)) }
        if let id = line.id { event.id = try EventID(String(utf8: text.slice(id)) ?? "") }
        try addRest(to: &event, entry)
        return event
    }
}

extension StreamTemplate {
    /// Whether it names a stream for a valid payload.
    /// - Parameter name: a buffer that the call overwrites.
    func names(_ stream: RawSpan, for payload: RawSpan, using name: inout ByteBuffer) -> Bool {
        name.removeAll()
        do { try appendName(for: payload, to: &name) } catch { return false }
        return name.bytes.equals(stream)
    }

    func names(_ stream: StreamName, for payload: RawSpan, using name: inout ByteBuffer) -> Bool {
        name.removeAll()
        do { try appendName(for: payload, to: &name) } catch { return false }
        return name.bytes.equals(utf8: stream.text)
    }
}

extension RawSpan {
    @_lifetime(copy self)
    fileprivate func slice(_ range: Range<Int>) -> RawSpan { slice(range.lowerBound, range.count) }
}
