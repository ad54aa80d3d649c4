import Bytes
import EventLog
import EventModel
import LMDB
import TestStores
import Testing

@testable import Migration
@testable import Projections

extension OrdersStore {
    /// Two events for each of so many orders.
    fileprivate func fill(_ orders: ClosedRange<Int> = 1 ... 6, born: Int) async throws {
        for order in orders {
            try await place(order, amount: "\(order)00", name: "ada \(order % 2)", born: born)
            try await pay(order, by: order % 3 == 0 ? "card" : "cash", born: born)
        }
    }

    fileprivate func buildLive() async throws { try await MissingGenerations.build(context(), at: try state.live) }

    fileprivate func plan(to version: Int) throws -> PlanReport {
        try Plan.run(context(), to: SchemaVersion(version), files: history, definitions: definitions)
    }
}

@Suite("A migration of rows")
struct LiveRowsTests {
    @Test("makes of the live rows what a replay makes of events, as the plan says, and leads back and forward again")
    func same() async throws {
        // Given a store at version 3, from which to 5 a type gets another name and a new one comes.
        let store = try OrdersStore(at: 3)
        try await store.fill(born: 3)
        try await store.buildLive()
        let plan = try store.plan(to: 5)
        #expect(plan.ways.map(\.projection) == ["methods", "orders"])
        #expect(plan.ways.map(\.rows) == [2, 6])
        #expect((plan.events, plan.notSeen, plan.refused.count) == (0, 0, 0))
        // When it is taken there.
        let report = try await store.migrate(to: 5)
        // Then no event is read, and the rows are those of a replay.
        #expect(report.fromRows == ["methods", "orders"] && report.rebuilt == report.fromRows && report.carried == ["names"])
        #expect((report.rows, report.events, report.upcast) == (8, 0, 0))
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
        // Then events of the new version are folded into them, and are kept on the way back and forward again.
        try await store.void(1, born: 5)
        try await store.fill(5 ... 9, born: 5)
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
        try await store.rollback(to: 3)
        try await store.fill(9 ... 10, born: 3)
        #expect(try await store.freshDigests(at: 3) == store.liveDigests())
        try await store.migrate(to: 5)
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
    }

    @Test("is not made where it is asked to read the events, or where an event is in quarantine, or for few events a row")
    func fromEvents() async throws {
        for asked in [true, false] {
            let store = try OrdersStore(at: 3)
            try await store.fill(born: 3)
            // Given an event that the older read model could not fold; its key is missing.
            if !asked { try await store.append("OrderPaid", #"{"id":"1"}"#, born: 3, to: "order-1") }
            try await store.buildLive()
            let report = try await store.migrate(to: 5, MigrationOptions(fromEvents: asked, onError: .quarantine))
            #expect(report.fromRows == (asked ? [] : ["orders"]))
            #expect(try await store.freshDigests(at: 5) == store.liveDigests())
        }
        let store = try OrdersStore(at: 3)
        for order in 1 ... 5 { try await store.place(order, born: 3) }
        try await store.buildLive()
        let way = try #require(try store.plan(to: 5).ways.first { $0.projection == "orders" })
        #expect(way.rows == nil && way.because == "it has more rows than half of its events")
    }

    @Test("adds an index to a read model without a look at its events")
    func index() async throws {
        let store = try OrdersStore(at: 3, knowing: 4)
        try await store.fill(born: 3)
        try await store.buildLive()
        // When the definition gets an index at the live version.
        let text = OrdersHistory.projections.replacing(
            "    - since: 2\n      key: /id\n", with: "    - since: 2\n      key: /id\n      indexes: {byName: [/name, /amount]}\n")
        let indexed = try DefinitionSet.load(text: Array(text.utf8), file: "projections.yaml", history: store.history)
        let live = try store.state.live
        let report = try await Replay.run(store.context(), to: live, files: store.history, definitions: indexed)
        #expect(report.fromRows == ["orders"] && report.events == 0)
        #expect(try await store.freshDigests(at: 3) == store.liveDigests())
    }

    @Test("is not made of a row that somebody has changed, and the replay goes on from events")
    func damaged() async throws {
        let store = try OrdersStore(at: 3)
        try await store.fill(born: 3)
        try await store.buildLive()
        let generationSet = try GenerationSet.registered(store.context(), at: SchemaVersion(3), try store.state)
        let entry = try #require(generationSet.entries.first { $0.name == "orders" })
        let generation = try generationSet.open(try #require(entry.directory))
        try generation.environment.write { transaction in
            try generation.rows.put(Array("1".utf8).lent, Array(#"{"amount":1}"#.utf8).lent, &transaction)
        }
        let way = try #require(try store.plan(to: 5).ways.first { $0.projection == "orders" })
        #expect(way.rows == nil && way.because?.contains("digest") == true)
        let report = try await store.migrate(to: 5)
        #expect(report.rebuilt == ["methods", "orders"] && report.fromRows == ["methods"])
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
    }

    @Test("holds for the types and births that the log had; another one that comes meanwhile is noticed")
    func other() async throws {
        let store = try OrdersStore(at: 3, knowing: 4)
        try await store.fill(born: 3)
        let rows = try LiveRows(store.context(), try store.state)
        try await store.place(7, born: 3)
        #expect(try rows.haveAll(store.context()))
        try await store.void(7, born: 4)
        #expect(try !rows.haveAll(store.context()))
    }
}
