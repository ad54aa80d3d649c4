import Bytes
import EventModel
import JSONText
import Testing

@testable import Projections

@Suite("Entries of an index")
struct RowIndexTests {
    private static let indexes = RowIndexes([
        RowIndex(name: "inner", members: [pointer("/a/b")]), RowIndex(name: "outer", members: [pointer("/a")]),
        RowIndex(name: "several", members: [pointer("/a"), pointer("/c"), pointer("/a/b")]),
    ])

    private static func pointer(_ text: String) -> JSONPointer {
        do { return try JSONPointer(text) } catch { preconditionFailure("\(text) is a pointer") }
    }

    private func ordered(_ values: [String]) -> [UInt8] {
        var bytes = ByteBuffer()
        for value in values { OrderedValue.append(Array(value.utf8).lent, to: &bytes) }
        return [UInt8](copying: bytes.bytes)
    }

    @Test(
        "members within members have their values, and what is not there is null",
        arguments: [
            (#"{"a":{"b":2,"d":[1]},"c":"x"}"#, #"{"b":2,"d":[1]}"#, "2", #""x""#),
            (#"{"c":"x","a":{"d":1}}"#, #"{"d":1}"#, "null", #""x""#),
            (#"{"a":5}"#, "5", "null", "null"), (#"{"a":null,"c":null}"#, "null", "null", "null"), ("{}", "null", "null", "null"),
            (#"{"c":{"a":{"b":1}},"a":{"b":{"b":3}}}"#, #"{"b":{"b":3}}"#, #"{"b":3}"#, #"{"a":{"b":1}}"#), ("[]", "null", "null", "null"),
        ])
    func members(_ row: String, _ outer: String, _ inner: String, _ other: String) {
        let key = Array("key".utf8)
        let entries = Self.indexes.entries(key.lent, Array(row.utf8).lent)
        let expected = [[inner], [outer], [outer, other, inner]].enumerated().map { [UInt8($0)] + ordered($1) }
        for (number, entry) in entries.enumerated() {
            #expect(entry.key == expected[number] + key && entry.text.isEmpty)
            let content = RowIndexes.content(of: entry.key.lent, entry.text.lent, Self.indexes.list[number])
            #expect(content?.place == expected[number] && content?.rowKey == key)
        }
    }

    @Test("an entry has at most 511 bytes, and what it stands for as a whole", arguments: [0, 1, 150, 297, 298, 299, 300, 400, 5_000])
    func room(_ count: Int) {
        for keyCount in [1, 10, 194, 195, 209, 210, 211, 400, 500] {
            let (text, key) = (String(repeating: "t", count: count), [UInt8](repeating: 0x6b, count: keyCount))
            let entry = Self.indexes.entries(key.lent, Array(#"{"a":"\#(text)"}"#.utf8).lent)[1]
            #expect((2 ... 511).contains(entry.key.count))
            let content = RowIndexes.content(of: entry.key.lent, entry.text.lent, Self.indexes.list[1])
            #expect(content?.place == [1] + ordered(["\"\(text)\""]) && content?.rowKey == key)
            let isWhole = count + 2 <= 300 && 1 + count + 2 + keyCount <= 511
            #expect(entry.text.isEmpty == isWhole)
        }
    }

    private static let byTotal = """
        evstore: 1
        projections:
          orders:
            - since: 1
              key: /id
              on: {OrderPlaced: {set: {/total: /total, /customer: /customer}}, OrderVoided: delete}
              indexes: {byTotal: [/customer, /total]}
        """

    /// What may meet a number that an older program has written into an index in another form.
    enum Meeting: CaseIterable { case lookUp, rising, all, follow }

    @Test(
        "numbers beyond 10^32,000 are found by each spelling, and a generation of an older program is built anew",
        arguments: Meeting.allCases)
    func farNumbers(_ meeting: Meeting) async throws {
        let store = try TestStore(Self.byTotal)
        do {
            let totals = ["-1e40000", "1e-40000", "5", "1e40000", "2e40000"]
            try await store.append(
                totals.enumerated().map { ("OrderPlaced", #"{"id":"o\#($0)","customer":"c","total":\#($1)}"#) })
            let (definition, generation) = (try store.definition(), try store.build())
            func found(_ equal: [String], from: String? = nil, to: String? = nil) throws -> [String] {
                let range = IndexRange(
                    definition.indexes, number: 0, equal: equal.map { Array($0.utf8) }, from: from.map { Array($0.utf8) },
                    to: to.map { Array($0.utf8) })
                return try generation.page(range, definition.indexes, backwards: false, limit: 10)
                    .map { String(decoding: $0.key, as: UTF8.self) }
            }
            let customer = #""c""#
            #expect(try found([customer]) == ["o0", "o1", "o2", "o3", "o4"])
            #expect(try found([customer, "10e39999"]) == ["o3"])
            #expect(try found([customer], from: "0.1e-39998", to: "1.5E40000") == ["o2", "o3"])
            // Given the entry of an older program.
            let row = Array("o3".utf8)
            let value = Array(#"{"customer":"c","total":1e40000}"#.utf8)
            let entry = definition.indexes.entries(row.lent, value.lent)[0]
            try generation.write { transaction in
                try generation.indexes?.delete(entry.key.lent, &transaction)
                let (old, nothing) = ([0] + ordered([customer]) + [0x13] + Array("1e40000".utf8) + [0] + row, [UInt8]())
                try generation.indexes?.put(old.lent, nothing.lent, &transaction)
            }
            try await store.append([("OrderVoided", #"{"id":"o3"}"#)])
            #expect(throws: EvstoreError.self) {
                switch meeting {
                case .lookUp: _ = try found([customer, "1e40000"])
                case .rising: _ = try found([customer], from: "5", to: "3e40000")
                case .all: _ = try found([])
                case .follow: try Follower(store.evolving).catchUp(generation, definition)
                }
            }
            #expect(try Generation.header(ofGeneration: generation.name, in: store.path, of: store.log) == nil)
        }
        try await store.end()
    }
}
