import Evstore
import EvstoreTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// What a consumer notes of events behind its place is noted of those events, and not of others that have their positions after a cut.
@Suite("Consumers and cuts", .timeLimit(.minutes(10)))
struct ConsumersAndCutsTests {
    private struct Refused: Error {}

    private func options(_ attempts: Int = 2, _ rule: ConsumerFailureRule = .stop, concurrency: Int = 8) -> ConsumerOptions {
        ConsumerOptions(
            retry: RetryPolicy(attemptsMax: attempts, firstPause: .seconds(0.001), pauseMax: .seconds(0.002)), onFailure: rule,
            concurrency: concurrency, endsAtLogEnd: true)
    }

    private func orders(_ ids: Range<Int>) throws -> [NewEvent] { try ids.map { try Orders.placed("\($0)", at: 1) } }

    /// Handles what is behind the place, except the events whose ids are given; returns the ids of what was handled.
    private func consume(_ store: EventStore, failing: Set<String> = [], _ options: ConsumerOptions) async throws -> [String] {
        let handled = Mutex<[String]>([])
        do {
            try await store.consume("mailer", options: options) { event, _ in
                if failing.contains(event.id.text) { throw Refused() }
                handled.withLock { $0.append(event.id.text) }
            }
        } catch { guard case EvstoreError.consumerStopped = error else { throw error } }
        return handled.withLock { $0 }
    }

    private func events(_ store: EventStore) throws -> [(id: String, place: Checkpoint)] {
        var events: [(id: String, place: Checkpoint)] = []
        try store.readAll { event in
            events.append((event.id.text, event.checkpoint))
            return true
        }
        return events
    }

    @Test("whatever fails, is parked, given up, retried and cut off: each event of the log is handled once, and none that was given up")
    func random() async throws {
        for _ in 0 ..< rounds(6) {
            let seed = UInt64.random(in: .min ... .max)
            var random = SeededGenerator(seed: seed)
            let temporary = try await Orders.store(at: 1, events: [])
            let store = temporary.store
            var (handled, given, next): ([String: Int], Set<String>, Int) = ([:], [], 0)
            var snapshots: [SnapshotReport] = []
            for step in 0 ..< 50 {
                let isKnown = try !store.consumers().isEmpty
                switch Int.random(in: 0 ..< 9, using: &random) {
                case 0 ... 2:
                    for _ in 0 ..< Int.random(in: 1 ... 5, using: &random) {
                        _ = try await store.append([try Orders.placed("\(next % 7)-\(next)", at: 1, eventID: "e\(next)")])
                        next += 1
                    }
                case 3 ... 4:
                    let failing = Set(try events(store).map(\.id).filter { _ in Int.random(in: 0 ..< 5, using: &random) == 0 })
                    let rule: ConsumerFailureRule = Bool.random(using: &random) ? .stop : .park
                    let options = options(2, rule, concurrency: Int.random(in: 1 ... 8, using: &random))
                    for id in try await consume(store, failing: failing, options) { handled[id, default: 0] += 1 }
                case 5: snapshots.append(try await store.takeSnapshot("s\(step)"))
                case 6 where !snapshots.isEmpty:
                    let snapshot = snapshots[Int.random(in: 0 ..< snapshots.count, using: &random)]
                    // A place behind the cut is the operator's business: the consumer would end with `epochChanged`.
                    if let status = try store.consumers().first, status.place.position > snapshot.position { break }
                    _ = try await store.rollback(toSnapshot: snapshot.name, discardTail: true)
                    snapshots.removeAll { $0.position > snapshot.position }
                case 7 where isKnown:
                    for parked in try store.parked(of: "mailer") where Bool.random(using: &random) {
                        _ = try await store.maintenance.dropParked(of: "mailer", position: parked.position, reason: "test")
                        if let event = try events(store).first(where: { $0.place == parked.place }) { given.insert(event.id) }
                    }
                case 8 where isKnown: try await store.maintenance.retryParked(of: "mailer")
                default: break
                }
            }
            for _ in 0 ..< 2 {
                for id in try await consume(store, options(1, .stop)) { handled[id, default: 0] += 1 }
                try await store.maintenance.retryParked(of: "mailer")
            }
            for id in try await consume(store, options(1, .stop)) { handled[id, default: 0] += 1 }
            let there = Set(try events(store).map(\.id))
            #expect(there.subtracting(given).subtracting(handled.keys).isEmpty, "seed \(seed): lost")
            #expect(handled.filter { $0.value > 1 }.isEmpty && given.isDisjoint(with: handled.keys), "seed \(seed)")
            try await store.close()
        }
    }

    @Test(
        "in a store that was restored, what was handled behind the place is not handled again, and what is new there is", arguments: [4, 6])
    func restored(to position: UInt64) async throws {
        let temporary = try await Orders.store(at: 1, events: (0 ..< 6).map { try Orders.placed("\($0)", at: 1, eventID: "e\($0)") })
        let store = temporary.store
        // How many are handled before the failure ends the others depends on the moment.
        let handled = try await Set(consume(store, failing: ["e2"], options(1)))
        #expect(!handled.contains("e2"))
        let directory = try TemporaryDirectory()
        _ = try await store.maintenance.backUp(into: directory.path + "/copies")
        let path = directory.path + "/restored"
        _ = try await StoreMaintenance.restore(from: directory.path + "/copies", into: path, to: .position(Position(position)))
        let copy = try await EventStore.open(path, options: .forTests)
        for name in ["f4", "f5", "f6"] { _ = try await copy.append([try Orders.placed(name, at: 1, eventID: name)]) }
        let there = Set(try events(copy).map(\.id))
        #expect(try await Set(consume(copy, options(1))) == there.subtracting(handled))
        try await copy.close()
    }

    @Test("the attempts of an event that was cut off are not those of the next one at its position")
    func attempts() async throws {
        let temporary = try await Orders.store(at: 1, events: [])
        let store = temporary.store
        _ = try await store.takeSnapshot("empty")
        _ = try await store.append([try Orders.placed("1", at: 1, eventID: "old")])
        #expect(try await consume(store, failing: ["old"], options(3)) == [])
        #expect(try store.consumers().first?.failing == Position(1))
        _ = try await store.rollback(toSnapshot: "empty", discardTail: true)
        _ = try await store.append([try Orders.placed("1", at: 1, eventID: "new")])
        _ = try await consume(store, failing: ["new"], options(2, .park))
        #expect(try store.parked(of: "mailer").map(\.attempts) == [2])
    }
}
