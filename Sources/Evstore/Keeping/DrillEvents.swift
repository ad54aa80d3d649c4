internal import EventLog
internal import EventModel
internal import SchemaEvolution

/// Events born at a version, made of events of a store.
struct DrillEvents {
    private static let eventsMax: UInt64 = 2_000
    /// How many are looked at in one read transaction.
    private static let atOnce: UInt64 = 100
    private let store: EventStore
    private let version: SchemaVersion
    private let isChanged: Bool

    /// - Parameter changed: changes some of their values; else they are the same once more.
    init(_ store: EventStore, at version: SchemaVersion, changed isChanged: Bool) {
        (self.store, self.version, self.isChanged) = (store, version, isChanged)
    }

    /// One for each of up to 2,000 events that lie evenly over the log, as far as one can be made.
    func make() throws(EvstoreError) -> [NewEvent] {
        let history = try store.evolving.history
        var generator = EventGenerator(history, seed: .random(in: 0 ... UInt64(UInt32.max)))
        let lens = try Lens(store.log, history, at: version)
        let last = try store.last().position.rawValue
        let distance = (last + Self.eventsMax - 1) / Self.eventsMax
        var made: [NewEvent] = []
        for start in stride(from: 1, through: last, by: Int(distance * Self.atOnce)) {
            var seen: [RecordedEvent] = []
            try converting(at: store.path) {
                try store.log.read { reader in
                    for position in stride(from: start, through: last, by: Int(distance)).prefix(Int(Self.atOnce)) {
                        _ = try reader.record(at: Position(position)) { record in try see(record, lens, &seen) }
                    }
                }
            }
            for event in seen { if let event = isChanged ? changed(event, &generator) : again(event) { made.append(event) } }
        }
        return made
    }

    /// What has no image at the version is nothing to change.
    private func see(_ record: borrowing RecordView, _ lens: Lens, _ events: inout [RecordedEvent]) throws {
        do { try lens.see(record, &events) } catch EvstoreError.noImage { return }
    }

    private func again(_ event: RecordedEvent) -> NewEvent? {
        NewEvent(
            stream: event.stream, type: event.type, payload: event.payload, metadata: event.metadata.isEmpty ? nil : event.metadata,
            version: version)
    }

    private func changed(_ event: RecordedEvent, _ generator: inout EventGenerator) -> NewEvent? {
        let like = LawEvent(
            origin: .log, stream: event.stream.text, type: event.type, born: version, time: event.time, payload: event.payload,
            metadata: event.metadata)
        guard let made = generator.mutation(of: like) else { return nil }
        do {
            return NewEvent(
                stream: try StreamName(made.stream), type: made.type, payload: made.payload,
                metadata: made.metadata.isEmpty ? nil : made.metadata, version: version)
        } catch { return nil }
    }
}
