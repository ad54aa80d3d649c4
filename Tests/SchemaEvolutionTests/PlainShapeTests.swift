import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("One pass over a plain payload")
struct PlainShapeTests {
    /// A shape with every kind of member.
    private let shape: EventShape = {
        var positive = Shape(.integer)
        positive.minimum = DecimalNumber(json: Array("1".utf8).lent)
        var short = Shape(.string)
        short.maxLength = 4
        var day = Shape(.string)
        day.format = .date
        var maybe = Shape(.number)
        maybe.isNullable = true
        return EventShape(
            shape: .object(
                [
                    .init("id", Shape(.string)), .init("aVeryLongNameOfAMember", Shape(.string)), .init("count", positive),
                    .init("code", short), .init("day", day), .init("rate", maybe), .init("open", Shape(.boolean)),
                    .init("any", .any), .init("lines", .array(of: .object([.init("sku", Shape(.string))]))),
                ], required: ["id", "count"]))
    }()

    private let payloads = [
        #"{"id":"7","aVeryLongNameOfAMember":"text of some length, plain","count":12,"code":"abcd","day":"2024-02-29","rate":-1.50,"open":true,"any":{"x":[1,{"y":null}]},"lines":[{"sku":"a"},{"sku":"b"}]}"#,
        #" { "count" : 3 , "id" : "" , "open" : false, "rate" : null } "#,
        #"{"id":"é\u0041","count":1e2,"any":"\"","lines":[]}"#,
        #"{"count":100000000000000000000,"id":"x"}"#, #"{"id":"x","count":1}"#,
    ]

    private func accepts(_ text: [UInt8], limits: JSONLimits = JSONLimits()) -> Bool {
        do {
            guard try JSONScanner.validate(text.lent, limits: limits) == .object else { return false }
            try shape.validate(text.lent)
            return true
        } catch { return false }
    }

    /// Whether one pass accepts a text, and whether it does so too where the text is known to be valid and lies in another.
    private func isPlain(_ text: [UInt8], _ limits: JSONLimits, _ scratch: inout PlainPayloadScratch) -> Bool {
        let isAccepted = shape.plain()?.accepts(text.lent, limits, &scratch) ?? false
        if isAccepted, let start = text.firstIndex(of: UInt8(ascii: "{")), let end = text.lastIndex(of: UInt8(ascii: "}")) {
            var line = ByteBuffer()
            line.append(text)
            line.append(littleEndian: textEnd)
            #expect(shape.plain()?.accepts(validIn: line, start ..< end + 1, &scratch) == true)
        }
        return isAccepted
    }

    @Test("a payload that is as its shape says is accepted")
    func plain() {
        var scratch = PlainPayloadScratch()
        for payload in payloads {
            let text = Array(payload.utf8)
            #expect(accepts(text) && isPlain(text, JSONLimits(), &scratch), "\(payload)")
        }
    }

    @Test("nothing is accepted that the two strict passes refuse", arguments: [UInt64.random(in: 1 ... 1_000_000)])
    func strict(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var scratch = PlainPayloadScratch()
        let alphabet = Array("{}[]\",:\\ 0123456789.-+eEtrufalsn\u{1}id".utf8) + [0, 0x80, 0xC3, 0xFF]
        for round in 0 ..< 40_000 {
            var text = Array(payloads[round % payloads.count].utf8)
            for _ in 0 ... Int(random.next() % 3) {
                let place = Int(random.next() % UInt64(text.count))
                switch random.next() % 4 {
                case 0: text[place] = alphabet[Int(random.next() % UInt64(alphabet.count))]
                case 1: text.insert(alphabet[Int(random.next() % UInt64(alphabet.count))], at: place)
                case 2: text.remove(at: place)
                default: text.insert(contentsOf: text[place ..< min(place + 9, text.count)], at: Int(random.next() % UInt64(text.count)))
                }
            }
            if isPlain(text, JSONLimits(), &scratch) {
                #expect(accepts(text), "seed \(seed): \(String(decoding: text, as: UTF8.self))")
            }
        }
    }

    @Test("limits hold, also for what lies within members")
    func limits() {
        var scratch = PlainPayloadScratch()
        let text = Array(payloads[0].utf8)
        for limits in [JSONLimits(depth: 3), JSONLimits(members: 16), JSONLimits(bytes: text.count - 1)] {
            #expect(!accepts(text, limits: limits) && !isPlain(text, limits, &scratch))
        }
        let enough = JSONLimits(depth: 4, members: 17, bytes: text.count)
        #expect(accepts(text, limits: enough) && isPlain(text, enough, &scratch))
    }
}
