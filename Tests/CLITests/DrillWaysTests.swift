import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The way that a drill rehearses")
struct DrillWaysTests {
    private func rehearsed(_ shop: Shop, _ line: String) throws -> String? {
        let shown = try shop.must(line).output
        return shown.firstMatch(of: #/roll back to (v[0-9]+), keeping them/#).map { String($0.1) }
    }

    @Test("is the one that a rollback would take, wherever the store came from; with --from another one")
    func ways() throws {
        var random = SeededGenerator.announced()
        for _ in 0 ..< 2 {
            let shop = try Shop.open()
            let first = Int.random(in: 2 ... 3, using: &random)
            try shop.must("replay --to v\(first) --schemas SCHEMAS")
            if first < 3, Bool.random(using: &random) { try shop.must("replay --to v3 --schemas SCHEMAS") }
            let to = try member(shop.must("rollback --plan --json").line, "to")
            let target = try #require(to)
            let number = try member(shop.must("status --json").line, "live")
            let live = try #require(number.flatMap { Int($0) })
            let way = try rehearsed(shop, "drill --to v\(live)")
            #expect(way == "v\(target)", "live v\(live)")
            if live == 3 { #expect(try rehearsed(shop, "drill --from v1") == "v1") }
            #expect(try shop.run("drill --from v\(live)").exit == 2)
            try shop.must("rollback")
            #expect(try member(shop.must("status --json").line, "live") == target)
        }
    }

    @Test("where no version has a read model, events are compared, and what was not exercised is said")
    func withoutReadModels() throws {
        let shop = try Shop()
        try FileManager.default.removeItem(atPath: shop.path("schemas/projections.yaml"))
        try shop.must("import - --as v1 --schemas SCHEMAS", input: Shop.orders)
        let line = try shop.must("drill --to v3 --schemas SCHEMAS --json").line
        #expect(try member(line, "passed") == "true")
        #expect(try member(line, "notExercised")?.contains("read models at v1: it has none") == true)
        #expect(try shop.must("drill --to v3 --schemas SCHEMAS").output.contains("4 events shown as in the store"))
    }
}
