import EventModel
import LogKeeping
import Migration
import TestStores
import Testing

@Suite("Verification")
struct VerifyTests {
    @Test("a sound store passes a deep verification with the laws, and each law was tried")
    func sound() async throws {
        let store = try OrdersStore()
        for order in 1 ... 10 { try await store.place(order, amount: "\(order)", born: 1) }
        _ = try await store.migrate(to: 5)
        try await store.void(1, born: 5)
        let report = try Verify.run(store.context(), deep: true, laws: true)
        #expect(report.ok, "\(report.findings)")
        #expect(report.events == 11)
        #expect(report.laws.map(\.law) == ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "T-down", "T-up"])
        #expect(report.laws.allSatisfy { $0.tried > ($0.law == "L6" || $0.law == "L7" ? 1 : 10) })
        // Made values need not be in their codec's own form, and what a step adds is gone on the way down.
        #expect(report.laws.allSatisfy { $0.failed == 0 && ($0.lossy == 0 || ["L1", "L2"].contains($0.law)) })
        #expect(report.notExercised.isEmpty && report.seed != nil)
    }

    @Test("an event without an image breaks the law that every event has one, unless its quarantine was accepted")
    func broken() async throws {
        let store = try OrdersStore(at: 2)
        try await store.place(1, amount: "many", born: 2)
        _ = try await store.migrate(to: 3, MigrationOptions(onError: .quarantine))
        let accepted = try Verify.run(store.context(), deep: false, laws: true)
        #expect(accepted.ok, "\(accepted.findings)")
        #expect(accepted.notExercised.contains("the laws of 1 event without an image at v3"))
        // No gate has judged this one, and no read model has met it.
        try await store.place(2, amount: "more", born: 2)
        let report = try Verify.run(store.context(), deep: false, laws: true)
        #expect(!report.ok)
        let finding = try #require(report.findings.first { $0.id == "LAW101" })
        #expect(finding.position == Position(2) && !report.findings.contains { $0.position == Position(1) })
        #expect(finding.message.contains("T-up: OrderPlaced born at v2") && finding.message.contains("/code"), "\(finding.message)")
        #expect(!finding.message.contains("ada"))
    }

    @Test("a value that is not in its codec's own form is accepted, and its conversion needs no consent")
    func nonCanonical() async throws {
        let store = try OrdersStore(at: 2)
        try await store.place(1, amount: "007", born: 2)
        _ = try await store.migrate(to: 3)
        #expect(try store.row("1", of: "orders") == #"{"amount":7,"name":"ada","state":"open"}"#)
        let report = try Verify.run(store.context(), deep: false, laws: true)
        #expect(report.laws.first { $0.law == "L1" }?.lossy ?? 0 >= 1)
        #expect(report.ok, "\(report.findings)")
    }
}
