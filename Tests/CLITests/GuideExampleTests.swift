import Evstore
import EvstoreCLI
import EvstoreTesting
import Testing

private struct OrderPlaced: Event, Equatable {
    static let type = "OrderPlaced"
    static let version = SchemaVersion(2)
    var id: String
    var cents: Int
}

private let first = """
    evstore: 1
    version: 1
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, total]
        properties: {id: {type: string}, total: {type: string}}
    """

private let second = """
    evstore: 1
    version: 2
    upcast:
      - on: OrderPlaced
        do:
          - convert: {path: /total, to: integer, using: {decimal: {scale: 2}}}
          - move: {from: /total, path: /cents}
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, cents]
        properties: {id: {type: string}, cents: {type: integer}}
    """

private let projections = """
    evstore: 1
    projections:
      orders:
        - since: 1
          key: /id
          on:
            OrderPlaced: {set: {/total: /total}}
        - since: 2
          key: /id
          on:
            OrderPlaced: {set: {/cents: /cents}}
    """

/// The program of the page on steps in Swift, which is compiled and not called: it ends its process.
private func program(_ step: some SwiftStep) async {
    await EvstoreCLI.run(Array(CommandLine.arguments.dropFirst()), steps: [step])
}

/// What the guide "Testing yours" shows, as it stands there.
@Suite("The guide to tests")
struct GuideExampleTests {
    @Test("an order of version 1 has its total in cents at version 2")
    func upcast() async throws {
        let schemas = try SchemaFiles(first, second, projections: projections).load()
        try await Scenario(schemas, at: SchemaVersion(2))
            .given(.event("order-1", "OrderPlaced", #"{"id":"1","total":"12.50"}"#, at: 1))
            .then("order-1", are: [("OrderPlaced", #"{"id":"1","cents":1250}"#)])
            .then("order-1", last: OrderPlaced(id: "1", cents: 1250))
            .then("orders", key: "1", is: #"{"cents":1250}"#)
    }

    @Test("an order that nobody can count is refused")
    func refusal() async throws {
        let schemas = try SchemaFiles(first, second, projections: projections).load()
        try await Scenario(schemas, at: SchemaVersion(2))
            .when(.event("order-1", "OrderPlaced", #"{"id":"1","total":"a lot"}"#, at: 1))
            .thenRefused("noImage")
    }

    @Test("the Swift types are what the version files say")
    func types() throws {
        let schemas = try SchemaFiles(first, second, projections: projections).load()
        let catalogue = try EventCatalogue { OrderPlaced.self }
        #expect(catalogue.check(schemas) == [])
    }

    @Test("a store of version 1 migrates, goes back, and has the read models that a replay gives")
    func migration() async throws {
        let directory = try TemporaryDirectory()
        for (name, text) in [("v1.yaml", first), ("v2.yaml", second), ("projections.yaml", projections)] {
            try directory.write(text, to: name)
        }
        try directory.write(
            #"{"stream":"order-1","type":"OrderPlaced","data":{"id":"1","total":"12.50"}}"# + "\n", to: "fixtures/v1/orders.jsonl")

        let schemas = try Schemas.load(directory.path)
        let test = try await MigrationTest(schemas, from: SchemaVersion(1))
        try await test.migrate(to: SchemaVersion(2))
        #expect(try await test.store.query("orders", key: "1")?.json == #"{"cents":1250}"#)
        try await test.store.append(OrderPlaced(id: "2", cents: 900), to: StreamName("order-2"), expecting: .noStream)
        try await test.goBackAndCompare()
        #expect(try await test.store.query("orders", at: SchemaVersion(1), key: "2")?.json == #"{"total":"9.00"}"#)
    }

    @Test("a service appends an order once, however often it is asked to")
    func service() async throws {
        let schemas = try SchemaFiles(first, second, projections: projections).load()
        let temporary = try await TemporaryStore.make(schemas)
        let (store, order) = (temporary.store, try StreamName("order-1"))
        for _ in 1 ... 3 {
            try await store.append(OrderPlaced(id: "1", cents: 1250), to: order, expecting: .noStream, id: EventID("request-17"))
        }
        #expect(try store.read(order).count == 1)
    }
}
