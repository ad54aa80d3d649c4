import Bytes
import EventModel
import Foundation
import JSONText
import SchemaEvolution
import TestSupport
import Testing

@testable import Projections

/// Steps and projections over one member `v` of any kind, which both look at.
@Suite("Expressions mean one thing in steps, in names of streams, in keys and in folds")
struct ExpressionsTests {
    /// A scalar in one of its spellings, and the text that it has; nil where it has none.
    private struct Spelled {
        var json: String
        var type: String
        var text: String?
    }

    private static func number(_ random: inout SeededGenerator) -> Spelled {
        let digits = Int.random(in: -999_999 ... 999_999, using: &random)
        let shift = Int.random(in: 0 ... 3, using: &random)
        let zeros = String(repeating: "0", count: shift)
        let spellings = ["\(digits)", "\(digits).\(zeros)0", "\(digits)\(zeros)e-\(shift)", "\(digits)\(zeros)E-0\(shift)"]
        return Spelled(json: spellings.randomElement(using: &random) ?? "\(digits)", type: "number", text: "\(digits)")
    }

    private static func string(_ random: inout SeededGenerator) -> Spelled {
        let pieces = [("a", "a"), (#"\u0041"#, "A"), (#"\""#, "\""), ("é", "é"), (#"\n"#, "\n"), ("%", "%"), ("7", "7"), (" ", " ")]
        let chosen = (0 ..< Int.random(in: 1 ... 6, using: &random)).map { _ in pieces.randomElement(using: &random) ?? pieces[0] }
        return Spelled(json: "\"\(chosen.map(\.0).joined())\"", type: "string", text: chosen.map(\.1).joined())
    }

    private static func spelled(_ random: inout SeededGenerator) -> Spelled {
        switch Int.random(in: 0 ..< 8, using: &random) {
        case 0: Spelled(json: "true", type: "boolean", text: "true")
        case 1: Spelled(json: "null", type: "[string, \"null\"]", text: nil)
        case 2, 3, 4: number(&random)
        default: string(&random)
        }
    }

    /// The image of `{"v":…}` after ops, as JSON.
    private func image(_ value: Spelled, _ ops: String, adding member: String) throws -> JSONValue {
        let history = try Shop.history([
            "evstore: 1\nversion: 1\nevents: {E: {properties: {v: {type: \(value.type)}}}}",
            "evstore: 1\nversion: 2\nupcast:\n  - on: E\n    do:\n      - \(ops)\nevents: {E: {\(member)}}",
        ])
        #expect(history.check().filter { $0.severity == .error }.isEmpty)
        var made: [JSONValue] = []
        let payload = Array("{\"v\":\(value.json)}".utf8)
        try PathRunner(history).view(
            SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: [UInt8]().lent),
            of: TypeAtVersion(type: "E", version: SchemaVersion(1)), stream: "s", at: SchemaVersion(2), validating: false
        ) { made.append(try JSONValue(parsing: $0.payload)) }
        return try #require(made.first)
    }

    private func fold(_ value: Spelled, _ definition: String) throws -> MemoryFold {
        let history = try Shop.history(["evstore: 1\nversion: 1\nevents: {E: {properties: {v: {type: \(value.type)}}}}"])
        let definition = try Shop.definitions(Shop.file(definition), history).definition(named: "orders", at: SchemaVersion(1), history)
        return try MemoryFold(definition, [("E", "{\"v\":\(value.json)}")])
    }

    @Test("a value has one text in `compute`, in the name of a stream, in a key and in a row; null has none in any of them")
    func texts() throws {
        var random = SeededGenerator.announced()
        for _ in 0 ..< 300 {
            let value = Self.spelled(&random)
            let image = try image(
                value, #"compute: {path: /t, template: "<{/v}>"}"#, adding: "properties: {v: {type: \(value.type)}, t: {type: string}}")
            #expect(image["t"] == value.text.map { .string("<\($0)>") }, "\(value.json)")
            let rows = try fold(value, "key: \"<{/v}>\"\non: {E: {set: {/t: \"<{/v}>\"}}}")
            #expect(rows.rows.keys.first == value.text.map { "<\($0)>" }, "\(value.json)")
            #expect(rows.errors.count == (value.text == nil ? 1 : 0), "a key that there is none of quarantines: \(rows.errors)")
            let row = try fold(value, "key: {value: all}\non: {E: {set: {/t: \"<{/v}>\"}}}")
            let text = try row.rows["all"].map { try JSONValue(parsing: Array($0.utf8).lent)["t"] } ?? nil
            #expect(row.errors.isEmpty && text == value.text.map { .string("<\($0)>") }, "\(value.json)")
            let name = try StreamTemplate(stream: "a-{/v}-z").name(for: Array("{\"v\":\(value.json)}".utf8).lent)
            #expect(name.removingPercentEncoding == "\(value.text.map { "a-\($0)" } ?? "")-z", "\(value.json)")
        }
    }

    /// What `below` says of dotted numbers, by padding them to one length.
    private static func isBelow(_ a: [Int], _ b: [Int]) -> Bool {
        let length = max(a.count, b.count)
        let padded = [a, b].map { $0 + [Int](repeating: 0, count: length - $0.count) }
        return padded[0].lexicographicallyPrecedes(padded[1])
    }

    @Test("`below` chooses the same values in a step and in a fold: numbers, dotted numbers in the order of labels, and moments")
    func below() throws {
        var random = SeededGenerator.announced()
        func dotted() -> [Int] { (0 ..< Int.random(in: 1 ... 3, using: &random)).map { _ in Int.random(in: 0 ... 2, using: &random) } }
        var cases: [(value: Spelled, bound: String, holds: Bool)] = []
        for _ in 0 ..< 60 {
            let (a, b) = (dotted(), dotted())
            let texts = [a, b].map { $0.map(String.init).joined(separator: ".") }
            cases.append((Spelled(json: "\"\(texts[0])\"", type: "string"), "\"\(texts[1])\"", Self.isBelow(a, b)))
            cases.append((Spelled(json: "\"\(texts[0])-beta\"", type: "string"), "\"9.\(texts[1])\"", false))
            let (one, limit) = (Self.number(&random), Int.random(in: -999_999 ... 999_999, using: &random))
            cases.append((one, "\(limit)", Int(one.text ?? "").map { $0 < limit } ?? false))
            cases.append((Spelled(json: "\"\(limit)\"", type: "string"), "1000000", false))
            let hours = (0 ..< 2).map { _ in Int.random(in: 0 ... 20, using: &random) }
            let (at, limitAt) = ("2026-01-01T0\(hours[0] % 10):30:00+01:00", "2026-01-01T0\(hours[1] % 10):00:00Z")
            cases.append((Spelled(json: "\"\(at)\"", type: "string"), "\"\(limitAt)\"", hours[0] % 10 <= hours[1] % 10))
            let days = hours.map { "2026-02-\($0 + 1 < 10 ? "0" : "")\($0 + 1)" }
            cases.append((Spelled(json: "\"\(days[0])\"", type: "string"), "\"\(days[1])\"", hours[0] < hours[1]))
            cases.append((Spelled(json: "\"\(days[0])\"", type: "string"), "\"\(days[1])T00:00:01Z\"", hours[0] <= hours[1]))
        }
        for (value, bound, holds) in cases {
            let image = try image(
                value,
                #"""
                add: {path: /n, value: 1}
                      - when: {path: /v, below: \#(bound), do: [{convert: {path: /n, to: integer, using: {scale: {num: 2}}}}]}
                """#, adding: "required: [n], properties: {v: {type: \(value.type)}, n: {type: integer}}")
            #expect(image["n"] == .number(holds ? "2" : "1"), "step: \(value.json) below \(bound)")
            let rows = try fold(value, "key: {value: all}\non: {E: [{when: {path: /v, below: \(bound)}, set: {/yes: {value: 1}}}]}")
            #expect((rows.rows["all"] != nil) == holds, "fold: \(value.json) below \(bound)")
        }
    }

    @Test(
        "a bound of a projection that is no number, dotted number or moment holds for nothing, which a check says",
        arguments: ["\"m\"", "1e10000"])
    func unordered(bound: String) throws {
        let history = try Shop.history()
        let fold = #"{"OrderPlaced":{"when":{"path":"/customer","below":\#(bound)},"set":{"/a":"/id"}}}"#
        let definitions = try Shop.definitions(Shop.file("key: /id\non: \(fold)"), history)
        let said = definitions.check(against: history).map { "\($0.severity) \($0.message)" }
        let wanted = "warning the guard never holds: below must be a number, a dotted number such as 1.10.2, a date or a date-time, not"
        #expect(said.contains { $0.hasPrefix(wanted) }, "\(said)")
        let rows = try MemoryFold(
            definitions.definition(named: "orders", at: SchemaVersion(1), history),
            [("OrderPlaced", #"{"id":"a","total":1,"customer":"a"}"#)])
        #expect(rows.rows.isEmpty && rows.errors.isEmpty)
    }

    @Test("a member whose name begins with a combining mark is named like any other")
    func marks() throws {
        let name = "\u{301}v"
        let history = try Shop.history([
            """
            evstore: 1
            version: 1
            events: {E: {stream: "s-{/\(name)}", required: ["\(name)"], properties: {"\(name)": {type: string}}}}
            """
        ])
        let definition = """
            key: "<{/\(name)}>"
            on:
              E:
                - when: {path: "/\(name)", equals: x}
                  set: {"/a/\(name)": "/\(name)", "/b/\(name)/{/\(name)}": $type}
            """
        let definitions = try Shop.definitions(Shop.file(definition), history)
        let fold = try MemoryFold(
            definitions.definition(named: "orders", at: SchemaVersion(1), history), [("E", "{\"\(name)\":\"x\"}")])
        #expect(fold.rows == ["<x>": "{\"a\":{\"\(name)\":\"x\"},\"b\":{\"\(name)\":{\"x\":\"E\"}}}"])
    }
}
