import Evstore
import EvstoreTesting
import Foundation
import Testing

/// Rows as values: by key, in pages, as Swift types.
@Suite("Rows as values")
struct RowsTests {
    private struct Order: Codable, Equatable, Sendable {
        var state: String
        var total: Int
    }

    private func store(_ ids: [String]) async throws -> TemporaryStore {
        try await Orders.store(at: 1, events: ids.map { try Orders.placed($0, at: 1) })
    }

    @Test("a main actor asks for a row, for its value and for a page, and has them")
    @MainActor
    func fromAnActor() async throws {
        let store = try await store(["1", "2"])
        defer { withExtendedLifetime(store) {} }
        let row = try await store.store.query("orders", key: "2")
        #expect(row == ReadModelRow(key: "2", value: Array(#"{"customer":"Ann","state":"open","total":100}"#.utf8)))
        #expect(try await store.store.query("orders", as: Order.self, key: "2") == Order(state: "open", total: 100))
        #expect(try await store.store.query("orders", key: "3") == nil)
        #expect(try await store.store.query("orders", as: Order.self, key: "3") == nil)
        let page = try await store.store.query("orders")
        #expect(page.rows.map(\.key) == ["1", "2"] && page.next == nil && page.note.lag == 0)
    }

    @Test("pages of any size are all rows once, in key order, while rows come; the cursor goes on in another program")
    func pages() async throws {
        let ids = (0 ..< 23).map { "\($0)" }
        let temporary = try await store(ids)
        for limit in [1, 2, 7, 22, 23, 24, .max] {
            var (seen, cursor): ([String], QueryCursor?) = ([], nil)
            repeat {
                let page = try await temporary.store.query("orders", as: Order.self, limit: limit, after: cursor)
                #expect(page.rows.count <= limit && (page.next == nil || page.rows.count == limit))
                seen += page.rows.map(\.key)
                cursor = try page.next.map { next in
                    #expect(QueryCursor(next.description) == next)
                    return try JSONDecoder().decode(QueryCursor.self, from: JSONEncoder().encode(next))
                }
            } while cursor != nil
            #expect(seen == ids.sorted(), "limit \(limit)")
        }
        let half = try await temporary.store.query("orders", limit: 10)
        _ = try await temporary.store.append([try Orders.placed("00", at: 1), try Orders.placed("99", at: 1)])
        let rest = try await temporary.store.query("orders", after: half.next)
        #expect((half.rows + rest.rows).map(\.key) == ids.sorted() + ["99"])
    }

    @Test("a cursor that is none, a page of nothing and a type that can't read the rows are refused")
    func refused() async throws {
        struct Other: Decodable, Sendable { var total: String }
        let temporary = try await store(["1"])
        #expect(QueryCursor("") == nil && QueryCursor("k") == nil && QueryCursor("x1") == nil)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(QueryCursor.self, from: Data(#""x1""#.utf8)) }
        func code(_ body: () async throws -> Void) async -> String? {
            do { try await body() } catch { return (error as? EvstoreError)?.code }
            return nil
        }
        #expect(await code { _ = try await temporary.store.query("orders", limit: 0) } == "misuse")
        #expect(await code { _ = try await temporary.store.query("orders", as: Other.self) } == "invalidRow")
        #expect(await code { _ = try await temporary.store.query("orders", as: Other.self, key: "1") } == "invalidRow")
        #expect(await code { _ = try await temporary.store.query("nothing", key: "1") } == "unknownProjection")
    }

    @Test("a checkpoint is kept as JSON and goes on from there")
    func checkpoints() async throws {
        let temporary = try await store(["1", "2"])
        let kept = try JSONEncoder().encode(temporary.store.last())
        let checkpoint = try JSONDecoder().decode(Checkpoint.self, from: kept)
        #expect(checkpoint == Checkpoint(epoch: .first, position: Position(2)))
        _ = try await temporary.store.append([try Orders.placed("3", at: 1)])
        var pages = temporary.store.subscribe(after: checkpoint).pages.makeAsyncIterator()
        #expect(try await pages.next()?.map(\.stream.text) == ["order-3"])
    }

    @Test("the note of what was read says how many quarantined events the rows lack")
    func quarantined() async throws {
        let events = try ["12", "x", "13", "y"].enumerated().map { index, code in
            try NewEvent.event("a", "Coded", #"{"id":"\#(index)","code":"\#(code)"}"#, at: 1)
        }
        let schemas = try SchemaFiles(Coded.v1, Coded.v2, projections: Coded.projections).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), events: events)
        try await temporary.store.migrate(to: SchemaVersion(2), options: MigrationOptions(onError: .quarantine, yes: true))
        let page = try await temporary.store.query("codes")
        #expect(page.rows.map(\.key) == ["0", "2"] && page.note.quarantined == 2)
        #expect(try await temporary.store.count("codes").note.quarantined == 2)
        #expect(try await temporary.store.query("codes", at: SchemaVersion(1)).note.quarantined == 0)
    }
}

/// A text that version 2 reads as a number, which not every text is.
private enum Coded {
    static let v1 = """
        evstore: 1
        version: 1
        events:
          Coded:
            required: [id, code]
            properties: {id: {type: string}, code: {type: string}}
        """

    static let v2 = """
        evstore: 1
        version: 2
        upcast:
          - on: Coded
            do:
              - convert: {path: /code, to: integer, using: integer-text}
        events:
          Coded:
            required: [id, code]
            properties: {id: {type: string}, code: {type: integer}}
        """

    static let projections = """
        evstore: 1
        projections:
          codes:
            - since: 1
              key: /id
              on:
                Coded: {set: {/code: /code}}
        """
}
