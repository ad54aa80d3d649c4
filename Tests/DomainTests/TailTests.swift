import EventModel
import Evstore
import EvstoreTesting
import JSONText
import SchemaEvolution
import Testing

private let seed = UInt64.random(in: 0 ... UInt64(UInt32.max))

/// Rollbacks over tails of events born at the newest versions: fixtures, and made ones with the values at which steps go
/// wrong. What a domain's own steps do not do, split an event, make a list, hide a part, a version after its newest does.
@Suite("Rolling a domain back over a tail")
struct TailTests {
    @Test(
        "of split events, lists and hidden parts: older read models are those of a replay from scratch, and forward again nothing differs",
        arguments: ["packages", "vault", "settings", "saves", "cycles", "reminders"])
    func tails(_ name: String) async throws {
        // given
        let domain = Domain(name: name)
        let next = try NextVersion.of(name)
        let files = try next.files(of: domain)
        let history = try History.load(directory: files.path)
        let (schemas, head) = (try files.load(), history.head.number)
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1))
        let store = temporary.store
        try await domain.load(1, into: temporary)
        // Events that a read model can't take are set aside, by the one way and by the other.
        let options = MigrationOptions(onError: .quarantine, yes: true)
        for version in 2 ..< head + 1 { _ = try await store.migrate(to: SchemaVersion(version), options: options) }
        // when
        let tail = try #require(store.all().last).position
        for version in 2 ..< head { try await domain.load(version, into: temporary) }
        for version in [head - 1, head] { try await append(next, history, at: SchemaVersion(version), to: store) }
        // then
        try holdsAll(next, store, after: tail, at: head)
        let events = try store.all(at: head).map(\.json)
        for version in [head - 1, head - 2, 1] { try await store.rollBackAndCompare(to: version, onError: .quarantine) }
        _ = try await store.migrate(to: SchemaVersion(head), options: options)
        #expect(try store.all(at: head).map(\.json) == events, "seed \(seed)")
        #expect(try await store.freshDigests(at: head, onError: .quarantine) == store.digests(at: head), "seed \(seed)")
    }

    /// Whether the tail has what this is about: an event that was split, a list of several, and a part that stands alone
    /// and that the version below does not see.
    private func holdsAll(_ next: NextVersion, _ store: EventStore, after tail: Position, at head: Int) throws {
        let events = try store.all(at: head).filter { $0.position > tail }
        #expect(events.contains { $0.type == next.part && $0.part > 0 && $0.born < $0.version })
        #expect(try events.contains { try $0.born == $0.version && next.isLong(type: $0.type, $0.payload) })
        let below = Set(try store.all(at: head - 1).map(\.position))
        #expect(events.contains { $0.type == next.part && !below.contains($0.position) })
    }

    /// Appends events made from the shapes of a version, six of each type and more until there is a long list, or one that is split, as far
    /// as the gate takes them.
    private func append(_ next: NextVersion, _ history: History, at version: SchemaVersion, to store: EventStore) async throws {
        var generator = EventGenerator(history, seed: seed)
        for type in history.types(at: version) {
            var (accepted, hasWanted) = (0, type != next.type)
            for _ in 0 ..< 300 where accepted < 6 || !hasWanted {
                guard let event = generator.event(type: type, born: version) else { continue }
                do {
                    _ = try await store.append([
                        NewEvent(
                            stream: try StreamName(event.stream), type: type, payload: event.payload,
                            metadata: event.metadata.isEmpty ? nil : event.metadata, id: nil, time: event.time, version: version)
                    ])
                    accepted += 1
                    let isWanted = version == history.head ? next.isLong : next.isSplit
                    hasWanted = try hasWanted || isWanted(type, event.payload)
                } catch let error as EvstoreError {
                    // A stream without a name, or no image at a version that is promised.
                    #expect(
                        ["noImage", "invalidEvent", "invalidStreamName", "streamMismatch"].contains(error.code), "seed \(seed): \(error)")
                }
            }
            #expect(accepted >= 6 && hasWanted, "seed \(seed): \(type) of \(version)")
        }
    }
}
