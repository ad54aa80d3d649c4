import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// What the page `Calls` shows, in its order. `DocumentedBlocksTests` finds its blocks here.
@Suite("The calls of the page Calls")
struct CallsPageTests {
    private struct Placed: Event {
        static let type = "OrderPlaced"
        static let version: SchemaVersion = 2
        var id, customer: String, cents: Int
    }

    private struct Voided: Event {
        static let type = "OrderVoided"
        static let version: SchemaVersion = 2
        var id: String
    }

    private struct Row: Codable, Equatable, Sendable { var customer: String, cents: Int }

    private static let v1 = """
        evstore: 1
        version: 1
        events:
          OrderPlaced: {stream: "order-{/id}", required: [id, customer, total], properties: {id: {type: string}, customer: {type: string}, total: {type: integer}}}
          OrderVoided: {stream: "order-{/id}", required: [id], properties: {id: {type: string}}}
        """

    private static let projections = """
        evstore: 1
        projections:
          orders:
            - {since: 1, key: /id, on: {OrderPlaced: {set: {/customer: /customer, /cents: /total}}, OrderVoided: delete}, indexes: {by-customer: /customer}}
            - {since: 2, like: previous, on: {OrderPlaced: {set: {/customer: /customer, /cents: /cents}}}}
        """

    private static var schemas: Schemas {
        get throws {
            let step = "upcast: [{on: OrderPlaced, do: [{move: {from: /total, path: /cents}}]}]\n"
            let v2 = v1.replacing("version: 1", with: "version: 2\n" + step).replacing("total", with: "cents")
                .replacing("{move: {from: /cents", with: "{move: {from: /total")
            return try SchemaFiles(v1, v2, projections: projections).load()
        }
    }

    private func fold() throws -> StreamFold<Bool> {
        try StreamFold("void", revision: 1, initial: false) { StateHandler(Voided.self) { isVoid, _, _ in isVoid = true } }
    }

    @Test("appending, deciding and reading")
    func events() async throws {
        let temporary = try await TemporaryStore.make(Self.schemas, at: SchemaVersion(2))
        let store = temporary.store
        let (order, other) = (try StreamName("order-7"), try StreamName("order-8"))
        try await store.append(Placed(id: "8", customer: "Bo", cents: 1), to: other, expecting: .noStream)
        let (fold, cache) = (try fold(), StateCache<Bool>())
        let catalogue = try EventCatalogue {
            Placed.self
            Voided.self
        }

        let receipt = try await store.append(
            Placed(id: "7", customer: "Ada", cents: 1250), to: order, expecting: .noStream, id: EventID("place-7"))
        let (position, revision): (UInt64, UInt64) = (receipt.position.rawValue, receipt.revision.rawValue)
        let known = try store.receipt(ofAppend: EventID("place-7"))  // nil where there is no such append
        #expect(position == 2 && revision == 0 && known?.position == receipt.position)

        let both = [try NewEvent(Voided(id: "8"), to: other), try NewEvent(Voided(id: "7"), to: order, id: EventID("void-7"))]
        let conditions = [StreamCondition(other, .exists), StreamCondition(order, .revision(0))]
        try await store.append(both, conditions: conditions)
        #expect(try store.last().position == 4)

        let decision = try await store.decide(
            on: order, fold, also: [StreamCondition(other, .exists)], cache: cache, id: EventID("again-7")
        ) {
            isVoid in isVoid ? [] : [Voided(id: "7")]
        }
        if decision.receipt == nil { print("nothing was appended, for \(decision.state?.value == true)") }
        #expect(decision.receipt == nil && decision.attempts == 1)

        for event in try store.read(order, at: 1) {
            print(event.position, event.revision, event.type, event.id, event.time, event.json)
        }
        for try await event in store.events(at: 2) { print(event.position, event.stream, event.type) }
        for try await typed in store.events(as: catalogue) { if let placed = typed.event as? Placed { print(placed.customer) } }
        #expect(try store.read(order, at: 1).map(\.json) == [#"{"id":"7","customer":"Ada","total":1250}"#, #"{"id":"7"}"#])
    }

