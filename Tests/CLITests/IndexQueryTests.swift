import Foundation
import TestSupport
import Testing

@Suite("Queries by an index, on the command line")
struct IndexQueryTests {
    private func shop() throws -> Shop {
        let shop = try Shop()
        let indexed = Shop.projections.replacing(
            "      key: /id\n", with: "      key: /id\n      indexes: {by-total: [/state, /total]}\n")
        try shop.write("schemas/projections.yaml", indexed)
        try shop.write("orders.jsonl", Shop.orders)
        try shop.must("import \(shop.path("orders.jsonl")) --as v1 --schemas SCHEMAS")
        try shop.must("replay --to v3 --schemas SCHEMAS")
        return shop
    }

    private func keys(_ outcome: BuiltProgram.Outcome) -> [String] {
        outcome.lines.compactMap { $0.split(separator: "\"").dropFirst(3).first.map(String.init) }
    }

    @Test("rows come by the values of the index's members, in either direction and page by page, and are counted")
    func rows() throws {
        let shop = try shop()
        #expect(keys(try shop.must("query orders --index by-total")) == ["2", "3", "1"])
        #expect(keys(try shop.must("query orders --index by-total --equals open")) == ["2", "3"])
        #expect(keys(try shop.must("query orders --index by-total --equals open --equals 900 --json")) == ["3"])
        #expect(keys(try shop.must("query orders --index by-total --equals open --from 701")) == ["3"])
        #expect(keys(try shop.must("query orders --index by-total --equals open --to 900.0 --backwards")) == ["2"])
        #expect(keys(try shop.must("query orders --index by-total --equals open --from -5 --backwards")) == ["3", "2"])
        #expect(keys(try shop.must(#"query orders --index by-total --equals "open" --equals "900""#)).isEmpty)
        #expect(try shop.must("query orders --index by-total --equals open --count").output == "2\n")
        #expect(try shop.must("query orders --index by-total --equals open --format tsv --columns /total").lines == ["2\t700", "3\t900"])
        let first = try shop.must("query orders --index by-total --limit 2")
        let cursor = try #require(first.errors.split(separator: " ").last?.trimmingCharacters(in: .newlines))
        #expect(keys(first) == ["2", "3"] && first.errors.hasPrefix("note: more rows follow: --after i"))
        let rest = try shop.must("query orders --index by-total --limit 2 --after \(cursor)")
        #expect(keys(rest) == ["1"] && rest.errors.isEmpty)
        let none = try shop.must("query orders --index by-total --equals void")
        #expect(none.lines.isEmpty && none.errors == "note: orders at v3 has no rows there\n")
        #expect(keys(try shop.must("query orders --index by-total --at v1")) == ["2", "3", "1"])
    }

    @Test(
        "what can't be meant is said",
        arguments: [
            ("--equals open", "--equals needs --index NAME"), ("2 --index by-total", "--index excludes a KEY and --prefix"),
            ("--index by-x", #"orders at v3 has no index "by-x": it has by-total"#),
            ("--index by-total --equals a --equals b --equals c", "has 2 members, and 3 were asked for"),
            ("--index by-total --after k2", "this cursor of --after is none of an index"),
            ("--after i0102", "this cursor of --after needs --index NAME"),
            ("--index by-total --after i05", "the cursor is none of the index"),
            ("--index by-total --limit 0", "--limit is at least 1"),
        ])
    func mistakes(_ options: String, _ message: String) throws {
        let outcome = try shop().run("query orders \(options)")
        #expect(outcome.exit == 2 && outcome.errors.contains(message), "\(outcome.errors)")
    }
}
