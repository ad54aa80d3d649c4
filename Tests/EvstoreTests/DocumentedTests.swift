import Evstore
import EvstoreTesting
import TestSupport
import Testing

private let second = """
    evstore: 1
    version: 2
    upcast:
      - on: OrderPlaced
        do:
          - add: {path: /total, value: 0}
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, total]
        properties: {id: {type: string}, total: {type: integer}}
      OrderPaid:
        stream: "order-{/id}"
        required: [id]
        properties: {id: {type: string}}
    """

private let first = """
    evstore: 1
    version: 1
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id]
        properties: {id: {type: string}}
      OrderPaid:
        stream: "order-{/id}"
        required: [id]
        properties: {id: {type: string}}
    """

private let projections = """
    evstore: 1
    projections:
      orders:
        - since: 1
          key: /id
          on:
            OrderPaid: {set: {/state: {value: paid}}}
    """

/// Swift that documents and comments show, as it stands there.
@Suite("Swift in the documents")
struct DocumentedTests {
    @Test("what the comments of Scenario and MigrationTest show holds")
    func comments() async throws {
        let directory = try TemporaryDirectory()
        for (name, text) in [("v1.yaml", first), ("v2.yaml", second), ("projections.yaml", projections)] {
            try directory.write(text, to: name)
        }
        try directory.write(
            #"{"stream":"order-1","type":"OrderPlaced","data":{"id":"1"}}"# + "\n", to: "fixtures/v1/orders.jsonl")
        let schemas = try Schemas.load(directory.path)

        try await Scenario(schemas, at: SchemaVersion(2))
            .given(.event("order-1", "OrderPlaced", #"{"id":"1"}"#, at: 1))
            .when(.event("order-1", "OrderPaid", #"{"id":"1"}"#))
            .then("order-1", are: [("OrderPlaced", #"{"id":"1","total":0}"#), ("OrderPaid", #"{"id":"1"}"#)])
            .then("orders", key: "1", is: #"{"state":"paid"}"#)

        let test = try await MigrationTest(schemas, from: SchemaVersion(1))
        try await test.migrate(to: SchemaVersion(2))
        try await test.goBackAndCompare()
    }

    @Test("what is said of backups holds")
    func backups() async throws {
        let orders = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1), try Orders.placed("2", at: 1)])
        let directory = try TemporaryDirectory()
        let (store, backups, restoredPath) = (orders.store, directory.path + "/backups", directory.path + "/orders.restored")

        let report = try await store.maintenance.backUp(into: backups, keeping: 14)
        let restored = try await StoreMaintenance.restore(from: backups, into: restoredPath, to: .position(Position(1)))
        let places = try StoreMaintenance.backups(in: backups).map(\.position)
        let damaged = try await StoreMaintenance.verifyBackups(in: backups).filter { $0.damage != nil }

        let replicaPath = directory.path + "/standby"
        let taken = try await StoreMaintenance.follow(from: backups, into: replicaPath)
        let standby = try await EventStore.open(replicaPath)
        let newest = try standby.status().replica?.backupTime
        let promoted = try await standby.maintenance.promote()

        #expect(taken.position == promoted.position && newest == promoted.backupTime && newest == taken.backupTime)
        #expect(try standby.status().replica == nil)
        try await standby.close()
        #expect(report.position == Position(2) && restored.position == Position(1))
        #expect(places == [Position(2)] && damaged.isEmpty)
        #expect(try await StoreMaintenance.verifyBackups(in: backups).map(\.run.number) == [1])
        withExtendedLifetime(orders) {}
    }

    @Test(
        "every line of Swift that they show is compiled in a test",
        arguments: ["EvstoreTesting/Scenario.swift", "EvstoreTesting/MigrationTest.swift"])
    func compiled(_ name: String) throws {
        let lines = try Checkout.text("Sources/\(name)").split(separator: "\n", omittingEmptySubsequences: false)
        let shown = lines.split { !$0.hasPrefix("///     ") }.map { block in block.map { $0.dropFirst(3) }.joined(separator: "\n") }
        try #require(!shown.isEmpty)
        let compiled = try ["DocumentedTests", "TypedTests"].map { try Checkout.text("Tests/EvstoreTests/\($0).swift") }
        for block in shown { #expect(compiled.contains { Checkout.stands(block, in: $0) }, "\(name) shows what no test has") }
    }
}
