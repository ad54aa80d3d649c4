import EventLog
import EventModel
import EvstoreTesting
import TestStores
import TestSupport
import Testing

/// What the writing thread remembers of streams has to be right whatever has happened in between.
@Suite("Streams that were appended to before")
struct StreamTableTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Appends to streams by chance through the logs in turn; what they hold is what was appended.
    private func mix(_ logs: [EventLog], rounds: Int, seed: UInt64, between: (Int) async throws -> Void = { _ in }) async throws {
        var random = SeededGenerator(seed: seed)
        var model: [String: [String]] = [:]
        for round in 0 ..< rounds {
            var events: [StoredEvent] = []
            for _ in 0 ..< Int.random(in: 1 ... 30, using: &random) {
                let stream = Bool.random(using: &random) ? "long" : "s-\(Int.random(in: 0 ..< 40, using: &random))"
                let payload = String(repeating: "x", count: Int.random(in: 0 ... 900, using: &random)) + "\(round)"
                model[stream, default: []].append(payload)
                events.append(try event(stream, payload))
            }
            let log = logs[Int.random(in: 0 ..< logs.count, using: &random)]
            _ = try await log.append(AppendRequest(events: events))
            try await between(round)
        }
        for (stream, payloads) in model {
            #expect(try logs[0].payloads(stream, limit: 10_000) == payloads, "seed \(seed), \(stream)")
            #expect(try logs[0].payloads(stream, from: 0, limit: 1, backwards: true) == [payloads[0]], "seed \(seed), \(stream)")
        }
        #expect(try logs[0].verify(deep: true).isEmpty, "seed \(seed)")
    }

    @Test("two handles that write in turn see what the other has added", arguments: [1, 2, 3])
    func twoHandles(seed: UInt64) async throws {
        let options = Options.small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (100, 300, 32) }
        let log = try makeLog(directory, options)
        let other = try EventLog.open(at: directory.store, options: options)
        try await mix([log, other], rounds: 80, seed: seed)
        try await other.close()
        try await log.close()
    }

    @Test("an append that is refused leaves nothing behind that a later one goes by", arguments: [4, 5])
    func refused(seed: UInt64) async throws {
        let log = try makeLog(directory)
        try await mix([log], rounds: 40, seed: seed) { round in
            let stale = [StreamCondition(try StreamName("never"), .exists)]
            await #expect(throws: EvstoreError.self) { try await log.add(event("new-\(round)"), event("long"), conditions: stale) }
        }
        #expect(try log.read { try $0.head(of: StreamName("new-3")) } == nil)
        try await log.add(event("new-3", "first"), conditions: [StreamCondition(try StreamName("new-3"), .noStream)])
        #expect(try log.payloads("new-3") == ["first"])
        try await log.close()
    }

    @Test("a map that grows in the middle of a commit begins it again from what there was")
    func growth() async throws {
        let log = try makeLog(directory, .small { $0.mapBytes = 1 << 19 })
        try await mix([log], rounds: 60, seed: 6)
        try await log.close()
    }

    @Test("after a cut streams begin again where the cut has left them")
    func cut() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a", "1"), event("b", "2"))
        try await log.add(event("a", "3"), event("c", "4"))
        try await log.update { try $0.cut(to: Position(2)) }
        let stream = try StreamName("a")
        try await log.add(event("c", "5"), event("a", "6"), conditions: [StreamCondition(stream, .revision(.first))])
        #expect(try log.everything() == ["1 1 0 noted 1", "2 2 0 noted 2", "3 3 0 noted 5", "4 1 1 noted 6"])
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
    }

    @Test("an append that gives an id twice leaves its streams as they were")
    func repeatedID() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a", "1", id: "one"))
        await #expect(throws: EvstoreError.self) { try await log.add(event("b", "2", id: "two"), event("a", "3", id: "two")) }
        try await log.add(event("a", "4"), event("b", "5"))
        #expect(try log.everything() == ["1 1 0 noted 1", "2 1 1 noted 4", "3 3 0 noted 5"])
        try await log.close()
    }

    @Test("thousands of streams in one append are told apart")
    func many() async throws {
        let log = try makeLog(directory)
        for first in [0, 5_000] {
            _ = try await log.append(AppendRequest(events: try (first ..< first + 5_000).map { try event("s-\($0)", "1") }))
        }
        _ = try await log.append(AppendRequest(events: try (0 ..< 10_000).map { try event("s-\($0)", "2") }))
        for number in [0, 1, 4_999, 5_000, 9_999] { #expect(try log.payloads("s-\(number)") == ["1", "2"]) }
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
    }
}
