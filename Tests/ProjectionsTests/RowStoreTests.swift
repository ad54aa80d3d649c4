import Bytes
import EventModel
import Hashing
import JSONText
import SchemaEvolution
import TestSupport
import Testing

@testable import Projections

/// Rows in memory beside a dictionary that says what they should be.
@Suite struct RowStoreTests {
    @Test(
        "rows are found by their keys and keep their text while they and others move as they grow",
        arguments: 1 ... 4 as ClosedRange<UInt64>)
    func model(seed: UInt64) throws {
        print("seed \(seed)")
        var chance = SeededGenerator(seed: seed)
        let fold = try Shop.definition("key: /id\non:\n  OrderPlaced: {set: {/note: /customer}}").makeFold(.plain)
        let rule = try #require(fold.rule(of: "OrderPlaced"))
        var store = RowStore()
        var workspace = FoldWorkspace()
        var output = PreparedOperations(fold, keyBytesMax: 500)
        var expected: [String: String] = [:]
        for _ in 0 ..< 20_000 {
            let key = "order-\(Int.random(in: 0 ..< 2_000, using: &chance))"
            let bytes = Array(key.utf8)
            var row = store.find(bytes.lent, hash: checksum(bytes.lent))
            #expect((row >= 0) == (expected[key] != nil))
            // Long enough that what moved away is worth forgetting.
            let note = String(repeating: "x", count: Int.random(in: 0 ..< 900, using: &chance))
            if row < 0 {
                row = store.insert(bytes.lent, hash: checksum(bytes.lent))
            } else {
                var json = ByteBuffer()
                #expect(store.render(row, fold, into: &json))
                #expect(String(utf8: json.bytes) == expected[key])
            }
            let payload = Array(#"{"id":"\#(key)","customer":"\#(note)"}"#.utf8)
            let facts = EventFacts(epoch: .first, version: SchemaVersion(1))
            let image = Image(type: "OrderPlaced", typeIndex: 0, payload: payload.lent, part: 0)
            output.removeAll()
            output.prepare(facts, image, RuleCall(rule: rule, values: 0, metadata: [UInt8]().lent), &workspace)
            try output.forEach { try store.apply($0, to: row, fold, &workspace) }
            expected[key] = #"{"note":"\#(note)"}"#
        }
        var keys: [String] = []
        for row in store.sorted() { keys.append(store.withKey(row) { String(utf8: $0) ?? "" }) }
        #expect(keys == expected.keys.sorted())
    }
}
