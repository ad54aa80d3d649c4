import Evstore
import EvstoreTesting
import Foundation
import Synchronization
import TestSupport
import Testing

/// Two versions of orders, for which there are types in Swift.
let typedOrders = [first, second]

private let first = """
    evstore: 1
    version: 1
    released: 2026-01-01
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, customer, total]
        properties:
          id: {type: string}
          customer: {type: string}
          total: {type: integer}
    """

private let second = """
    evstore: 1
    version: 2
    upcast:
      - on: OrderPlaced
        do:
          - move: {from: /total, path: /cents}
      - add-event: {type: OrderVoided, down: {hide: "version 1 never voids"}}
    events:
      OrderPlaced:
        stream: "order-{/id}"
        required: [id, customer, cents]
        properties:
          id: {type: string}
          customer: {type: string}
          cents: {type: integer}
      OrderVoided:
        stream: "order-{/id}"
        required: [id]
        properties:
          id: {type: string}
    """

// What the guide "Typed events" shows; a test holds the two together.
struct OrderPlaced: Event, Equatable {
    static let type = "OrderPlaced"
    static let version = SchemaVersion(2)
    var id: String
    var customer: String
    var cents: Int
}

struct OrderVoided: Event {
    static let type = "OrderVoided"
    static let version = SchemaVersion(2)
    var id: String
}

private struct Order: Sendable {
    var cents = 0
    var isVoid = false
}

private struct AlreadyVoid: Error, Equatable {}

private struct Total: Codable, Equatable {
    var cents: Int
}

@Suite("Typed events")
struct TypedTests {
    private let files: SchemaFiles

    init() throws { files = try SchemaFiles(versions: typedOrders) }

    private func catalogue() throws -> EventCatalogue {
        try EventCatalogue {
            OrderPlaced.self
            OrderVoided.self
        }
    }

