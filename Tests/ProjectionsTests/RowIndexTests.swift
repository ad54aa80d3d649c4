import Bytes
import JSONText
import Testing

@testable import Projections

@Suite("Entries of an index")
struct RowIndexTests {
    private static let indexes = RowIndexes([
        RowIndex("inner", [pointer("/a/b")]), RowIndex("outer", [pointer("/a")]),
        RowIndex("several", [pointer("/a"), pointer("/c"), pointer("/a/b")]),
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
}
