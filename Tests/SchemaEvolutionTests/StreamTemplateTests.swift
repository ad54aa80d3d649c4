import Bytes
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

@Suite("Stream names that templates make of payloads")
struct StreamTemplateTests {
    /// What a member adds to a name.
    private struct Value {
        /// Nil where the payload lacks the member.
        var json: String?
        /// Nil where the value adds nothing.
        var text: String?

        init(_ random: inout SeededGenerator) {
            func some(_ characters: String, _ count: ClosedRange<Int>) -> String {
                String((0 ..< Int.random(in: count, using: &random)).map { _ in characters.randomElement(using: &random) ?? "a" })
            }
            switch Int.random(in: 0 ..< 12, using: &random) {
            case 0 ... 2:
                let word = some("ab17-", 0 ... 4)
                (json, text) = ("\"\(word)\"", word)
            case 3 ... 5:
                let number = some("123456789", 1 ... 1) + some("0123456789", 0 ... 16)
                (json, text) = (number, number)
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

    @Test("are those of its literals and of the members that the payload has, in whichever order and notation")
    func names() throws {
        for seed in 0 ..< UInt64(rounds(2_000)) {
            var random = SeededGenerator(seed: seed)
            func literal() -> String { ["", "", "-", "1", "a-", "order-", "7-1", ":"].randomElement(using: &random) ?? "" }
            let values = ["a", "b", "c"].map { ($0, Value(&random)) }
            var (text, name) = ("", "")
            for _ in 0 ..< Int.random(in: 1 ... 3, using: &random) {
                guard let (member, value) = values.randomElement(using: &random) else { continue }
                let front = literal()
                text += "\(front){/\(member)}"
                if let value = value.text { name += front + value }
            }
            let end = literal()
            let members = values.compactMap { member, value in value.json.map { "\"\(member)\":\($0)" } } + [#""x":"order-1""#]
            let payload = "{\(members.shuffled(using: &random).joined(separator: Bool.random(using: &random) ? "," : " , "))}"
            let template = try StreamTemplate(stream: text + end)
            var made = ""
            do { made = try template.name(for: Array(payload.utf8).lent) } catch { made = "" }
            try #require(made == name + end, "seed \(seed): \(made) by \(template) of \(payload)")
        }
    }
}
