import Bytes
import JSONText
import TestSupport
import Testing

@Suite struct CanonicalTests {
    private func canonical(_ json: String) throws -> String { text(try Canonical.bytes(of: utf8(json).lent)) }

    // Spellings of doubles and what ECMAScript prints for them.
    static let numbers = [
        ("0", "0"), ("-0", "0"), ("-0.0e7", "0"), ("1", "1"), ("1.0", "1"), ("1e0", "1"), ("10e-1", "1"), ("-1", "-1"), ("1E30", "1e+30"),
        ("4.50", "4.5"), ("2e-3", "0.002"), ("0.000000000000000000000000001", "1e-27"), ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"),
        ("999999999999999900000", "999999999999999900000"), ("1000000000000000000000", "1e+21"), ("1e-6", "0.000001"), ("1e-7", "1e-7"),
        ("0.0000001", "1e-7"), ("1.5e-7", "1.5e-7"), ("5e-324", "5e-324"), ("-5e-324", "-5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"), ("-1.7976931348623157E+308", "-1.7976931348623157e+308"),
        ("9007199254740992", "9007199254740992"), ("295147905179352830000", "295147905179352830000"),
        ("9.999999999999997e22", "9.999999999999997e+22"), ("1e23", "1e+23"), ("333333333.3333332", "333333333.3333332"),
        ("333333333.33333325", "333333333.33333325"), ("-0.0000033333333333333333", "-0.0000033333333333333333"),
        ("1424953923781206.2", "1424953923781206.2"), ("100", "100"), ("12345.6789e2", "1234567.89"),
    ]

    @Test("numbers are laid out as ECMAScript does", arguments: numbers)
    func numberLayout(_ spelling: String, _ form: String) throws {
        #expect(try canonical(spelling) == form)
        #expect(try canonical(form) == form)
    }

    @Test("digits that a double cannot hold are kept, unlike in RFC 8785")
    func exactDigits() throws {
        #expect(try canonical("9007199254740993") == "9007199254740993")
        #expect(try canonical("333333333.33333329") == "333333333.33333329")
        #expect(try canonical("123456789012345678901234567890.0") == "1.2345678901234567890123456789e+29")
        #expect(try canonical("1e400") == "1e+400")
    }

    @Test("members are sorted by the UTF-16 code units of their names")
    func sorting() throws {
        let json = #"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7,"":8,"10":9}"#
        let sorted = "{\"\":8,\"\\r\":2,\"1\":4,\"10\":9,\"\u{80}\":6,\"ö\":7,\"€\":1,\"😀\":5,\"\u{FB33}\":3}"
        #expect(try canonical(json) == sorted)
    }

