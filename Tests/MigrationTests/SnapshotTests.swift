import EventModel
import TestStores
import Testing

@testable import Migration

@Suite("Snapshots")
struct SnapshotTests {
    @Test("a snapshot has the store's position and versions, and each name can be used once")
    func take() async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        _ = try await store.migrate(to: 3)
        let taken = try await Snapshot.take(store.context(), name: "friday")
        #expect((taken.position, taken.live, taken.floor) == (Position(1), SchemaVersion(3), SchemaVersion(1)))
        #expect(taken.generations.count == 3 && taken.generations.allSatisfy { $0.digest != nil })
        #expect(try Snapshot.named("friday", store.log) == taken)
        await #expect(throws: EvstoreError.snapshotExists("friday")) { try await Snapshot.take(store.context(), name: "friday") }
        #expect(throws: EvstoreError.unknownSnapshot("monday", known: ["before-v3", "friday"])) {
            try Snapshot.named("monday", store.log)
        }
    }

    @Test("a replay makes a snapshot, and adds the position to its name where the name is used at another position")
    func automatic() async throws {
        let store = try OrdersStore(at: 4)
        try await store.place(1, born: 4)
        #expect(try await store.migrate(to: 5).snapshot == "before-v5")
        _ = try await store.rollback(to: 4)
        try await store.place(2, born: 4)
        #expect(try await store.migrate(to: 5).snapshot == "before-v5@2")
        #expect(try Snapshot.list(store.log).map(\.name) == ["before-v5", "before-v5@2"])
    }

    @Test("pruning keeps the newest")
    func prune() async throws {
        let store = try OrdersStore()
        for name in ["a", "b", "c"] { _ = try await Snapshot.take(store.context(), name: name) }
        #expect(try await Snapshot.prune(store.context(), keeping: 1) == ["a", "b"])
        #expect(try Snapshot.list(store.log).map(\.name) == ["c"])
        #expect(try await Snapshot.prune(store.context(), keeping: 5).isEmpty)
    }

    @Test("pruning forgets what a cut took off, and counts it for nothing")
    func prunedCut() async throws {
        let store = try OrdersStore()
        for (number, name) in ["a", "b", "c"].enumerated() {
            try await store.place(number, born: 1)
            _ = try await Snapshot.take(store.context(), name: name)
        }
        _ = try await CutRollback.run(store.context(), toSnapshot: "b", TailConsent(discardTail: true))
        #expect(try await Snapshot.prune(store.context(), keeping: 2) == ["c"])
        #expect(try Snapshot.list(store.log).map(\.name) == ["a", "b"])
        #expect(try Snapshot.named("b", store.log).isOf(store.log))
    }

    @Test("a name with a space is refused")
    func name() async throws {
        let store = try OrdersStore()
        await #expect(throws: EvstoreError.self) { try await Snapshot.take(store.context(), name: "two words") }
    }
}