    @Test("what fails, and what is said of it")
    func errors() async throws {
        let temporary = try await TemporaryStore.make(Self.schemas, at: SchemaVersion(2))
        let (store, order) = (temporary.store, try StreamName("order-7"))
        var isCaught = false

        do {
            try await store.append(Voided(id: "7"), to: order, expecting: .revision(3))
        } catch {
            guard case .expectationFailed(let stream, _, let actual) = error else { throw error }
            print(stream, actual?.rawValue ?? 0, error.code, error.message, error.fix ?? "")
            isCaught = true
        }
        #expect(isCaught)
    }

    @Test("rows, migrations, and the state of the store")
    func operation() async throws {
        let temporary = try await TemporaryStore.make(Self.schemas, at: SchemaVersion(1))
        let path = temporary.path
        try await temporary.store.append([.event("order-1", "OrderPlaced", #"{"id":"1","customer":"Ada","total":5}"#, at: 1)])
        try await temporary.store.close()
        let schemas = try Self.schemas
        let store = try await EventStore.open(path, schemas: schemas)

        let plan = try await store.plan(to: 2)
        if plan.pending, plan.refused.isEmpty { print(plan.events, plan.rebuild, plan.carry, plan.gone, plan.duration, plan.needs) }
        let replayed = try await store.migrate(to: 2, options: MigrationOptions(yes: true))
        print(replayed.from, replayed.to, replayed.events, replayed.rebuilt, replayed.quarantined, replayed.duration)
        #expect(plan.pending && replayed.to == 2 && replayed.events == 1)

        let planned = try await store.planRollback()
        if let refusal = planned.refused.first { print(refusal.error.message) }
        let back = try await store.rollback()
        print(back.from, back.to, back.tail, back.loss?.map(\.what) ?? [])
        #expect(planned.refused.isEmpty && back.to == 1 && back.tail == 0)

        try await store.migrate(to: 2)
        let closed = try await store.finalize(2)
        print(closed.floor, closed.pruned)
        #expect(closed.floor == 2)

        let row = try await store.query("orders", as: Row.self, key: "1")
        let adas = try await store.query("orders", as: Row.self, index: "by-customer", equals: [IndexValue("Ada")], limit: 10)
        let counted = try await store.count("orders", index: "by-customer", equals: [IndexValue("Ada")])
        print(adas.rows.map(\.key), adas.next?.description ?? "the last page", adas.note.lag, counted.rows)
        #expect(row == Row(customer: "Ada", cents: 5) && adas.rows.map(\.key) == ["1"] && counted.rows == 1)

        let status = try store.status()
        print(status.versions.floor, status.versions.live, status.versions.top, status.position, status.freeBytes)
        for model in status.projections { print(model.name, model.rows, model.lag, model.quarantined) }
        for complaint in status.complaints { print(complaint.code, complaint.message, complaint.advice) }
        #expect(status.healthy && status.versions.live == 2 && status.projections.map(\.name) == ["orders"])

        for lacking in try store.quarantine() { print(lacking.projection, lacking.position, lacking.error) }
        for entry in try store.maintenance.journal().suffix(3) { print(entry.time, entry.kind, entry.outcome) }
        try await store.close()
    }

    @Test("consumers, and what they have put aside")
    func consumers() async throws {
        struct Down: Error {}
        let temporary = try await TemporaryStore.make(Self.schemas, at: SchemaVersion(2))
        let store = temporary.store
        try await store.append(Placed(id: "1", customer: "Ada", cents: 1), to: StreamName("order-1"), expecting: .noStream)

        var options = ConsumerOptions(retry: RetryPolicy(attemptsMax: 1, firstPause: .milliseconds(1)))
        (options.onFailure, options.concurrency, options.endsAtLogEnd) = (.park, 4, true)
        try await store.consume("mailer", matching: .type("OrderPlaced"), at: 2, options: options) { event, context in
            print(event.position, context.attempt)
            throw Down()
        }
        for consumer in try store.consumers() {
            print(consumer.name, consumer.place.position, consumer.lag, consumer.parked, consumer.holder ?? "")
        }
        for event in try store.parked(of: "mailer") { print(event.position, event.type, event.attempts, event.error) }
        let retried = try await store.maintenance.retryParked(of: "mailer")
        let dropped = try await store.maintenance.dropParked(of: "mailer", position: 1, reason: "the address is gone")
        #expect(try retried == 1 && dropped == 1 && store.consumers().first?.place.position == 1 && store.parked(of: "mailer").isEmpty)
    }
}
