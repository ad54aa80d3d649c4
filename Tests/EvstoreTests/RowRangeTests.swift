import Evstore
import EvstoreTesting
import Testing

/// Rows by prefix and range, in both directions, page by page.
@Suite("Ranges of rows")
struct RowRangeTests {
    private static let ids = ["0", "1", "10", "100", "11", "2", "20", "a", "ab", "~", "~~", String(repeating: "x", count: 190)]

    private struct Asked: CustomStringConvertible {
        var prefix, from, to: String?
        var backwards = false

        var description: String { "prefix \(prefix ?? "-") from \(from ?? "-") to \(to ?? "-") backwards \(backwards)" }

        /// The keys that a plain filter gives.
        func keys(of ids: [String]) -> [String] {
            let found = ids.filter { id in
                let isBehind = from.map { !id.utf8.lexicographicallyPrecedes($0.utf8) } ?? true
                let isBefore = to.map { id.utf8.lexicographicallyPrecedes($0.utf8) } ?? true
                return isBehind && isBefore && id.utf8.starts(with: (prefix ?? "").utf8)
            }.sorted { $0.utf8.lexicographicallyPrecedes($1.utf8) }
            return backwards ? found.reversed() : found
        }
    }

    @Test("any prefix and any two bounds give what a filter gives, both ways, in pages of any size, and the count of it")
    func ranges() async throws {
        let temporary = try await Orders.store(at: 1, events: Self.ids.map { try Orders.placed($0, at: 1) })
        let store = temporary.store
        let bounds: [String?] = [nil, "", "1", "10", "10\u{0}", "2", "é", "z", "~", "\u{10FFFF}", String(repeating: "x", count: 600)]
        for prefix in [nil, "", "1", "~", "\u{10FFFF}", "nothing", String(repeating: "x", count: 512)] {
            for from in bounds {
                for to in bounds {
                    var asked = Asked(prefix: prefix, from: from, to: to)
                    let expected = asked.keys(of: Self.ids)
                    #expect(try await store.count("orders", prefix: prefix, from: from, to: to).rows == UInt64(expected.count), "\(asked)")
                    for backwards in [false, true] {
                        asked.backwards = backwards
                        #expect(try await keys(store, asked, limit: 3) == asked.keys(of: Self.ids), "\(asked)")
                    }
                }
            }
        }
    }

    @Test("a walk that ends early goes on behind its last row, forwards and backwards")
    func goingOn() async throws {
        let temporary = try await Orders.store(at: 1, events: Self.ids.map { try Orders.placed($0, at: 1) })
        for backwards in [false, true] {
            var seen: [String] = []
            var cursor: QueryCursor?
            while true {
                var found: String?
                try await temporary.store.query("orders", backwards: backwards, after: cursor) { row in
                    found = row.key
                    return false
                }
                guard let found else { break }
                seen.append(found)
                cursor = QueryCursor(after: found)
            }
            #expect(seen == Asked(backwards: backwards).keys(of: Self.ids))
        }
    }

    private func keys(_ store: EventStore, _ asked: Asked, limit: Int) async throws -> [String] {
        var (keys, cursor): ([String], QueryCursor?) = ([], nil)
        repeat {
            let page = try await store.query(
                "orders", prefix: asked.prefix, from: asked.from, to: asked.to, backwards: asked.backwards, limit: limit, after: cursor)
            keys += page.rows.map(\.key)
            cursor = page.next
        } while cursor != nil
        return keys
    }
}
