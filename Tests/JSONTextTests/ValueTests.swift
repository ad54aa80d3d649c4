import Bytes
import JSONText
import Testing

@Suite struct ValueTests {
    @Test("a tree keeps the order of members and the spelling of numbers")
    func roundTrip() throws {
        let value = try JSONValue(parsing: utf8(#" { "b" : 1.50 , "a" : [ true , null , "x\u0041\n" ] , "c" : {} } "#).lent)
        #expect(value.text == #"{"b":1.50,"a":[true,null,"xA\n"],"c":{}}"#)
        #expect(value["b"] == .number("1.50"))
        #expect(value.member("a") == .array([.bool(true), .null, .string("xA\n")]))
        #expect(value["z"] == nil && value["b"]?["a"] == nil)
        #expect(text(value.canonical()) == #"{"a":[true,null,"xA\n"],"b":1.5,"c":{}}"#)
    }

    @Test("parsing is as strict as the scanner")
    func strict() {
        #expect(throws: JSONError.self) { try JSONValue(parsing: utf8(#"{"a":1,"a":2}"#).lent) }
        #expect(throws: JSONError.self) { try JSONValue(parsing: utf8("[[1]]").lent, limits: JSONLimits(depth: 1)) }
    }

    @Test(
        "the normal tree has the canonical text",
        arguments: [#"{"b":[1.50,-0,2E3],"a":{"é":"x\ty","":null}}"#, "1e-400", "[true,\"1.0\",[{}]]"])
    func normal(_ json: String) throws {
        let value = try JSONValue(parsing: Array(json.utf8).lent)
        #expect(Array(value.normal.text.utf8) == value.canonical())
        #expect(value.normal.normal == value.normal)
    }

    @Test("equality is by bytes and by order")
    func equality() throws {
        #expect(JSONValue.string("\u{E9}") != .string("e\u{301}"))
        #expect(JSONValue.number("1") != .number("1.0"))
        let a = JSONValue.Member(name: "a", value: .null)
        let b = JSONValue.Member(name: "b", value: .null)
        #expect(JSONValue.object([a, b]) != .object([b, a]))
        #expect(Set([JSONValue.object([a, b]), .object([a, b]), .array([])]).count == 2)
    }

    @Test("a text is quoted with the fewest escapes")
    func quoting() {
        var output = ByteBuffer()
        appendQuoted(utf8("12345678\"\\\u{8}\u{9}\n\u{C}\r\u{0}\u{1F}/é").lent, into: &output)
        #expect(text(output.array()) == #""12345678\"\\\b\t\n\f\r\u0000\u001f/é""#)
    }
}
