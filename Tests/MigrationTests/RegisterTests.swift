import EventModel
import Projections
import SchemaEvolution
import TestStores
import Testing

@testable import Migration

@Suite("Registering")
struct RegisterTests {
    private func edited(_ store: OrdersStore, _ edit: (inout [String: String]) -> Void) throws -> (History, DefinitionSet) {
        var files = OrdersHistory.files
        files["projections.yaml"] = OrdersHistory.projections
        edit(&files)
        return try OrdersStore.load(files, in: store.directory + "/edited")
    }

    private func replay(_ store: OrdersStore, _ schemas: (History, DefinitionSet), to version: Int) async throws -> MigrationReport {
        try await Replay.run(store.context(), to: SchemaVersion(version), files: schemas.0, definitions: schemas.1)
    }

    @Test("a replay registers only versions up to its target, and changes nothing else")
    func upTo() async throws {
        let store = try OrdersStore()
        _ = try await store.migrate(to: 3)
        #expect(try store.numbers == [1, 3, 3, 3])
        #expect(try store.evolving.current().history.head == SchemaVersion(3))
        #expect(try Journal.list(store.log).map(\.kind).first == .register)
    }

    @Test("a version whose file differs is refused once it is live, and both digests are named")
    func differs() async throws {
        let store = try OrdersStore()
        _ = try await store.migrate(to: 3)
        let schemas = try edited(store) { files in
            files["v3.yaml"] = files["v3.yaml"]?.replacing("code: {type: integer}", with: "code: {type: integer, minimum: 0}")
        }
        let state = try store.state
        do {
            _ = try await replay(store, schemas, to: 5)
            Issue.record("a live version changed")
        } catch let error as EvstoreError {
            guard case .versionDiffers(let version, let file, let stored) = error else { throw error }
            #expect(version == SchemaVersion(3) && file != stored)
        }
        #expect(try store.state == state)
    }

    @Test("a version that was never released, written at or live may still change")
    func mayChange() async throws {
        let store = try OrdersStore(at: 1, knowing: 2)
        let schemas = try edited(store) { files in
            files["v2.yaml"] = files["v2.yaml"]?.replacing("labels: [1.1.0]", with: "labels: [1.1.0]\nforward: 1")
        }
        _ = try await replay(store, schemas, to: 2)
        #expect(try store.numbers == [1, 2, 2, 2])
    }

    @Test("a definition that changes a promised version holds from the flip on")
    func deferred() async throws {
        // Given a live version 2, an event that has no image at 3, and another definition of the orders at 2.
        let store = try OrdersStore(at: 2)
        try await store.place(1, born: 2)
        _ = try await store.migrate(to: 2)
        try await store.place(2, amount: "many", born: 2)
        let schemas = try edited(store) { files in
            files["projections.yaml"] = OrdersHistory.projections.replacing("/state: {value: open}", with: "/state: {value: new}")
        }
        // When a strict replay to 3 fails, then version 2 means what it meant.
        await #expect(throws: EvstoreError.self) { try await replay(store, schemas, to: 3) }
        #expect(try store.row("1", of: "orders") == #"{"amount":"100","name":"ada","state":"open"}"#)
        // And when the same definitions are replayed at 2, they hold.
        let report = try await replay(store, schemas, to: 2)
        #expect(report.rebuilt == ["orders"])
        #expect(try store.row("1", of: "orders") == #"{"amount":"100","name":"ada","state":"new"}"#)
    }
}
