import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// Rows in the order of declared indexes, always compared with a slow sort of all rows.
@Suite("Indexes of read models")
struct IndexTests {
    private static let versions = [
        """
        evstore: 1
        version: 1
        events:
          Put: {required: [id], properties: {id: {type: string}, state: {type: string}, total: {type: number}}}
          Gone: {required: [id], properties: {id: {type: string}}}
        """,
        """
        evstore: 1
        version: 2
        upcast: [{on: Put, do: [{move: {from: /total, path: /sum}}]}]
        events:
          Put: {required: [id], properties: {id: {type: string}, state: {type: string}, sum: {type: number}}}
          Gone: {required: [id], properties: {id: {type: string}}}
        """,
    ]
    private static let projections = """
        evstore: 1
        projections:
          things:
            - since: 1
              key: /id
              on: {Put: {set: {/state: /state, /total: /total}}, Gone: delete}
              indexes: {by-state: /state, by-total: [/state, /total]}
            - since: 2
              key: /id
              on: {Put: {set: {/state: /state, /sum: /sum}}, Gone: delete}
              indexes: {by-state: /state, by-total: [/state, /sum]}
        """

    private static let states = [
        "open", "paid", "void", "o", "ö", "", "o\0", "o\0\0p", "o\u{1}", "\u{10ffff}", String(repeating: "long", count: 200),
    ]

    private func store(_ secret: StoreSecret? = nil) async throws -> TemporaryStore {
        var options = Options.forTests
        options.secret = secret
        return try await TemporaryStore.make(
            SchemaFiles(versions: Self.versions, projections: Self.projections).load(), at: SchemaVersion(1), options: options)
    }

