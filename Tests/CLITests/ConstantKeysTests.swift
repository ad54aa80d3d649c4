import EvstoreTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// What a program reads has the same keys whether there is something to tell or not: null, [] or {} where there is nothing.
@Suite("Keys that are always there")
struct ConstantKeysTests {
    /// A shop that also takes old data: orders without a version.
    private func shop() throws -> Shop {
        let shop = try Shop()
        let adopt = "adopt:\n  - {as: OrderPaid, keep: [/id]}\n  - otherwise: quarantine\nevents:"
        try shop.write("schemas/v1.yaml", ShopHistory.v1.replacing("events:", with: adopt))
        return shop
    }

    private func keysOf(_ shop: Shop, _ lines: [String], input: String? = nil) throws -> [[String]] {
        try lines.map { try keys(#require(shop.run($0, input: input).lines.last, "\($0)")) }
    }

    @Test("plan: of new and of old data, of nothing to do, refused, and without a step that the program needs")
    func plan() throws {
        let shop = try shop()
        try shop.must("import - --as 0 --schemas SCHEMAS", input: #"{"id":"1"}"# + "\n")
        var all = try keysOf(shop, ["plan --to v1 --json", "plan --to v3 --schemas SCHEMAS --json"])
        try shop.must(#"append order-9 OrderPlaced {"id":"9","customer":"Di","total":5,"code":"x"}"#)
        all += try keysOf(shop, ["plan --to v3 --schemas SCHEMAS --json"])
        try shop.write(
            "schemas/v3.yaml",
            ShopHistory.v3.replacing(
                "convert: {path: /code, to: integer, using: integer-text}",
                with: "swift: {id: codes, revision: 1, class: narrow, because: old, reads: [/code], writes: [/code]}"))
        all += try keysOf(shop, ["plan --to v3 --schemas SCHEMAS --json"])
        let first = try #require(all.first)
        #expect(first.contains("needs") && first.contains("appendsRefused") && first.contains("adoption"))
        #expect(all.allSatisfy { $0 == first }, "\(all)")
    }

    @Test("import: of old data, of new, of none, and a dry run")
    func importing() throws {
        let shop = try shop()
        let old = try keysOf(
            shop, ["import - --as 0 --schemas SCHEMAS --dry-run --json", "import - --as 0 --schemas SCHEMAS --json"],
            input: #"{"id":"1"}"# + "\n")
        let all = try old + keysOf(shop, ["import - --as v1 --json", "import - --as v1 --json"], input: Shop.orders)
        #expect(all.allSatisfy { $0 == ["read", "added", "skipped", "repeated", "quarantined", "position", "adoption"] }, "\(all)")
    }

    @Test("replay, status and verify: before and after, with laws and without, with and without something found")
    func reports() throws {
        let shop = try Shop.open()
        for line in ["status --json", "verify --json", "snapshot verify --json"] {
            let before = try keysOf(shop, [line, line + (line.hasPrefix("verify") ? " --deep --laws" : "")])
            #expect(before[0] == before[1])
        }
        let status = try keysOf(shop, ["status --json"])
        let replays = try keysOf(
            shop, ["replay --to v3 --schemas SCHEMAS --dry-run --json", "replay --to v3 --schemas SCHEMAS --json", "replay --to v3 --json"])
        #expect(replays.allSatisfy { $0 == replays[0] && $0.count > 10 }, "\(replays)")
        #expect(try keysOf(shop, ["status --json"]) == status)
    }

    @Test("schema commands: what is right, what is wrong, what is written and what stays")
    func schemas() throws {
        let shop = try Shop()
        var formats = try keysOf(shop, ["schema fmt --schemas SCHEMAS --check --json", "schema fmt --schemas SCHEMAS --json"])
        formats += try keysOf(shop, ["schema fmt --schemas SCHEMAS --check --json", "schema fmt --schemas SCHEMAS --json"])
        #expect(formats.allSatisfy { $0 == ["ok", "findings", "written", "unchanged"] }, "\(formats)")
        let right = try keysOf(shop, ["schema check --schemas SCHEMAS --json", "schema lint --schemas SCHEMAS --json"])
        let record = "schema fixtures record --schemas SCHEMAS --json"
        let records = try keysOf(shop, [record, record])
        #expect(records[0] == records[1])
        let verified = try keysOf(shop, ["schema fixtures verify --schemas SCHEMAS --json"])
        try shop.write("schemas/v2.yaml", ShopHistory.v2.replacing("value: USD", with: "value: EUR"))
        #expect(try keysOf(shop, ["schema fixtures verify --schemas SCHEMAS --json"]) == verified)
        #expect(try keysOf(shop, [record])[0] == records[0])
        try shop.write("schemas/v2.yaml", ShopHistory.v2.replacing("value: USD", with: "value: 7"))
        #expect(try keysOf(shop, ["schema check --schemas SCHEMAS --json", "schema lint --schemas SCHEMAS --json"]) == right)
    }
}
