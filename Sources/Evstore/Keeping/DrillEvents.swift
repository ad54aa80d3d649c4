internal import Bytes
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
    private let seed: UInt64

    /// - Parameter changed: changes some of their values; else they are the same once more.
    init(_ store: EventStore, at version: SchemaVersion, changed isChanged: Bool, seed: UInt64) {
        (self.store, self.version, self.isChanged, self.seed) = (store, version, isChanged, seed)
    }

    /// One for each of up to 2,000 events that lie evenly over the log, as far as one can be made.
    func make() throws(EvstoreError) -> [NewEvent] {
        let history = try store.evolving.history
        var generator = EventGenerator(history, seed: seed)
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
            for event in seen { if let event = isChanged ? changed(event, &generator) : again(event, history) { made.append(event) } }
        }
        return made
    }

    /// What has no image at the version is nothing to change.
    private func see(_ record: borrowing RecordView, _ lens: Lens, _ events: inout [RecordedEvent]) throws {
        do { try lens.see(record, &events) } catch EvstoreError.noImage { return }
    }

    /// In the stream that the version's program would write it to: where streams were merged since, it lies in another one.
    private func again(_ event: RecordedEvent, _ history: History) -> NewEvent? {
        let name: String?
        do { name = try history.shape(of: event.type, at: version)?.stream?.name(for: event.payload.lent) } catch { return nil }
        return made(event, in: name ?? event.stream.text, event.payload)
    }

    private func made(_ event: RecordedEvent, in stream: String, _ payload: [UInt8]) -> NewEvent? {
        do {
            return NewEvent(
                stream: try StreamName(stream), type: event.type, payload: payload,
                metadata: event.metadata.isEmpty ? nil : event.metadata, version: version)
        } catch { return nil }
    }

    private func changed(_ event: RecordedEvent, _ generator: inout EventGenerator) -> NewEvent? {
        let like = LawEvent(
            origin: .log, stream: event.stream.text, type: event.type, born: version, time: event.time, payload: event.payload,
            metadata: event.metadata)
        return generator.mutation(of: like).flatMap { made(event, in: $0.stream, $0.payload) }
    }
}

extension EventStore {
    /// Appends an event that was made up; false where the door refuses it, as it may.
    func takes(_ event: NewEvent) async throws(EvstoreError) -> Bool {
        do {
            _ = try await append([event])
            return true
        } catch {
            switch error {
            case .noImage, .invalidEvent, .invalidStreamName, .streamMismatch: return false
            default: throw error
            }
        }
    }
}
