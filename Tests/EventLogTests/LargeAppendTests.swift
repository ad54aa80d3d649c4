import EventLog
import EventModel
import EvstoreTesting
import TestStores
import TestSupport
import Testing

/// The blocks of a large append are completed on another thread than that which puts them together.
@Suite("Large appends")
struct LargeAppendTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// Some 2 MiB, in some eighty blocks.
    private func some(_ mark: String, _ count: Int = 8_000) throws -> [StoredEvent] {
        let filling = String(repeating: "x", count: 120)
        return try (0 ..< count).map { try event("s-\($0 % 97)", "\(mark) \($0) \(filling)", type: "type-\($0 % 3)") }
    }

    private func payloads(_ log: EventLog) throws -> [String] {
        var payloads: [String] = []
        try log.scan(after: .start) { block, _ in
            for index in block.indices { payloads.append(text(block.record(index).payload)) }
            return true
        }
        return payloads
    }

    @Test("appended one after the other, they read back unchanged, in one chain")
    func several() async throws {
        let log = try makeLog(directory)
        var expected: [String] = []
        for (mark, count) in [("a", 8_000), ("b", 1), ("c", 8_000), ("d", 40), ("e", 3_000)] {
            let events = try some(mark, count)
            expected += events.map { String(decoding: $0.payload, as: UTF8.self) }
            _ = try await log.append(AppendRequest(events: events))
        }
        #expect(try payloads(log) == expected)
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
        let again = try EventLog.open(at: directory.store, options: .small())
        #expect(try again.verify(deep: true).isEmpty)
        try await again.close()
    }

    @Test("an event that is larger than a block is kept among smaller ones")
    func oversized() async throws {
        let log = try makeLog(directory)
        var events = try some("a")
        for index in [0, 1, 3_000, 3_001, 7_999] { events[index].payload = [UInt8](repeating: 120, count: 300_000 + index) }
        _ = try await log.append(AppendRequest(events: events))
        #expect(try payloads(log) == events.map { String(decoding: $0.payload, as: UTF8.self) })
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
    }

    @Test("an append that fails while its blocks are written leaves nothing, and the next one follows the events before it")
    func failing() async throws {
        let log = try makeLog(directory)
        try await log.add(event("s-1", "first"))
        let row = AttachedRow(.imports, key: [], value: [])
        for mark in ["a", "b"] {
            await #expect(throws: EvstoreError.self) {
                try await log.append(AppendRequest(events: try some(mark), rows: [row]))
            }
        }
        #expect(try payloads(log) == ["first"])
        let events = try some("c")
        _ = try await log.append(AppendRequest(events: events))
        #expect(try payloads(log) == ["first"] + events.map { String(decoding: $0.payload, as: UTF8.self) })
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
    }

    @Test("an append that outgrows the map is run again")
    func growth() async throws {
        let log = try makeLog(directory, .small { $0.mapBytes = 1 << 19 })
        for mark in ["a", "b"] { _ = try await log.append(AppendRequest(events: try some(mark))) }
        #expect(try payloads(log) == (try some("a") + some("b")).map { String(decoding: $0.payload, as: UTF8.self) })
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
    }
}
