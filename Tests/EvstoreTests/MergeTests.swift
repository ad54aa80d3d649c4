import Evstore
import EvstoreTesting
import Testing

@Suite("Events of one append that a step merges")
struct MergeTests {
    static let v1 = """
        evstore: 1
        version: 1
        events:
          Named:
            stream: "item-{/id}"
            required: [id, name]
            properties: {id: {type: string}, name: {type: string}}
          Priced:
            stream: "item-{/id}"
            required: [id, price]
            properties: {id: {type: string}, price: {type: integer}}
        """

    static let v2 = """
        evstore: 1
        version: 2
        upcast:
          - merge-events: {types: [Named, Priced], into: Listed, on: /id}
        events:
          Listed:
            stream: "item-{/id}"
            required: [id, name]
            properties: {id: {type: string}, name: {type: string}, price: {type: integer}}
        """

    static let projections = """
        evstore: 1
        projections:
          items:
            - since: 1
              key: /id
              on:
                Named: {set: {/name: /name}, add: {/events: {value: 1}}}
                Priced: {set: {/price: /price}, add: {/events: {value: 1}}}
            - since: 2
              key: /id
              on: {Listed: {set: {/name: /name, /price: /price}, add: {/events: {value: 1}}}}
        """

    private func named(_ id: String, _ name: String) throws -> NewEvent {
        try .event("item-\(id)", "Named", #"{"id":"\#(id)","name":"\#(name)"}"#, at: 1)
    }

    private func priced(_ id: String, _ price: Int) throws -> NewEvent {
        try .event("item-\(id)", "Priced", #"{"id":"\#(id)","price":\#(price)}"#, at: 1)
    }

    /// At version 2, with version 1 still promised; an append may end anywhere in a batch or a page.
    private func store() async throws -> TemporaryStore {
        let schemas = try SchemaFiles(Self.v1, Self.v2, projections: Self.projections).load()
        var options = Options.forTests
        (options.followBatchEvents, options.pageEventsMax) = (1, 1)
        return try await TemporaryStore.make(schemas, at: SchemaVersion(2), from: SchemaVersion(1), options: options)
    }

    private func fill(_ store: EventStore) async throws {
        _ = try await store.append([
            named("a", "Apple"), named("b", "Bread"), priced("a", 3), priced("b", 4), named("a", "Apricot"),
        ])
        _ = try await store.append([named("c", "Corn")])
        _ = try await store.append([
            .event("item-d", "Listed", #"{"id":"d","name":"Date","price":7}"#, at: 2),
            .event("item-e", "Listed", #"{"id":"e","name":"Egg"}"#, at: 2),
        ])
    }

    private func all(_ store: EventStore, at version: Int) throws -> [String] {
        var seen: [String] = []
        try store.readAll(at: SchemaVersion(version)) { event in
            seen.append("\(event.position) \(event.type) \(event.json)")
            return true
        }
        return seen
    }

    @Test("each stands where the last of them is, in the whole log and in its stream, forwards and backwards")
    func reads() async throws {
        let temporary = try await store()
        let store = temporary.store
        try await fill(store)
        #expect(
            try all(store, at: 2) == [
                #"3 Listed {"id":"a","name":"Apple","price":3}"#, #"4 Listed {"id":"b","name":"Bread","price":4}"#,
                #"5 Listed {"id":"a","name":"Apricot"}"#, #"6 Listed {"id":"c","name":"Corn"}"#,
                #"7 Listed {"id":"d","name":"Date","price":7}"#, #"8 Listed {"id":"e","name":"Egg"}"#,
            ])
        let stream = try StreamName("item-a")
        #expect(try store.read(stream, at: SchemaVersion(2)).map(\.revision) == [Revision(1), Revision(2)])
        #expect(try store.read(stream, at: SchemaVersion(2), backwards: true).map(\.revision) == [Revision(2), Revision(1)])
        #expect(try all(store, at: 1).suffix(3).map { String($0.prefix(8)) } == ["7 Named ", "7 Priced", "8 Named "])
    }

    @Test("what can't stand alone is refused alone, and taken beside what it is merged with")
    func refusesLone() async throws {
        let temporary = try await store()
        let store = temporary.store
        await #expect { try await store.append([priced("a", 3)]) } throws: { ($0 as? EvstoreError)?.code == "noImage" }
        await #expect { try await store.append([named("b", "Bread"), priced("a", 3)]) } throws: {
            ($0 as? EvstoreError)?.code == "noImage"
        }
        #expect(try await store.append([priced("a", 3), named("a", "Apple")]).positions == 1 ... 2)
    }

    @Test("a read model that follows is the one that a replay builds, also after a rollback")
    func folds() async throws {
        let temporary = try await store()
        let store = temporary.store
        _ = try await store.count("items", at: SchemaVersion(1))
        _ = try await store.count("items")
        try await fill(store)
        #expect(try await store.count("items").rows == 5)
        var rows: [String] = []
        try await store.query("items") { row in
            rows.append(row.json)
            return true
        }
        #expect(
            rows == [
                #"{"events":2,"name":"Apricot","price":3}"#, #"{"events":1,"name":"Bread","price":4}"#, #"{"events":1,"name":"Corn"}"#,
                #"{"events":1,"name":"Date","price":7}"#, #"{"events":1,"name":"Egg"}"#,
            ])
        for version in [2, 1] {
            if version == 1 { _ = try await store.rollback(to: SchemaVersion(1)) }
            let followed = try store.projections(at: SchemaVersion(version)).map { $0.digest ?? "none" }
            let fresh = try await store.migrate(to: SchemaVersion(version), options: MigrationOptions(dryRun: true)).digests
            #expect(followed == Array(fresh.values))
        }
        let plan = try await store.plan(to: SchemaVersion(2))
        #expect(plan.types.allSatisfy { $0.failures == 0 })
        #expect(plan.types.first { $0.type == "Priced" }?.changes.contains("merged") == true)
        #expect(try await store.migrate(to: SchemaVersion(2)).quarantined == 0)
        let verified = try await store.maintenance.verify(deep: true, laws: true)
        #expect(verified.ok && verified.notExercised.isEmpty)
        #expect(verified.exercised.map(\.op) == ["merge-events (op 1)"])
        #expect(verified.laws.allSatisfy { $0.tried > 0 && $0.failed == 0 }, "\(verified.laws)")
    }
}
