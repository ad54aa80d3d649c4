import EventModel
import JSONText
import SchemaEvolution
import TestSupport
import Testing

@testable import Evstore

/// What a payload says, however it is spelled.
private indirect enum Content: Hashable {
    case null
    case flag(Bool)
    /// A number of tenths.
    case number(Int)
    case text([Unicode.Scalar])
    case list([Content])
    case object([[Unicode.Scalar]: Content])

    private static let texts = ["", "a", "Ann", "é", "e\u{301}", "\"\\\n", "😀/"].map { Array($0.unicodeScalars) }

    /// An object with the member `id`, or any value.
    init(depth: Int = 0, _ random: inout SeededGenerator) {
        switch depth == 0 ? 6 : Int.random(in: 0 ..< (depth < 3 ? 7 : 4), using: &random) {
        case 0: self = .null
        case 1: self = .flag(Bool.random(using: &random))
        case 2: self = .number(Int.random(in: -12 ... 120, using: &random))
        case 3: self = .text(Self.texts.randomElement(using: &random) ?? [])
        case 4, 5: self = .list((0 ..< Int.random(in: 0 ... 3, using: &random)).map { _ in Content(depth: depth + 1, &random) })
        default:
            var members: [[Unicode.Scalar]: Content] = [:]
            for _ in 0 ..< Int.random(in: 0 ... 3, using: &random) {
                members[Self.texts.randomElement(using: &random) ?? []] = Content(depth: depth + 1, &random)
            }
            if depth == 0 { members[Array("id".unicodeScalars)] = .text(Self.texts.randomElement(using: &random) ?? []) }
            if depth == 0, Bool.random(using: &random) {
                members[Content.name] = .text(Self.texts.randomElement(using: &random) ?? [])
            }
            self = .object(members)
        }
    }

    /// The member that is personal.
    private static let name = Array("name".unicodeScalars)

    /// Without the name of a person.
    var redacted: Content {
        guard case .object(var members) = self, members[Self.name] != nil else { return self }
        members[Self.name] = .text([])
        return .object(members)
    }

    /// The content with one value replaced, which may be equal.
    func changed(depth: Int = 0, _ random: inout SeededGenerator) -> Content {
        if depth > 0, Int.random(in: 0 ..< 3, using: &random) == 0 { return Content(depth: depth, &random) }
        switch self {
        case .list(var elements):
            guard let place = elements.indices.randomElement(using: &random) else { return self }
            elements[place] = elements[place].changed(depth: depth + 1, &random)
            return .list(elements)
        case .object(var members):
            let names = members.keys.sorted { $0.lexicographicallyPrecedes($1) }
            guard let name = names.randomElement(using: &random), let value = members[name] else { return self }
            members[name] =
                depth == 0 && name != Self.name ? value.changed(depth: 1, &random) : .text(Self.texts.randomElement(using: &random) ?? [])
            return .object(members)
        default: return self
        }
    }

    /// JSON text: members in any order, with spaces, escapes and exponents here and there.
    func spelled(_ random: inout SeededGenerator) -> String {
        let space = ["", "", " ", "\n"].randomElement(using: &random) ?? ""
        switch self {
        case .null: return "null"
        case .flag(let flag): return "\(flag)"
        case .number(let tenths):
            if Bool.random(using: &random) { return "\(tenths)e-1" }
            let sign = tenths < 0 || tenths == 0 && Bool.random(using: &random) ? "-" : ""
            return tenths % 10 == 0 && Bool.random(using: &random)
                ? "\(tenths / 10)" : "\(sign)\(tenths.magnitude / 10).\(tenths.magnitude % 10)\(Bool.random(using: &random) ? "" : "0")"
        case .text(let text): return Self.quoted(text, &random)
        case .list(let elements): return "[\(elements.map { $0.spelled(&random) }.joined(separator: space + ","))\(space)]"
        case .object(let members):
            let names = members.keys.sorted { $0.lexicographicallyPrecedes($1) }.shuffled(using: &random)
            let texts = names.map { Self.quoted($0, &random) + ":" + space + (members[$0]?.spelled(&random) ?? "null") }
            return "{\(texts.joined(separator: "," + space))\(space)}"
        }
    }

    private static func quoted(_ text: [Unicode.Scalar], _ random: inout SeededGenerator) -> String {
        let parts = text.map { scalar in
            let mustEscape = scalar == "\"" || scalar == "\\" || scalar.value < 0x20
            if !mustEscape, Int.random(in: 0 ..< 3, using: &random) > 0 { return String(scalar) }
            return String(scalar).utf16.map { unit in
                let digits = String(unit, radix: 16)
                return #"\u"# + String(repeating: "0", count: 4 - digits.count) + digits
            }.joined()
        }
        return "\"\(parts.joined())\""
    }
}

@Suite("Comparing a repeated event with the stored one")
struct RepeatedContentTests {
    @Test("two payloads are equal where they say the same, however they are spelled, and a forgotten name does not count")
    func spelling() throws {
        var person = Shape(.string)
        person.isPersonal = true
        let members: [Shape.Property] = [.init("id", Shape(.string)), .init("name", person)]
        let persons = EventShape(shape: .object(members, required: ["id"]))
        var equal = 0
        for seed in 0 ..< UInt64(rounds(800)) {
            var random = SeededGenerator(seed: seed)
            let stored = Content(&random)
            let repeated = Int.random(in: 0 ..< 3, using: &random) == 0 ? stored : stored.changed(&random)
            let (text, other) = (stored.spelled(&random), repeated.spelled(&random))
            func isSame(_ other: String, _ persons: EventShape?) throws -> Bool {
                try RecordedEvent.isSame(Array(text.utf8), Array(other.utf8), redactedBy: persons)
            }
            for persons in [nil, persons] {
                let words = "seed \(seed): \(text) and \(other), \(persons == nil ? "in full" : "without the name")"
                let wanted = persons == nil ? stored == repeated : stored.redacted == repeated.redacted
                try #require(try isSame(other, persons) == wanted, "\(words)")
                // Equal bytes are compared as such; a space behind them asks for the comparison of what they say.
                try #require(try isSame(text, persons) && isSame(text + " ", persons), "\(words)")
                equal += wanted ? 1 : 0
            }
        }
        #expect(equal > rounds(400) && equal < rounds(1_400), "\(equal)")
    }
}
