import Bytes
import Foundation
import JSONText
import Testing

private let coding = JSONCoding()

private func decode<T: Decodable>(_ type: T.Type, _ text: String) throws -> T { try coding.decode(type, from: Array(text.utf8)) }

private func text<T: Encodable>(_ value: T) throws -> String { String(decoding: try coding.encode(value), as: UTF8.self) }

@Suite("Swift values from JSON text and back")
struct CodingTests {
    struct Line: Codable, Hashable {
        var sku: String
        var count: Int
        var price: Double?
    }

    struct Order: Codable, Hashable {
        var id: String
        var lines: [Line]
        var tags: [String: Int]
        var note: String?
    }

    @Test("members in any order, escapes, nested values, absent and null optionals")
    func order() throws {
        let order = try decode(
            Order.self,
            #" {"note":null,"tags":{"b":2,"a":1},"lines":[{"count":-2,"sku":"x\"\u00e9\ud83d\ude00"},{"price":1.5e1,"count":0,"sku":""}],"i\u0064":"7","else":[[{}]]} "#
        )
        #expect(
            order
                == Order(
                    id: "7", lines: [Line(sku: "x\"é😀", count: -2, price: nil), Line(sku: "", count: 0, price: 15)],
                    tags: ["a": 1, "b": 2],
                    note: nil))
    }

    @Test("every width takes its bounds and refuses one more")
    func integers() throws {
        func check<T: FixedWidthInteger & Codable>(_ type: T.Type, below: String, above: String) throws {
            #expect(try decode([T].self, "[\(T.min),\(T.max),0,1e0,10.0,-0]") == [T.min, T.max, 0, 1, 10, 0])
            #expect(try decode([T].self, text([T.min, T.max])) == [T.min, T.max])
            for text in [below, above, "1.5", "1e999999999"] {
                #expect(throws: DecodingError.self) { try decode([T].self, "[\(text)]") }
            }
        }
        try check(Int8.self, below: "-129", above: "128")
        try check(Int16.self, below: "-32769", above: "32768")
        try check(Int32.self, below: "-2147483649", above: "2147483648")
        try check(Int64.self, below: "-9223372036854775809", above: "9223372036854775808")
        try check(Int.self, below: "-9223372036854775809", above: "9223372036854775808")
        try check(
            Int128.self, below: "-170141183460469231731687303715884105729", above: "170141183460469231731687303715884105728")
        try check(UInt8.self, below: "-1", above: "256")
        try check(UInt16.self, below: "-1", above: "65536")
        try check(UInt32.self, below: "-1", above: "4294967296")
        try check(UInt64.self, below: "-1", above: "18446744073709551616")
        try check(UInt.self, below: "-1", above: "18446744073709551616")
        try check(UInt128.self, below: "-1", above: "340282366920938463463374607431768211456")
    }

    @Test("an error says the path to the value, and what was expected there")
    func paths() throws {
        func path(_ text: String) -> String {
            do {
                _ = try decode(Order.self, text)
                return "nothing"
            } catch DecodingError.typeMismatch(_, let context), DecodingError.dataCorrupted(let context),
                DecodingError.valueNotFound(_, let context)
            {
                return context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "/")
            } catch DecodingError.keyNotFound(let key, let context) {
                return context.codingPath.map { $0.intValue.map(String.init) ?? $0.stringValue }.joined(separator: "/") + " lacks "
                    + key.stringValue
            } catch { return "\(error)" }
        }
        #expect(path(#"{"id":"1","tags":{},"lines":[{"sku":"a","count":1},{"sku":"b","count":"2"}]}"#) == "lines/1/count")
        #expect(path(#"{"id":"1","tags":{"a":1,"b":1.5},"lines":[]}"#) == "tags/b")
        #expect(path(#"{"id":"1","tags":{},"lines":[{"sku":"a","count":1},{"count":2}]}"#) == "lines/1 lacks sku")
        #expect(path(#"{"id":null,"tags":{},"lines":[]}"#) == "id")
        #expect(path(#"{"id":"1","id":"2"}"#) == "")
        #expect(path(#"{"id":"1""#) == "")
    }

    final class Child: Codable {
        let name: String
        let parent: Order
        let rest: [Int]

        init(_ name: String, _ parent: Order) { (self.name, self.parent, rest) = (name, parent, [1, 2]) }

        private enum Keys: String, CodingKey { case name, nested, list }

        init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: Keys.self)
            parent = try Order(from: container.superDecoder())
            name = try container.nestedContainer(keyedBy: Keys.self, forKey: .nested).decode(String.self, forKey: .name)
            var list = try container.nestedUnkeyedContainer(forKey: .list)
            var inner = try list.nestedUnkeyedContainer()
            var rest: [Int] = []
            while !inner.isAtEnd { rest.append(try inner.decodeNil() ? 0 : inner.decode(Int.self)) }
            (self.rest, _) = (rest, try list.superDecoder().singleValueContainer().decode(Bool.self))
        }

        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: Keys.self)
            // Filled by turns: what is laid out must not depend on the order of the calls.
            var nested = container.nestedContainer(keyedBy: Keys.self, forKey: .nested)
            var list = container.nestedUnkeyedContainer(forKey: .list)
            var inner = list.nestedUnkeyedContainer()
            try inner.encode(rest[0])
            try nested.encode(name, forKey: .name)
            try inner.encodeNil()
            var flag = list.superEncoder().singleValueContainer()
            try flag.encode(true)
            try parent.encode(to: container.superEncoder())
        }
    }

    @Test("nested containers and the decoders of a superclass")
    func nested() throws {
        let child = Child("Ann", Order(id: "1", lines: [], tags: [:], note: nil))
        let written = try text(child)
        #expect(written == #"{"nested":{"name":"Ann"},"list":[[1,null],true],"super":{"id":"1","lines":[],"tags":{}}}"#)
        let read = try decode(Child.self, written)
        #expect((read.name, read.parent.id) == ("Ann", "1"))
        #expect(read.rest == [1, 0])
    }

    enum Choice: Codable, Hashable {
        case none
        case some(Int, label: String)
    }

    @Test("values at the root, enums with values, maps by number")
    func roots() throws {
        #expect(try decode(Int?.self, "null") == nil)
        #expect(try decode(Bool.self, "true"))
        #expect(try text("a\u{1}\n\"") == #""a\u0001\n\"""#)
        #expect(try text([Int]()) == "[]")
        for choice in [Choice.none, .some(3, label: "x")] { #expect(try decode(Choice.self, text(choice)) == choice) }
        #expect(try decode([Int: String].self, text([7: "a"])) == [7: "a"])
        #expect(try text([1.0, -0.5, 1e20]) == "[1,-0.5,1e+20]")
        #expect(throws: EncodingError.self) { try text([Double.nan]) }
    }

    @Test("members are sorted where asked, at every depth")
    func sorted() throws {
        let sorted = JSONCoding(sortsMembers: true)
        let order = Order(id: "1", lines: [Line(sku: "a", count: 1, price: 2)], tags: ["b": 1, "a!": 2, "a": 3], note: nil)
        let text = String(decoding: try sorted.encode(order), as: UTF8.self)
        #expect(text == #"{"id":"1","lines":[{"count":1,"price":2,"sku":"a"}],"tags":{"a":3,"a!":2,"b":1}}"#)
        #expect(try decode(Order.self, text) == order)
        #expect(try sorted.encode([String: Int]()) == Array("{}".utf8))
    }

    @Test("a leaf is one text or number, exact")
    func leaves() throws {
        let exact = JSONCoding(leaves: [
            JSONLeaf(
                Decimal.self,
                read: {
                    if case .number(let text) = $0 { Decimal(string: text) } else { nil }
                }, write: { .number($0.description) })
        ])
        let amount = Decimal(string: "12345678901234567890.123456789")
        let bytes = try exact.encode(["a": amount])
        #expect(String(decoding: bytes, as: UTF8.self) == #"{"a":12345678901234567890.123456789}"#)
        #expect(try exact.decode([String: Decimal].self, from: bytes) == ["a": amount])
        #expect(throws: DecodingError.self) { try exact.decode([String: Decimal].self, from: Array(#"{"a":"1"}"#.utf8)) }
    }
}
