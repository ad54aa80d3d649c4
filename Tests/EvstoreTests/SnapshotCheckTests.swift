import EventLog
import Evstore
import EvstoreTesting
import Migration
import Testing

@Suite("Checking snapshots")
struct SnapshotCheckTests {
    /// A store with the snapshots a, b and c behind its first three events, cut at a; other events have the positions behind it since.
    private func cutStore() async throws -> TemporaryStore {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        for name in ["a", "b", "c"] {
            _ = try await store.append([try Orders.placed(name, at: 1)])
            _ = try await store.takeSnapshot(name)
        }
        _ = try await store.rollback(toSnapshot: "a", discardTail: true)
        for name in ["d", "e", "f"] { _ = try await store.append([try Orders.placed(name, at: 1)]) }
        return temporary
    }

    private func found(_ store: EventStore) throws -> [String] {
        try store.maintenance.verifySnapshots().map { "\($0.id) \($0.severity) \($0.message.prefix(14))" }
    }

    @Test("a snapshot that a cut took off is named in a note until it is pruned, and is no damage")
    func cutOff() async throws {
        let temporary = try await cutStore()
        let store = temporary.store
        #expect(try found(store) == ["STORE303 note the snapshot b", "STORE303 note the snapshot c"])
        #expect(try store.snapshots().map { "\($0.name) \($0.isCutOff)" } == ["a false", "b true", "c true"])
        #expect(try store.maintenance.verifySnapshots("a").isEmpty)
        #expect(try await store.maintenance.pruneSnapshots(keeping: 9) == ["b", "c"])
        #expect(try found(store).isEmpty)
        #expect(try store.snapshots().map { "\($0.name) \($0.isCutOff)" } == ["a false"])
    }

    @Test("a damaged snapshot is an error also beside those that a cut took off")
    func damaged() async throws {
        let temporary = try await cutStore()
        let store = temporary.store
        try await store.log.update { update in
            let row = try #require(try update.rows(.snapshots).first { $0.key == Array("a".utf8) })
            var snapshot = try SnapshotReport(name: "a", row: row.value)
            snapshot.link = String(snapshot.link.reversed())
            try update.put(.snapshots, row.key, snapshot.row)
        }
        #expect(try found(store) == ["STORE301 error the snapshot a", "STORE303 note the snapshot b", "STORE303 note the snapshot c"])
    }
}
