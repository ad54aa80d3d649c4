import EventLog
import EventModel
import LogKeeping
import Testing

@testable import Migration

@Suite("Journal and verification")
struct JournalTests {
    @Test("every step leaves a row: what, from, to, where, by whom and how it ended")
    func rows() async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        _ = try await store.replay(to: 5)
        _ = try await store.rollback()
        _ = try await store.replay(to: 5)
        _ = try await Finalize.run(store.site(), SchemaVersion(5))
        let rows = try Journal.list(store.log)
        #expect(rows.map(\.what) == ["register", "snapshot", "replay", "flip", "rollback", "snapshot", "replay", "flip", "finalize"])
        #expect(rows.map(\.number) == Array(rows[0].number ..< rows[0].number + 9))
        let flip = rows[3]
        #expect((flip.from, flip.to, flip.position) == (SchemaVersion(1), SchemaVersion(5), Position(1)))
        #expect(flip.outcome == "done" && flip.digest?.count == 64)
        #expect(rows.allSatisfy { $0.by.contains("pid") })
    }

    @Test("a sound store passes a deep verification with the laws, and each law was tried")
    func sound() async throws {
        let store = try OrdersStore()
        for order in 1 ... 10 { try await store.place(order, amount: "\(order)", born: 1) }
        _ = try await store.replay(to: 5)
        try await store.void(1, born: 5)
        let report = try Verify.run(store.site(), deep: true, laws: true)
        #expect(report.ok, "\(report.findings)")
        #expect(report.events == 11)
        #expect(report.laws.map(\.law) == ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "T-down", "T-up"])
        #expect(report.laws.allSatisfy { $0.tried > ($0.law == "L6" || $0.law == "L7" ? 1 : 10) })
        // Made values need not be in their codec's own form, and what a step adds is gone on the way down.
        #expect(report.laws.allSatisfy { $0.failed == 0 && ($0.lossy == 0 || ["L1", "L2"].contains($0.law)) })
        #expect(report.notExercised.isEmpty && report.seed != nil)
    }

    @Test("an event without an image breaks the law that every event has one")
    func broken() async throws {
        let store = try OrdersStore(at: 2)
        try await store.place(1, amount: "many", born: 2)
        _ = try await store.replay(to: 3, ReplayOptions(onError: .quarantine))
        let report = try Verify.run(store.site(), deep: false, laws: true)
        #expect(!report.ok)
        #expect(report.findings.contains { $0.id == "LAW101" && $0.position == Position(1) })
    }

    @Test("a value in another form than its codec's is accepted and needs no consent")
    func nonCanonical() async throws {
        let store = try OrdersStore(at: 2)
        try await store.place(1, amount: "007", born: 2)
        _ = try await store.replay(to: 3)
        #expect(try store.row("1", of: "orders") == #"{"amount":7,"name":"ada","state":"open"}"#)
        let report = try Verify.run(store.site(), deep: false, laws: true)
        #expect(report.laws.first { $0.law == "L1" }?.lossy ?? 0 >= 1)
        #expect(report.ok, "\(report.findings)")
    }
}
