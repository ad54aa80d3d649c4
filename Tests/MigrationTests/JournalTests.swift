import EventLog
import EventModel
import TestStores
import Testing

@testable import Migration

@Suite("Journal")
struct JournalTests {
    @Test("every migration leaves a row: what, from, to, position, who and outcome")
    func rows() async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        _ = try await store.migrate(to: 5)
        _ = try await store.rollback()
        _ = try await store.migrate(to: 5)
        _ = try await Finalize.run(store.context(), SchemaVersion(5))
        let rows = try Journal.list(store.log)
        #expect(rows.map(\.kind) == [.register, .snapshot, .replay, .flip, .rollback, .snapshot, .replay, .flip, .finalize])
        #expect(rows.map(\.number) == Array(rows[0].number ..< rows[0].number + 9))
        let flip = rows[3]
        #expect((flip.from, flip.to, flip.position) == (SchemaVersion(1), SchemaVersion(5), Position(1)))
        #expect(flip.outcome == "done" && flip.digest?.count == 64)
        #expect(rows.allSatisfy { $0.by.contains("pid") })
    }

    @Test(
        "how long something took is read as it was written, to the microsecond",
        arguments: [0, 500, 12_350, 125_123_500, 86_400_000_001])
    func durations(_ micros: Int) throws {
        let row = JournalRow(.replay, duration: .microseconds(micros)).bytes
        let read = try JournalRow(key: [0, 0, 0, 0, 0, 0, 0, 1], value: row)
        #expect(read.duration?.inSeconds == Double(micros) / 1e6)
    }

    @Test("a number has as many digits as it needs, and no more than are asked for")
    func decimals() {
        #expect(shortDecimal(1.6319800000000002, digits: 3) == "1.632" && shortDecimal(0.3, digits: 6) == "0.3")
        #expect(shortDecimal(2, digits: 3) == "2" && shortDecimal(-1, digits: 6) == "0")
    }
}