    @Test("the order of names is that of their UTF-16, for random names")
    func sortingAgainstUTF16() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        let scalars: [Unicode.Scalar] = [
            "a", "z", "é", "\u{7FF}", "\u{800}", "\u{D7FF}", "\u{E000}", "\u{FFFD}", "\u{10000}", "\u{10FFFF}",
        ]
        for _ in 0 ..< 500 {
            let names = Set(
                (0 ..< 6).map { _ in
                    String(
                        String.UnicodeScalarView((0 ..< Int.random(in: 0 ... 3, using: &generator)).map { _ in generator.pick(scalars) }))
                })
            let json = JSONValue.object(names.map { JSONValue.Member(name: $0, value: .null) })
            let sorted = names.sorted { $0.utf16.lexicographicallyPrecedes($1.utf16) }
            guard case .object(let members) = try JSONValue(parsing: json.canonical().lent) else {
                Issue.record("an object's canonical form is an object")
                return
            }
            #expect(members.map(\.name) == sorted, "seed \(seed)")
        }
    }

    @Test("strings have the fewest escapes and there are no spaces")
    func strings() throws {
        #expect(
            try canonical(#" [ "\u0041\/\u00e9\ud83d\ude00" , "\u000a\u0008\u001f\u007f\"\\" ] "#)
                == "[\"A/é😀\",\"\\n\\b\\u001f\u{7F}\\\"\\\\\"]")
    }

    @Test("the canonical form is its own canonical form and keeps the meaning, for random texts")
    func idempotent() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        for _ in 0 ..< 2_000 {
            let json = generator.json(depth: 4)
            let once = try canonical(json)
            #expect(try canonical(once) == once, "seed \(seed): \(json)")
            #expect(try JSONEquality.same(utf8(json).lent, utf8(once).lent), "seed \(seed): \(json)")
        }
    }

    @Test("texts are equal when they mean the same")
    func equality() throws {
        func same(_ a: String, _ b: String) throws -> Bool { try JSONEquality.same(utf8(a).lent, utf8(b).lent) }
        #expect(try same(#"{"a":1,"b":[2]}"#, #"{ "b" : [2.0], "\u0061" : 10e-1 }"#))
        #expect(try !same("[1,2]", "[2,1]"))
        #expect(try !same("1", "\"1\""))
        #expect(try !same("9007199254740992", "9007199254740993"))
        #expect(throws: JSONError.self) { try same("1", "01") }
        #expect(try same(" {\"a\":1}\n", "{\"a\" : 1.0 } "))
        #expect(try !same(" {\"a\":1}", "{\"a\":1,\"b\":2}"))
        #expect(throws: JSONError.self) { try same(#"{"a":{"b":1}"#, #"{"a":{"b":1}}"#) }
        // More members than are looked for one by one.
        let many = (0 ..< 65).map { "\"m\($0)\":\($0)" }
        #expect(try same("{\(many.joined(separator: ","))}", "{ \(many.reversed().joined(separator: " , "))} "))
        #expect(try !same("{\(many.joined(separator: ","))}", "{\(many.dropLast().joined(separator: ",")),\"n\":64}"))
    }

    @Test("two random texts are equal exactly where their canonical forms are, however they are spelled")
    func respelled() throws {
        let seed = UInt64.random(in: 0 ... .max)
        var generator = SeededGenerator(seed: seed)
        var equal = 0
        for round in 0 ..< 4_000 {
            let json = generator.json(depth: 3)
            // Shuffled members, and here and there another value.
            let other = respelled(try JSONValue(parsing: utf8(json).lent), &generator)
            let expected = try canonical(json) == canonical(other)
            #expect(try JSONEquality.same(utf8(json).lent, utf8(other).lent) == expected, "seed \(seed), round \(round): \(json), \(other)")
            equal += expected ? 1 : 0
        }
        #expect((400 ..< 3_900).contains(equal))
    }

    private func respelled(_ value: JSONValue, _ generator: inout SeededGenerator) -> String {
        if generator.chance(1, in: 24) { return generator.json(depth: 1) }
        switch value {
        case .object(let members):
            let texts = members.shuffled(using: &generator).map { JSONValue.string($0.name).text + " : " + respelled($0.value, &generator) }
            return "{" + texts.joined(separator: ",") + "}"
        case .array(let values): return "[" + values.map { respelled($0, &generator) }.joined(separator: ", ") + "]"
        default: return value.text
        }
    }

    @Test("a text costs as much in five hundred lists and objects as in one, and means the same")
    func nested() throws {
        let content = String(repeating: "x", count: 100_000)
        func within(_ levels: Int) -> [UInt8] {
            let pairs = (levels + 1) / 2
            return utf8(String(repeating: #"[{"a": "#, count: pairs) + "[\"\(content)\"]" + String(repeating: "}]", count: pairs))
        }
        let (flat, deep) = (within(1), within(500))
        let form = text(deep).replacing(" ", with: "")
        #expect(try text(Canonical.bytes(of: deep.lent)) == form)
        #expect(try JSONValue(parsing: deep.lent).text == form)
        #expect(try JSONEquality.same(deep.lent, utf8(form).lent))
        #expect(try !JSONEquality.same(deep.lent, utf8(form.replacing("xx", with: "xy")).lent))
        let ways: [([UInt8], [UInt8]) throws -> Void] = [
            { json, _ in _ = try Canonical.bytes(of: json.lent) }, { json, _ in _ = try JSONValue(parsing: json.lent) },
            { json, form in _ = try JSONEquality.same(json.lent, form.lent) },
        ]
        for read in ways {
            // The quickest of some runs, since other tests run beside this one.
            func duration(_ json: [UInt8]) throws -> Duration {
                let form = utf8(text(json).replacing(" ", with: ""))
                return try (0 ..< 5).map { _ in try ContinuousClock().measure { try read(json, form) } }.min() ?? .zero
            }
            #expect(try duration(deep) < duration(flat) * 50)
        }
    }
}