    private func store(_ projections: [any SwiftProjection] = []) async throws -> TemporaryStore {
        try await TemporaryStore.make(
            try files.load(), from: SchemaVersion(1),
            events: [.event("order-0", "OrderPlaced", #"{"id":"0","customer":"Ann","total":7}"#, at: 1)], projections: projections)
    }

    @Test("the guide's code has the results that the guide shows")
    func guide() async throws {
        let totals = try TypedProjection("totals", revision: 1, row: Total.self) {
            RowHandler(OrderPlaced.self, key: \.customer) { row, placed, _ in row = Total(cents: (row?.cents ?? 0) + placed.cents) }
        }
        let temporary = try await store([totals])
        defer { withExtendedLifetime(temporary) {} }
        let store = temporary.store
        let schemas = try files.load()
        let catalogue = try EventCatalogue {
            OrderPlaced.self
            OrderVoided.self
        }
        #expect(catalogue.check(schemas) == [])

        var customers: [String] = []
        let order = try StreamName("order-1")
        try await store.append(OrderPlaced(id: "1", customer: "Ada Lovelace", cents: 1250), to: order, expecting: .noStream)
        let zero = try StreamName("order-0")
        let by = Array(#"{"by":"ada"}"#.utf8)
        try await store.append([OrderVoided(id: "0")], to: zero, expecting: .exists, metadata: by, id: EventID("void-0"))

        for typed in try store.read(order, as: catalogue) {
            switch typed.event {
            case let placed as OrderPlaced: customers.append(placed.customer)
            default: break
            }
        }
        #expect(customers == ["Ada Lovelace"])

        let seen = Mutex<[String]>([])
        let handlers = try EventHandlers {
            EventHandler(OrderPlaced.self) { placed, context in seen.withLock { $0.append("\(context.revision) \(placed.cents)") } }
        }
        try store.read(order, with: handlers)
        #expect(seen.withLock { $0 } == ["0 1250"])

        let fold = try StreamFold("order", revision: 1, initial: Order()) {
            StateHandler(OrderPlaced.self) { order, placed, _ in order.cents += placed.cents }
            StateHandler(OrderVoided.self) { order, _, _ in order.isVoid = true }
        }
        let cache = StateCache<Order>()
        let state = try store.state(of: order, fold, cache: cache)
        if !state.value.isVoid { try await store.append(OrderVoided(id: "1"), to: order, expecting: state.expectation) }

        await #expect(throws: AlreadyVoid.self) {
            try await store.decide(on: order, fold, cache: cache, id: EventID("void-1")) { order in
                if order.isVoid { throw AlreadyVoid() }
                return [OrderVoided(id: "1")]
            }
        }
        try DecisionScenario(fold)
            .given(OrderPlaced(id: "1", customer: "Ada Lovelace", cents: 1250))
            .when { order in order.cents > 1000 ? [OrderVoided(id: "1")] : [] }
            .then(OrderVoided(id: "1"))

        let after = try store.state(of: order, fold, cache: StateCache<Order>())
        #expect((after.folded, after.value.isVoid, after.value.cents) == (2, true, 1250))
        let ada = try await store.query("totals", as: Total.self, key: "Ada Lovelace")
        #expect(ada == Total(cents: 1250))
        var page = try await store.query("totals", as: Total.self, limit: 1)
        #expect(page.rows == [TypedRow(key: "Ada Lovelace", value: Total(cents: 1250))])
        while let next = page.next { page = try await store.query("totals", as: Total.self, limit: 1, after: next) }
        #expect(page.rows.map(\.key) == ["Ann"])
        var live: [Total?] = []
        let more = OrderPlaced(id: "2", customer: "Ada Lovelace", cents: 750)
        let writer = Task { try await store.append(more, to: StreamName("order-2"), expecting: .noStream) }
        for try await total in store.observe("totals", as: Total.self, key: "Ada Lovelace") {
            live.append(total)
            if total?.cents == 2000 { break }
        }
        #expect(live.last == .some(Total(cents: 2000)))
        _ = try await writer.value
    }

    @Test("every line of Swift in the guide stands in these tests")
    func guideIsCompiled() throws {
        func lines(_ text: String) -> [String] { text.components(separatedBy: "\n").map { $0.trimmingCharacters(in: .whitespaces) } }
        let compiled = Set(lines(try Checkout.text("Tests/EvstoreTests/TypedTests.swift")))
        let shown = try DocPage("TypedEvents").blocks("swift").flatMap { lines($0.text) }
        #expect(shown.count > 30)
        for line in shown where !line.hasPrefix("struct Order") { #expect(compiled.contains(line), "\(line)") }
    }

    @Test("an event born at an older version is read as the newer Swift type")
    func upcast() async throws {
        let temporary = try await store()
        defer { withExtendedLifetime(temporary) {} }
        let store = temporary.store
        let read = try store.read(OrderPlaced.self, in: StreamName("order-0"))
        #expect(read.map(\.event) == [OrderPlaced(id: "0", customer: "Ann", cents: 7)])
        #expect(read[0].context.born == SchemaVersion(1))
    }

    @Test("a subscription gives the same values, then those that are appended")
    func subscription() async throws {
        let temporary = try await store()
        defer { withExtendedLifetime(temporary) {} }
        let store = temporary.store
        var pages = store.subscribe(as: try catalogue()).pages.makeAsyncIterator()
        let first = try #require(try await pages.next())
        #expect(first.map { ($0.event as? OrderPlaced)?.cents } == [7])
        try await store.append([OrderVoided(id: "0")], to: StreamName("order-0"), expecting: .exists)
        let next = try #require(try await pages.next())
        #expect(next.map { $0.event is OrderVoided } == [true])
        #expect(pages.checkpoint.position == Position(2))
    }

    @Test("a Swift type that is not what the shape says is found before it is used")
    func drift() throws {
        struct Reads: Event {
            static let type = "OrderPlaced"
            static let version = SchemaVersion(2)
            var id, customer: String
            var cents: String
        }
        struct Writes: Event {
            static let type = "OrderPlaced"
            static let version = SchemaVersion(2)
            var id, customer: String
            var cents: Int
            var note = "more"
            private enum CodingKeys: String, CodingKey { case id, customer, cents, note }
            init(from decoder: any Decoder) throws {
                let container = try decoder.container(keyedBy: CodingKeys.self)
                id = try container.decode(String.self, forKey: .id)
                customer = try container.decode(String.self, forKey: .customer)
                cents = try container.decode(Int.self, forKey: .cents)
            }
        }
        struct Missing: Event {
            static let type = "OrderForgotten"
            static let version = SchemaVersion(2)
        }
        func ids(_ type: any Event.Type) throws -> [String] { try EventCatalogue { type }.check(try files.load()).map(\.id) }
        #expect(try ids(Reads.self) == ["TYPE102", "TYPE104"])
        #expect(try ids(Writes.self) == ["TYPE103", "TYPE104"])
        #expect(try ids(Missing.self) == ["TYPE101", "TYPE104", "TYPE104"])
    }

    @Test("a row's dates and decimals come back as they were")
    func rows() async throws {
        struct Sum: Codable, Equatable, Sendable {
            var total: Decimal
            var latest: Date
        }
        let sums = try TypedProjection("sums", revision: 1, row: Sum.self) {
            RowHandler(OrderPlaced.self, key: { _ in "all" }) { row, placed, _ in
                row = Sum(total: (row?.total ?? 0) + Decimal(placed.cents) / 100, latest: Date(timeIntervalSince1970: 0.5))
            }
        }
        let temporary = try await store([sums])
        var found: [String] = []
        try await temporary.store.query("sums") { row in
            found.append(row.json)
            let sum = try row.decode(Sum.self)
            #expect(sum == Sum(total: Decimal(7) / 100, latest: Date(timeIntervalSince1970: 0.5)))
            return true
        }
        #expect(found == [#"{"latest":"1970-01-01T00:00:00.500Z","total":0.07}"#])
    }

    @Test("what the catalogue lacks is an error, never passed by")
    func unknown() async throws {
        let temporary = try await store()
        defer { withExtendedLifetime(temporary) {} }
        let store = temporary.store
        let narrow = try EventCatalogue { OrderVoided.self }
        #expect(
            performing: { try store.read(StreamName("order-0"), as: narrow) }, throws: { ($0 as? EvstoreError)?.code == "programNeeded" })
    }

    @Test("a kept state of another revision, or of a store whose versions changed, is folded anew")
    func cacheMisses() async throws {
        let temporary = try await store()
        defer { withExtendedLifetime(temporary) {} }
        let store = temporary.store
        let stream = try StreamName("order-0")
        func fold(_ revision: Int) throws -> StreamFold<Int> {
            try StreamFold("cents", revision: revision, initial: 0) {
                StateHandler(OrderPlaced.self) { sum, placed, _ in sum += placed.cents * revision }
            }
        }
        let cache = StateCache<Int>()
        #expect(try store.state(of: stream, fold(1), cache: cache).value == 7)
        #expect(try store.state(of: stream, fold(1), cache: cache).wasKept)
        let changed = try store.state(of: stream, fold(2), cache: cache)
        #expect((changed.wasKept, changed.value) == (false, 14))
        _ = try await store.rollback(to: SchemaVersion(1))
        #expect(try !store.state(of: stream, fold(2), cache: cache).wasKept)
        let empty = try store.state(of: StreamName("order-9"), fold(2), cache: cache)
        #expect(empty.expectation == .noStream)
    }
}