    /// Events that put, change and remove rows; some keys and states are longer than an entry has room for.
    private func events(_ count: Int, at version: Int, _ random: inout SeededGenerator) throws -> [NewEvent] {
        try (0 ..< count).map { _ in
            let number = Int.random(in: 0 ..< 60, using: &random)
            let id = number % 10 == 0 ? String(repeating: "k", count: 440) + "\(number)" : "\(number)"
            if Int.random(in: 0 ..< 5, using: &random) == 0 { return try .event("t-\(number)", "Gone", #"{"id":"\#(id)"}"#, at: version) }
            var members = [#""id":"\#(id)""#]
            if let state = Self.states.randomElement(using: &random), number % 7 != 0 { members.append("\"state\":\(spelled(state))") }
            let total = "\(Int.random(in: -20 ... 20, using: &random))" + ["", ".5", ".25"][number % 3]
            members.append("\"\(version == 1 ? "total" : "sum")\":\(total)")
            return try .event("t-\(number)", "Put", "{" + members.joined(separator: ",") + "}", at: version)
        }
    }

    /// As JSON, which has no control characters.
    private func spelled(_ text: String) -> String {
        "\"" + text.replacing("\0", with: "\\u0000").replacing("\u{1}", with: "\\u0001") + "\""
    }

    private struct Thing: Decodable, Sendable {
        var state: String?
        var total, sum: Double?
        var amount: Double { total ?? sum ?? .nan }
    }

    /// All rows with their values, by key.
    private func all(_ store: EventStore, at version: Int? = nil) async throws -> [TypedRow<Thing>] {
        try await store.query("things", at: version.map { SchemaVersion($0) }, as: Thing.self, limit: .max).rows
    }

    /// What comes first: by state, amount and key, as texts and numbers are.
    private func precedes(_ a: TypedRow<Thing>, _ b: TypedRow<Thing>) -> Bool {
        if a.value.state != b.value.state {
            guard let first = a.value.state, let second = b.value.state else { return a.value.state == nil }
            return first.utf8.lexicographicallyPrecedes(second.utf8)
        }
        if a.value.amount != b.value.amount { return a.value.amount < b.value.amount }
        return a.key.utf8.lexicographicallyPrecedes(b.key.utf8)
    }

    /// Compares every question with the slow sort.
    private func check(_ store: EventStore, at version: Int? = nil, _ random: inout SeededGenerator) async throws {
        let at = version.map { SchemaVersion($0) }
        let sorted = try await all(store, at: version).sorted(by: precedes)
        let whole = try await store.query("things", at: at, index: "by-total", limit: .max)
        // Values that do not fit in an entry are in the order of their first bytes.
        let isShort = { (row: TypedRow<Thing>) in row.value.state?.utf8.count ?? 0 < 100 && row.key.utf8.count < 100 }
        let short = Set(sorted.filter(isShort).map(\.key))
        #expect(Set(whole.rows.map(\.key)) == Set(sorted.map(\.key)) && whole.rows.count == sorted.count)
        #expect(whole.rows.map(\.key).filter(short.contains) == sorted.map(\.key).filter(short.contains))
        for state in Self.states {
            let (low, high) = (Int.random(in: -20 ... 0, using: &random), Int.random(in: 1 ... 20, using: &random))
            let expected = sorted.filter { $0.value.state == state && $0.value.amount >= Double(low) && $0.value.amount < Double(high) }
            let (value, from, to) = (IndexValue(state), IndexValue(low), IndexValue(high))
            let counted = try await store.count("things", at: at, index: "by-total", equals: [value], from: from, to: to)
            #expect(counted.rows == UInt64(expected.count))
            for backwards in [false, true] {
                var (seen, cursor): ([String], QueryCursor?) = ([], nil)
                let limit = Int.random(in: 1 ... 5, using: &random)
                repeat {
                    let page = try await store.query(
                        "things", at: at, index: "by-total", equals: [value], from: from, to: to, backwards: backwards, limit: limit,
                        after: cursor.flatMap { QueryCursor($0.description) })
                    seen += page.rows.map(\.key)
                    cursor = page.next
                } while cursor != nil
                let keys = backwards ? expected.reversed().map(\.key) : expected.map(\.key)
                #expect(Set(seen) == Set(keys) && seen.count == keys.count)
                #expect(seen.filter(short.contains) == keys.filter(short.contains))
            }
        }
        let without = try await store.query("things", at: at, index: "by-state", equals: [nil], limit: .max)
        let expected = sorted.filter { $0.value.state == nil && isShort($0) }.map(\.key).sorted()
        #expect(without.rows.map(\.key).filter(short.contains) == expected)
    }

    @Test("rows are found as a slow sort finds them: followed, built, migrated and rolled back", arguments: [false, true])
    func agrees(_ isSealed: Bool) async throws {
        var random = SeededGenerator.announced()
        let temporary = try await store(isSealed ? .key([UInt8](repeating: 7, count: 32)) : nil)
        let store = temporary.store
        try await check(store, &random)
        for _ in 0 ..< 4 {
            _ = try await store.append(try events(40, at: 1, &random))
            try await check(store, &random)
        }
        _ = try await store.migrate(to: SchemaVersion(2))
        try await check(store, &random)
        _ = try await store.append(try events(60, at: 2, &random))
        try await check(store, &random)
        let before = try store.projections().first?.digest
        _ = try await store.rollback(to: SchemaVersion(1))
        try await check(store, &random)
        try await check(store, at: 2, &random)
        #expect(try store.projections(at: SchemaVersion(2)).first?.digest == before)
        #expect(try await store.maintenance.verify(deep: true).ok)
    }

    @Test("an index that is built in several sorted runs has the order of one")
    func runs() async throws {
        var options = Options.forTests
        options.buildMemoryBytes = 1 << 19
        let temporary = try await TemporaryStore.make(
            SchemaFiles(versions: Self.versions, projections: Self.projections).load(), at: SchemaVersion(1), options: options)
        let store = temporary.store
        // Each 8,192 rows make a run: their entries take twice the memory.
        let count = 20_000
        for start in stride(from: 0, to: count, by: 1_000) {
            let numbers = start ..< start + 1_000
            _ = try await store.append(
                try numbers.map { try .event("t-\($0)", "Put", #"{"id":"\#($0)","total":\#($0 * 7_919 % 5_000)}"#, at: 1) })
        }
        _ = try await store.migrate(to: SchemaVersion(2))
        let rows = try await store.query("things", as: Thing.self, index: "by-total", limit: .max).rows
        #expect(rows.count == count && rows.map(\.key) == rows.sorted(by: precedes).map(\.key))
        #expect(try await store.maintenance.verify(deep: true).ok)
    }

    @Test("an index that does not exist, values beyond its members and cursors of another order are refused")
    func refused() async throws {
        let temporary = try await store()
        let store = temporary.store
        var random = SeededGenerator.announced()
        _ = try await store.append(try events(60, at: 1, &random))
        func message(_ body: () async throws -> Void) async -> String {
            do { try await body() } catch { return (error as? EvstoreError)?.message ?? "\(error)" }
            return ""
        }
        #expect(
            await message { _ = try await store.query("things", index: "by-x") }
                == #"things at v1 has no index "by-x": it has by-state, by-total"#)
        #expect(
            await message { _ = try await store.query("things", index: "by-state", equals: ["open"], from: 1) }
                == "the index by-state of things has 1 member, and 2 were asked for")
        let byKey = try #require(try await store.query("things", limit: 1).next)
        let byState = try #require(try await store.query("things", index: "by-state", limit: 1).next)
        #expect(await message { _ = try await store.query("things", index: "by-total", after: byKey) }.hasPrefix("the cursor is none"))
        #expect(await message { _ = try await store.query("things", index: "by-total", after: byState) }.hasPrefix("the cursor is none"))
        #expect(await message { _ = try await store.query("things", after: byState) } == "the cursor is one of an index: name the index")
        #expect(QueryCursor("i") == nil && QueryCursor("izz") == nil && QueryCursor(byState.description) == byState)
    }

    @Test("nothing of an index lies on the disk of a sealed store")
    func sealed() async throws {
        let temporary = try await store(.key([UInt8](repeating: 7, count: 32)))
        _ = try await temporary.store.append([try .event("t-1", "Put", #"{"id":"1","state":"tellingly","total":1}"#)])
        #expect(try await temporary.store.query("things", index: "by-state", equals: ["tellingly"]).rows.map(\.key) == ["1"])
        try await temporary.store.close()
        let files = try #require(FileManager.default.enumerator(atPath: temporary.path)).compactMap { $0 as? String }
        for file in files where file.hasSuffix("data.mdb") {
            let bytes = try Data(contentsOf: URL(filePath: temporary.path + "/" + file))
            #expect(bytes.range(of: Data("tellingly".utf8)) == nil, "\(file)")
        }
    }

    @Test("a projection in Swift has indexes, too")
    func swift() async throws {
        struct Shouts: SwiftProjection {
            struct Row: Codable { var state: String }
            let name = "shouts"
            let since = SchemaVersion(1)
            let revision = 1
            let consumes: Set<String> = ["Put"]
            let indexes = ["by-state": ["/state"]]
            func keys(of event: RecordedEvent) -> [String] { [event.stream.text] }
            func apply(_ event: RecordedEvent, key: String, to row: inout Row?) { row = Row(state: event.json.uppercased()) }
        }
        let schemas = try SchemaFiles(versions: Self.versions, projections: Self.projections).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), projections: [Shouts()])
        let store = temporary.store
        _ = try await store.append([
            try .event("b", "Put", #"{"id":"1"}"#, at: 1), try .event("a", "Put", #"{"id":"2"}"#, at: 1),
        ])
        #expect(try await store.query("shouts", index: "by-state").rows.map(\.key) == ["b", "a"])
    }
}
