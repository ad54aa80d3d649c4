import EventLog
import EventModel
import EvstoreTesting
import TestStores
import TestSupport
import Testing

@Suite("Reading streams")
struct StreamTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test("any page of any stream, forwards and backwards, is what a plain list says", arguments: [1, 2, 3])
    func model(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed)
        // Given a log of thousands of events in streams of very different lengths, swept many times.
        let log = try makeLog(directory, .small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (50, 200, 16) })
        var model: [String: [String]] = [:]
        for _ in 0 ..< 150 {
            var events: [StoredEvent] = []
            for _ in 0 ..< Int.random(in: 1 ... 40, using: &random) {
                let stream = Bool.random(using: &random) ? "long" : "s-\(Int.random(in: 0 ..< 60, using: &random))"
                let payload =
                    String(repeating: "x", count: Int.random(in: 0 ... 600, using: &random)) + "\(model[stream, default: []].count)"
                model[stream, default: []].append(payload)
                events.append(try event(stream, payload))
            }
            _ = try await log.append(AppendRequest(events: events))
        }
        // When pages are read from random places.
        for _ in 0 ..< 200 {
            let stream = model.keys.sorted()[Int.random(in: 0 ..< model.count, using: &random)]
            let all = model[stream, default: []]
            let from = Int.random(in: 0 ... all.count, using: &random)
            let limit = Int.random(in: 1 ... 300, using: &random)
            // Then they hold what the list holds.
            #expect(
                try log.payloads(stream, from: UInt64(from), limit: limit) == Array(all.dropFirst(from).prefix(limit)),
                "seed \(seed), \(stream) from \(from)")
            let down = Array(all.prefix(from + 1).reversed().prefix(limit))
            #expect(try log.payloads(stream, from: UInt64(from), limit: limit, backwards: true) == down, "seed \(seed), \(stream) down")
        }
        #expect(try log.verify(deep: true).isEmpty)
        #expect(try log.read { try $0.state.indexed } > .start)
        try await log.close()
    }

    @Test("a stream that has no events is empty, and has no head")
    func none() async throws {
        let log = try makeLog(directory)
        #expect(try log.payloads("nothing") == [])
        #expect(try log.payloads("nothing", from: 5, backwards: true) == [])
        #expect(try log.read { try $0.head(of: StreamName("nothing")) } == nil)
        try await log.close()
    }

    @Test("the name of a stream is found by its id")
    func names() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a"), event("b"))
        #expect(try log.read { try $0.name(ofStream: 2) } == StreamName("b"))
        #expect(throws: EvstoreError.self) { try log.read { try $0.name(ofStream: 9) } }
        try await log.close()
    }

    @Test("the census counts every type and birth version, before and after sweeps")
    func census() async throws {
        let log = try makeLog(directory, .small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (20, 40, 8) })
        for number in 0 ..< 30 {
            try await log.add(event("s-\(number % 7)", type: "odd", born: UInt32(number % 2 + 1)), event("s", type: "even"))
            let count = UInt64(number / 2 + 1)
            let expected = [
                CensusRow(type: "even", born: SchemaVersion(1), count: UInt64(number + 1)),
                CensusRow(type: "odd", born: SchemaVersion(1), count: count),
                CensusRow(type: "odd", born: SchemaVersion(2), count: UInt64(number + 1) - count),
            ]
            #expect(try log.read { try $0.census() } == expected.filter { $0.count > 0 })
        }
        #expect(try log.read { try $0.state.indexed } > .start)
        try await log.close()
    }

    @Test("a scan lends exactly what was asked for, and skips blocks without the wanted types")
    func scan() async throws {
        let log = try makeLog(directory)
        for number in 1 ... 5 { try await log.add(event("a", "\(number)"), event("b", "\(number)", type: number == 3 ? "rare" : "noted")) }
        var seen: [UInt64] = []
        try log.scan(after: Position(3), through: Position(8)) { block, _ in
            for index in block.indices { seen.append(block.record(index).position.rawValue) }
            return true
        }
        #expect(seen == [4, 5, 6, 7, 8])
        var blocks: [UInt64] = []
        try log.scan(after: .start, types: ["rare"]) { block, _ in
            blocks.append(block.first.rawValue)
            return true
        }
        #expect(blocks == [5])
        try log.scan(after: .start, types: ["never seen"]) { _, _ in
            Issue.record("there is no such type")
            return true
        }
        try await log.close()
    }
}
