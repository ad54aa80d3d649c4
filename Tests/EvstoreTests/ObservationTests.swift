import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Observing read models", .timeLimit(.minutes(10)))
struct ObservationTests {
    private static let versions = [
        """
        evstore: 1
        version: 1
        events:
          Put: {required: [id, total], properties: {id: {type: string}, total: {type: integer}}}
          Gone: {required: [id], properties: {id: {type: string}}}
        """,
        """
        evstore: 1
        version: 2
        upcast: [{on: Put, do: [{move: {from: /total, path: /sum}}]}]
        events:
          Put: {required: [id, sum], properties: {id: {type: string}, sum: {type: integer}}}
          Gone: {required: [id], properties: {id: {type: string}}}
        """,
    ]
    private static let projections = """
        evstore: 1
        projections:
          things:
            - {since: 1, key: /id, on: {Put: {set: {/total: /total}}, Gone: delete}, indexes: {by-total: /total}}
            - {since: 2, key: /id, on: {Put: {set: {/sum: /sum}}, Gone: delete}, indexes: {by-total: /sum}}
        """

    private struct Thing: Codable, Equatable, Sendable { var total: Int }

    private let files: SchemaFiles

    init() throws { files = try SchemaFiles(versions: Self.versions, projections: Self.projections) }

    private func store() async throws -> TemporaryStore { try await TemporaryStore.make(try files.load(), at: SchemaVersion(1)) }

    private func put(_ id: String, _ total: Int, _ store: EventStore) async throws {
        _ = try await store.append([try .event("thing-\(id)", "Put", #"{"id":"\#(id)","total":\#(total)}"#, at: 1)])
    }

    @Test("the row of a key comes at once, and after each change of it; changes of others are no news")
    func oneRow() async throws {
        let temporary = try await store()
        let store = temporary.store
        var things = store.observe("things", as: Thing.self, key: "a").makeAsyncIterator()
        #expect(try await things.next() == .some(nil), "there is none yet")
        try await put("b", 1, store)
        try await put("a", 2, store)
        #expect(try await things.next() == Thing(total: 2))
        try await put("a", 2, store)
        try await put("a", 3, store)
        #expect(try await things.next() == Thing(total: 3))
        _ = try await store.append([try .event("thing-a", "Gone", #"{"id":"a"}"#, at: 1)])
        #expect(try await things.next() == .some(nil), "it is gone")
    }

    @Test("a query's rows come anew where one of them changed, one came or one went, and of several changes the last")
    func rows() async throws {
        let temporary = try await store()
        let store = temporary.store
        var page = store.observe("things", as: Thing.self, prefix: "a", limit: 2).makeAsyncIterator()
        var dearest = store.observe("things", index: "by-total", backwards: true, limit: 1).makeAsyncIterator()
        #expect(try await page.next()?.rows == [])
        #expect(try await dearest.next()?.rows == [])
        for number in 1 ... 20 { try await put("a\(number % 3)", number, store) }
        try await put("b", 100, store)
        let seen = try #require(await page.next())
        #expect(seen.rows == [TypedRow(key: "a0", value: Thing(total: 18)), TypedRow(key: "a1", value: Thing(total: 19))])
        #expect(seen.next != nil, "a2 is behind them")
        #expect(try await dearest.next()?.rows.map(\.key) == ["b"])
        try await put("a2", 7, store)
        try await put("a1", 8, store)
        #expect(try await page.next()?.rows.last?.value == Thing(total: 8))
    }

    @Test("flips and rollbacks go on at the live version, and leave one that is named as it is")
    func flips() async throws {
        let temporary = try await store()
        let store = temporary.store
        try await put("a", 1, store)
        var live = store.observe("things", key: "a").makeAsyncIterator()
        var pinned = store.observe("things", at: SchemaVersion(1), key: "a").makeAsyncIterator()
        #expect(try await live.next()??.json == #"{"total":1}"#)
        #expect(try await pinned.next()??.json == #"{"total":1}"#)
        _ = try await store.migrate(to: SchemaVersion(2))
        #expect(try await live.next()??.json == #"{"sum":1}"#)
        try await put("a", 2, store)
        #expect(try await live.next()??.json == #"{"sum":2}"#)
        #expect(try await pinned.next()??.json == #"{"total":2}"#)
        _ = try await store.rollback()
        #expect(try await live.next()??.json == #"{"total":2}"#)
    }

    @Test("cancellation ends an observation, and so does an error, once")
    func ends() async throws {
        let temporary = try await store()
        let store = temporary.store
        let (seen, tell) = AsyncStream.makeStream(of: ReadModelRow?.self)
        let task = Task {
            for try await row in store.observe("things", key: "a") { tell.yield(row) }
            tell.finish()
        }
        var rows = seen.makeAsyncIterator()
        #expect(await rows.next() == .some(nil))
        task.cancel()
        #expect(await rows.next() == nil, "no other value came")
        try await task.value
        var unknown = store.observe("thing", key: "a").makeAsyncIterator()
        await #expect { try await unknown.next() } throws: { ($0 as? EvstoreError)?.code == "unknownProjection" }
        #expect(try await unknown.next() == nil)
    }

    @Test("while several processes write, each value seen is one that the row had, in their order, and the last is the last")
    func others() async throws {
        let temporary = try await store()
        let store = temporary.store
        try await put("a", 0, store)
        let task = Task {
            var seen: [Int] = []
            for try await thing in store.observe("things", as: Thing.self, key: "a") {
                seen.append(thing?.total ?? -1)
                if seen.last == 300 { break }
            }
            return seen
        }
        let other = try await EventStore.open(store.path, options: .forTests)
        for number in 1 ... 300 {
            try await put(number % 3 == 0 ? "a" : "b", number, number % 2 == 0 ? store : other)
        }
        let seen = try await task.value
        #expect(seen == seen.sorted() && Set(seen).count == seen.count && seen.allSatisfy { $0 % 3 == 0 }, "\(seen)")
        try await other.close()
    }
}
