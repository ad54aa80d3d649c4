import Bytes
import EventModel
import JSONText
import SchemaEvolution
import TestSupport
import Testing

@Suite("One pass over a payload within a line")
struct PlainLineTests {
    /// A shape with every kind of member, of which some are checked beyond their kind.
    private let shape: EventShape = {
        var positive = Shape(.integer)
        positive.minimum = DecimalNumber(json: Array("1".utf8).lent)
        var short = Shape(.string)
        short.maxLength = 2
        var state = Shape(.string)
        state.enumeration = [.string("open"), .string("é")]
        var maybe = Shape(.number)
        maybe.isNullable = true
        let line = Shape.object([.init("sku", Shape(.string)), .init("count", positive)], required: ["sku"])
        let members: [Shape.Property] = [
            .init("id", Shape(.string)), .init("idea", Shape(.boolean)), .init("theNameOfTheMemberIsLong", short),
            .init("count", positive), .init("whole", Shape(.integer)), .init("state", state), .init("rate", maybe),
            .init("none", Shape(.null)), .init("any", .any), .init("buyer", line), .init("lines", .array(of: line)),
        ]
        return EventShape(shape: .object(members, required: ["id", "count"]))
    }()

    private let values = [
        #""a""#, #""open""#, #""é""#, #""\u00e9""#, #""abc""#, #""\\""#, "1", "0", "-0", "1.0", "1.5", "12e-1", "10e-1", "null", "true",
        "false", "{}", "[]", #"{"sku":"x"}"#, #"{"sku":"x","count":2}"#, #"{"sku":1}"#, #"[{"sku":"x"},{"count":0,"sku":""}]"#,
        #"[{"sku":"x"}]"#,
    ]

    /// An object of some of the members, each with a value that may be another's, and at times with changed bytes.
    private func payload(_ random: inout SeededGenerator) -> [UInt8] {
        func chance(_ times: Int) -> Bool { Int.random(in: 0 ..< times, using: &random) == 0 }
        let usual = [
            "id": #""7""#, "idea": "true", "theNameOfTheMemberIsLong": #""ab""#, "count": "12", "whole": "1e2",
            "state": #""open""#, "rate": "null", "none": "null", "any": #"{"x":[1,{"y":"}"}]}"#,
            "buyer": #"{"count":1,"sku":"a"}"#, "lines": #"[{"sku":"a"}]"#,
        ]
        var names = shape.shape.properties.map(\.name).filter { _ in !chance(3) }
        if !chance(4) { names = Array(Set(names + ["id", "count"])).sorted() }
        if chance(12) { names.append(["ide", "iD", #"\u0069d"#, "theNameOfTheMemberIsLonG", ""].randomElement(using: &random) ?? "") }
        let space = ["", "", " ", "\t \r\n"].randomElement(using: &random) ?? ""
        let members = names.shuffled(using: &random).map { name in
            "\"\(name)\"\(space):\(space)\(chance(10) ? values.randomElement(using: &random) ?? "" : usual[name] ?? "1")"
        }
        var text = Array("{\(space)\(members.joined(separator: space + "," + space))\(space)}".utf8)
        let bytes = Array(#"{}[]",:\ 01.-etu"#.utf8) + [0x1F, 0x80, 0xC3]
        for _ in 0 ..< (chance(2) ? Int.random(in: 1 ... 2, using: &random) : 0) {
            let place = Int.random(in: text.indices, using: &random)
            let byte = bytes.randomElement(using: &random) ?? 0
            switch Int.random(in: 0 ..< 3, using: &random) {
            case 0: text[place] = byte
            case 1: text.insert(byte, at: place)
            default: text.remove(at: place)
            }
        }
        return text
    }

    private func fits(_ text: [UInt8]) -> Bool {
        do { try shape.validate(text.lent) } catch { return false }
        return true
    }

    @Test("takes no payload that its shape refuses, and every one without escapes that its shape takes")
    func lines() throws {
        let plain = try #require(shape.plain())
        var scratch = PlainPayloadScratch()
        var (taken, refused) = (0, 0)
        for seed in 0 ..< UInt64(rounds(6_000)) {
            var random = SeededGenerator(seed: seed)
            let text = payload(&random)
            do { guard try JSONScanner.validate(text.lent, limits: JSONLimits()) == .object else { continue } } catch { continue }
            // What changed bytes leave around the object is no part of it.
            guard let start = text.firstIndex(of: UInt8(ascii: "{")), let end = text.lastIndex(of: UInt8(ascii: "}")) else { continue }
            let front = Array(#"{"stream":"a","data":"#.utf8)
            var line = ByteBuffer()
            line.append(front + text[start ... end] + Array(#","type":"E"}"#.utf8))
            line.append(littleEndian: textEnd)
            let isTaken = plain.accepts(validIn: line, front.count ..< front.count + end + 1 - start, &scratch)
            let json = String(decoding: text, as: UTF8.self)
            let isFitting = fits(text)
            try #require(!isTaken || isFitting, "seed \(seed): \(json)")
            if !text.contains(UInt8(ascii: "\\")) { try #require(isTaken == isFitting, "seed \(seed): \(json)") }
            (taken, refused) = isTaken ? (taken + 1, refused) : (taken, refused + 1)
        }
        #expect(taken > rounds(1_000) && refused > rounds(1_000), "\(taken) taken, \(refused) refused")
    }
}
