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
}
