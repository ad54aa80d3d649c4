internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import Projections
internal import SchemaEvolution

/// The append that begins at a position, prepared for a comparison with one that repeats its id.
struct StoredAppend {
    let position: Position
    /// The version at which an event is compared that names no birth version.
    let version: SchemaVersion
    let history: History
    /// Whether only the event at the position is compared, whatever was appended with it.
    var isAlone = false
}

extension EventStore {
    /// The receipt of the append that these events repeat; nil where the first event's id is not in the store.
    /// - Throws: `EvstoreError.idReused` where the stored events differ.
    func repeated(_ events: [NewEvent], _ sameID: SameID) throws(EvstoreError) -> AppendReceipt? {
        guard let id = events.first?.id else { return nil }
        return try log.reading { reader in
            guard let position = try reader.position(of: id) else { return nil }
            return try receipt(of: stored(at: position, reader), for: events, sameID, reader)
        }
    }

    /// The receipt of the append that these events repeat under ids that no index holds: those that the store generated, and those of the
    /// parts into which a step splits an event. A caller who has such an id has seen its event, so the event is found before anything is
    /// appended.
    ///
    /// A single event is compared with the one that has the id, whatever was appended with that one.
    /// - Throws: `EvstoreError.idReused`, also where the id belongs to an event that is not the first.
    func repeatedGenerated(_ events: [NewEvent], _ sameID: SameID) throws(EvstoreError) -> AppendReceipt? {
        guard events.contains(where: { $0.id.map(GeneratedIDs.mayHave) ?? false }) else { return nil }
        return try log.reading { reader in
            // The append is compared as a whole by the first id that an index has.
            if let first = events.first?.id, try reader.position(of: first) != nil { return nil }
            var made = GeneratedIDs()
            for (index, event) in events.enumerated() {
                guard let id = event.id, try reader.position(of: id) == nil, let position = try made.position(of: id, reader) else {
                    continue
                }
                var stored = try stored(at: position, reader)
                stored.isAlone = events.count == 1 || index > 0
                guard let receipt = try receipt(of: stored, for: index == 0 ? events : [event], sameID, reader) else { continue }
                guard index == 0 else { throw EvstoreError.idReused(id: id, position: position) }
                return receipt
            }
            return nil
        }
    }

