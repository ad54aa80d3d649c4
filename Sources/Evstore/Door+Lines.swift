internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// The door for events that lie in a text: nothing is made of them before they are to be appended.
extension Door {
    /// What there is to check of a line's event; nil where it is none that is stored as it came.
    func entry(for line: LineFields, _ text: RawSpan) throws(EvstoreError) -> Entry? {
        let birth = line.version ?? rules.version
        guard birth.rawValue > 0, birth <= stamp.top, birth >= stamp.floor || rules.takesOld, !rules.enforcesStream else { return nil }
        let name = text.slice(line.type)
        if let last = lastEntry, last.birth == birth, name.equals(utf8: last.type) { return last.shadowed.isEmpty ? last : nil }
        guard let type = String(utf8: name), type.utf8.count <= options.typeNameBytesMax else { return nil }
        let entry = try entry(type, birth)
        lastEntry = entry
        return entry.shadowed.isEmpty ? entry : nil
    }

    /// Checks a line's event.
    func check(_ line: LineFields, _ entry: Entry, _ text: RawSpan, time: Timestamp) throws(EvstoreError) {
        let bytes = line.payload.count + line.metadata.count
        if bytes > options.eventBytesMax { throw .eventTooLarge(bytes: bytes, limit: options.eventBytesMax) }
        let payload = text.slice(line.payload)
        if let shape = entry.shape {
            do { try shape.validate(payload) } catch {
                throw .invalidEvent(type: entry.type, version: entry.birth, pointer: error.pointer, reason: error.reason)
            }
        }
        if entry.targets.isEmpty { return }
        let stream = StreamName(unchecked: String(utf8: text.slice(line.stream)) ?? "")
        do {
            for (target, path) in entry.targets {
                if rekeys { _ = try history.streamName(stream, from: entry.birth, to: target) }
                try viewer.run(
                    path, payload: payload, time: line.time ?? time, stream: stream.text, metadata: text.slice(line.metadata),
                    validating: true
                ) { _ in }
            }
        } catch { throw EvstoreError(converting: error) }
    }

    /// Whether a line's stream is the one that its type's template names; true where there is no template.
    func isInItsStream(_ line: LineFields, _ entry: Entry, _ text: RawSpan) -> Bool {
        guard let template = entry.shape?.stream else { return true }
        return template.names(text.slice(line.stream), for: text.slice(line.payload), using: &streamName)
    }

    /// The event to store.
    func stored(_ line: LineFields, _ entry: Entry, _ text: RawSpan, time: Timestamp) throws(EvstoreError) -> StoredEvent {
        var event = StoredEvent(
            stream: StreamName(unchecked: String(utf8: text.slice(line.stream)) ?? ""), type: entry.type, born: entry.birth,
            payload: [UInt8](copying: text.slice(line.payload)), time: line.time ?? time)
        if !line.metadata.isEmpty { event.metadata = [UInt8](copying: text.slice(line.metadata)) }
        if let id = line.id { event.id = try EventID(String(utf8: text.slice(id)) ?? "") }
        return event
    }
}

extension StreamTemplate {
    fileprivate func names(_ stream: RawSpan, for payload: RawSpan, using name: inout ByteBuffer) -> Bool {
        name.removeAll()
        do { try appendName(for: payload, to: &name) } catch { return false }
        return name.bytes.equals(stream)
    }
}

extension RawSpan {
    @_lifetime(copy self)
    fileprivate func slice(_ range: Range<Int>) -> RawSpan { slice(range.lowerBound, range.count) }
}
