import Bytes
import EventModel
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("Stream names that are compared with a payload's bytes")
struct PlainTemplateTests {
    /// What a member adds to a name.
    private struct Value {
        /// Nil where the payload lacks the member.
        var json: String?
        /// Nil where the value adds nothing.
        var text: String?
        /// Whether the bytes of the value are those in the name.
        var isPlain = false

        init(_ random: inout SeededGenerator) {
            func some(_ characters: String, _ count: ClosedRange<Int>) -> String {
                String((0 ..< Int.random(in: count, using: &random)).map { _ in characters.randomElement(using: &random) ?? "a" })
            }
            switch Int.random(in: 0 ..< 12, using: &random) {
            case 0 ... 2:
                let word = some("ab17-", 0 ... 4)
                (json, text, isPlain) = ("\"\(word)\"", word, true)
            case 3 ... 5:
                let number = some("123456789", 1 ... 1) + some("0123456789", 0 ... 16)
                (json, text, isPlain) = (number, number, number.count <= 15)
            case 6:
                let number = ["0", "-0", "-7", "1.0", "12.50", "1e1", "170e-1"].randomElement(using: &random) ?? "0"
                (json, text) = (number, ["-0": "0", "1.0": "1", "12.50": "12.5", "1e1": "10", "170e-1": "17"][number] ?? number)
            case 7:
                let word = ["50%", "%", "1%2D7", "a b", "é"].randomElement(using: &random) ?? "%"
                let encoded = ["50%": "50%25", "%": "%25", "1%2D7": "1%252D7", "a b": "a%20b", "é": "%C3%A9"]
                (json, text) = ("\"\(word)\"", encoded[word])
            case 8: (json, text) = Bool.random(using: &random) ? (#""\u0061""#, "a") : (#""\/1""#, "/1")
            case 9: (json, text) = Bool.random(using: &random) ? ("true", "true") : ("false", "false")
            case 10: json = "null"
            default: break
            }
        }
    }

    /// A template over the members a, b and c, a payload, and what they make.
    private struct Case {
        var template = ""
        var payload = ""
        /// Empty where the payload names no stream.
        var name = ""
        /// The name if the bytes of each value were put in as they are.
        var raw = ""
        var isPlain = true

        init(_ random: inout SeededGenerator) {
            func literal() -> String { ["", "", "-", "1", "a-", "order-", "7-1", ":"].randomElement(using: &random) ?? "" }
            let values = ["a", "b", "c"].map { ($0, Value(&random)) }
            for _ in 0 ..< Int.random(in: 1 ... 3, using: &random) {
                guard let (member, value) = values.randomElement(using: &random) else { continue }
                let front = literal()
                template += "\(front){/\(member)}"
                if let text = value.text { name += front + text }
                raw += front + (value.json ?? "").filter { $0 != "\"" }
                isPlain = isPlain && value.isPlain
            }
            let end = literal()
            (template, name, raw) = (template + end, name + end, raw + end)
            let members = values.compactMap { member, value in value.json.map { "\"\(member)\":\($0)" } } + [#""x":"order-1""#]
            payload = "{\(members.shuffled(using: &random).joined(separator: Bool.random(using: &random) ? "," : " , "))}"
        }

        /// The name, and others that are like it, as far as a stream may have them.
        func streams(_ random: inout SeededGenerator) -> [String] {
            let bytes = Array(name.utf8)
            var found = [name, raw, name + name, name + "1", String(name.dropFirst()), String(name.dropLast()), template, "order-1"]
            for byte in "ab017-%".utf8 where !bytes.isEmpty {
                var changed = bytes
                changed[Int.random(in: bytes.indices, using: &random)] = byte
                found.append(String(decoding: changed, as: UTF8.self))
            }
            return found.filter { StreamName.isValid(Array($0.utf8).lent) }
        }
    }

    @Test("a name is found equal only where the template makes it of the payload, and always where the values are plain")
    func templates() throws {
        var told = 0
        for seed in 0 ..< UInt64(rounds(2_000)) {
            var random = SeededGenerator(seed: seed)
            let one = Case(&random)
            let (template, text) = (try StreamTemplate(stream: one.template), Array(one.payload.utf8))
            let members = ["x", "a", "b", "c"].shuffled(using: &random).map { Shape.Property($0, .any) }
            let plain = try #require(EventShape(shape: .object(members, required: []), stream: template).plain())
            var scratch = PlainPayloadScratch()
            try #require(plain.accepts(text.lent, JSONLimits(), &scratch), "seed \(seed): \(one)")
            for stream in one.streams(&random) {
                let isNamed = plain.isNamed(Array(stream.utf8).lent, text.lent, scratch)
                try #require(isNamed ? stream == one.name : stream != one.name || !one.isPlain, "seed \(seed): \(stream) of \(one)")
                told += isNamed ? 1 : 0
            }
            var made = ""
            do { made = try template.name(for: text.lent) } catch { made = "" }
            try #require(made == one.name, "seed \(seed): \(made) of \(one)")
        }
        #expect(told > rounds(500))
    }
}