    /// Returns the receipt of the append whose first event has an id that a caller gave; nil where it is not in the store. For a command
    /// that must run once: check before anything is decided. The receipt covers the events behind that one which have no ids of their own.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func receipt(ofAppend id: EventID) throws(EvstoreError) -> AppendReceipt? {
        try log.reading { reader in
            guard let position = try reader.position(of: id) else { return nil }
            let stored = try stored(at: position, reader)
            return try appended(stored, at: stored.version, count: 1, reader).receipt
        }
    }

    /// The append that begins at a position, for a comparison at the version that this handle works at.
    private func stored(at position: Position, _ reader: borrowing LogReader) throws -> StoredAppend {
        let version = programVersion ?? reader.stamp.live
        return StoredAppend(position: position, version: version, history: try history(serving: version, evolving.history(reader)))
    }

    /// The receipt of an append that these events repeat; nil where they have the id of a part that the stored event has not at their
    /// version. Each event is compared as it is seen at the version of the request.
    /// - Throws: `EvstoreError.idReused` where the append differs.
    func receipt(
        of stored: StoredAppend, for events: [NewEvent], _ sameID: SameID, _ reader: borrowing LogReader
    ) throws -> AppendReceipt? {
        guard let (receipt, isSame) = try compare(stored, with: events, reader) else { return nil }
        guard isSame || sameID == .keepFirst else { throw EvstoreError.idReused(id: receipt.id, position: stored.position) }
        return receipt
    }

    /// The receipt of an append, and whether the events have the same content; nil as for `receipt(of:for:_:_:)`. Each is compared as it is
    /// seen at the version of the request. Where a step splits a stored event, the request may have all parts or the first ones, or, by its
    /// id, begin with a later one.
    func compare(
        _ stored: StoredAppend, with events: [NewEvent], _ reader: borrowing LogReader
    ) throws -> (receipt: AppendReceipt, isSame: Bool)? {
        let asked = events.first?.version ?? stored.version
        let count = events.count { $0.id?.whole == nil }
        var (receipt, seen) = try appended(stored, at: asked, count: count, reader)
        if let id = events.first?.id, id.whole != nil, id != receipt.id {
            seen = Array(seen.drop { $0.event.id != id }.prefix(events.count))
            if seen.isEmpty { return nil }
            receipt.id = id
        } else if seen.count != events.count {
            seen.removeAll { !$0.isFirst }
        }
        let isSame =
            try seen.count == events.count
            && zip(seen, events).allSatisfy {
                try $0.event.matches($1, redactedBy: $0.isForgotten ? stored.history.shape(of: $1.type, at: asked) : nil)
            }
        return (receipt, isSame)
    }

    /// A stored event as seen at a version.
    private struct Seen {
        var event: RecordedEvent
        var isForgotten: Bool
        /// Whether it is no later part of an event that a step splits.
        var isFirst: Bool
    }

    /// The append that begins at a position: its receipt, and its events as seen at a version. An event with an id of its own belongs to
    /// the append only while fewer than `count` events of the log were found.
    private func appended(
        _ stored: StoredAppend, at version: SchemaVersion, count: Int, _ reader: borrowing LogReader
    ) throws -> (receipt: AppendReceipt, events: [Seen]) {
        let position = stored.position
        let converter = try EventConverter(self, stored.history, .version(version))
        var events: [Seen] = []
        var receipt: AppendReceipt?
        var next = position
        while stored.isAlone ? next == position : true {
            let belongs =
                try reader.record(at: next) { record in
                    guard next == position || record.continuesAppend && (!record.idGiven || next.events(after: position) < UInt64(count))
                    else { return false }
                    let name = try converter.stream(of: record, reader)
                    receipt = AppendReceipt(
                        positions: position.through(next), stream: name, revision: record.revision,
                        id: receipt?.id ?? record.id, epoch: record.epoch, duplicate: true)
                    // An event without an image at the version of the request differs from the request's event.
                    var seen: [RecordedEvent] = []
                    do { try converter.read(record, reader, into: &seen) } catch EvstoreError.noImage {}
                    let (id, isForgotten) = (record.id, record.isForgotten)
                    events += seen.map { Seen(event: $0, isForgotten: isForgotten, isFirst: $0.id == id) }
                    return true
                } ?? false
            if !belongs { break }
            next = next.next
        }
        guard let receipt else { throw EvstoreError.corruptBlock(position: position, reason: "an id leads to no event") }
        return (receipt, events)
    }
}

extension RecordedEvent {
    /// Whether a request has the same type, stream and payload, however its JSON is written.
    /// - Parameter persons: the shape of an event whose personal data was forgotten: only the rest of the payload is compared.
    fileprivate func matches(_ event: NewEvent, redactedBy persons: EventShape?) throws -> Bool {
        guard type.isSame(as: event.type), stream == event.stream else { return false }
        return try Self.isSame(payload, event.payload, redactedBy: persons)
    }

    /// Whether two payloads have the same content, however their JSON is written. Without the personal data where `persons` is given.
    static func isSame(_ payload: [UInt8], _ other: [UInt8], redactedBy persons: EventShape?) throws -> Bool {
        if payload == other { return true }
        let (payload, other) = try (redacted(of: payload, persons), redacted(of: other, persons))
        return try Canonical.bytes(of: payload.lent) == Canonical.bytes(of: other.lent)
    }

    private static func redacted(of payload: [UInt8], _ persons: EventShape?) throws -> [UInt8] {
        guard let persons = persons.flatMap({ PersonalMembers($0) }) else { return payload }
        _ = try JSONScanner.validate(payload.lent, limits: .none)
        var rest = ByteBuffer()
        _ = persons.leaveOut(of: payload.lent, by: .emptiest, into: &rest)
        return rest.array()
    }
}
