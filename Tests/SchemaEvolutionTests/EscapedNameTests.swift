import Bytes
import EventModel
import JSONText
import SchemaEvolution
import TestSupport
import Testing

/// Shapes with members whose names need escapes, and objects whose names are spelled in any way.
private struct NameMaker: RandomNumberGenerator {
    private var numbers: SeededGenerator

    /// Characters, and texts that are escapes of them in JSON.
    private static let pieces = ["a", "A", #"\u0041"#, "\n", #"\n"#, #"\u000a"#, "\"", #"\""#, "\\", #"\\"#, "/", #"\/"#]

    init(seed: UInt64) { numbers = SeededGenerator(seed: seed) }

    mutating func next() -> UInt64 { numbers.next() }

    mutating func chance(_ times: Int) -> Bool { Int.random(in: 0 ..< times, using: &self) == 0 }

    private mutating func name() -> String {
        (0 ..< Int.random(in: 1 ... 2, using: &self)).map { _ in Self.pieces.randomElement(using: &self) ?? "" }.joined()
    }

    /// A shape, and the same in JSON Schema.
    mutating func shape(depth: Int = 0) -> (shape: Shape, schema: JSONValue) {
        if depth == 2 || depth == 1 && !chance(4) {
            let kind = chance(2) ? Shape.Kind.string : .integer
            return (Shape(kind), .object([.init(name: "type", value: .string(kind.rawValue))]))
        }
        let names = Set((0 ... Int.random(in: 0 ... 5, using: &self)).map { _ in name() }).sorted().shuffled(using: &self)
        let required = names.filter { _ in chance(2) }
        let members = names.map { ($0, shape(depth: depth + 1)) }
        let schema = JSONValue.object([
            .init(name: "type", value: .string("object")), .init(name: "required", value: .array(required.map { .string($0) })),
            .init(name: "properties", value: .object(members.map { .init(name: $0, value: $1.schema) })),
        ])
        return (.object(members.map { .init($0, $1.shape) }, required: Set(of: required)), schema)
    }

    /// A value that often fits.
    mutating func value(_ shape: Shape) -> JSONValue {
        if shape.kind != .object || chance(20) { return (shape.kind == .string) != chance(20) ? .string("x") : .number("1") }
        var members: [JSONValue.Member] = []
        for property in shape.properties where shape.required.contains(property.name) ? !chance(12) : chance(2) {
            let name = chance(12) ? relative(of: property.name) : property.name
            if members.contains(where: { $0.name == name }) { continue }
            members.append(.init(name: name, value: value(property.shape)))
        }
        return .object(members.shuffled(using: &self))
    }

    /// The name that another one spells, or the name that spells it.
    private mutating func relative(of name: String) -> String {
        if chance(2) { return String(spelled(name).dropFirst().dropLast()) }
        let unescaped = [(#"\n"#, "\n"), (#"\u0041"#, "A"), (#"\u000a"#, "\n"), (#"\""#, "\""), (#"\/"#, "/"), (#"\\"#, "\\")]
        return unescaped.reduce(name) { $0.replacing($1.0, with: $1.1) }
    }

    /// A value as JSON text, each character of a name as it is or escaped.
    mutating func text(_ value: JSONValue) -> String {
        guard case .object(let members) = value else { return value.text }
        return "{" + members.map { spelled($0.name) + (chance(4) ? " : " : ":") + text($0.value) }.joined(separator: ",") + "}"
    }

    private mutating func spelled(_ name: String) -> String {
        let short: [Unicode.Scalar: String] = ["\n": #"\n"#, "\"": #"\""#, "\\": #"\\"#, "/": #"\/"#]
        let characters = name.unicodeScalars.map { scalar in
            let (digits, mustEscape) = (String(scalar.value, radix: 16), scalar == "\"" || scalar == "\\" || scalar.value < 0x20)
            let long = #"\u"# + String(repeating: "0", count: 4 - digits.count) + (chance(2) ? digits : digits.uppercased())
            return chance(3) ? long : mustEscape || chance(3) ? short[scalar] ?? long : String(scalar)
        }
        return "\"\(characters.joined())\""
    }
}

@Suite("Members whose names need escapes")
struct EscapedNameTests {
    @Test("a payload's name counts as decoded, however it is spelled")
    func escapedNames() throws {
        var (fitting, misfitting) = (0, 0)
        for seed in 0 ..< UInt64(rounds(200)) {
            var maker = NameMaker(seed: seed)
            let (shape, schema) = maker.shape()
            let event = EventShape(shape: shape)
            let plain = event.plain()
            var scratch = PlainPayloadScratch()
            for _ in 0 ..< 20 {
                let value = maker.value(shape)
                let (json, wanted) = (maker.text(value), value.fits(schema))
                let text = Array(json.utf8)
                try #require(try JSONValue(parsing: text.lent) == value, "seed \(seed): \(json)")
                var reason = ""
                do { try event.validate(text.lent) } catch { reason = "\(error.pointer) \(error.reason)" }
                try #require(reason.isEmpty == wanted, "seed \(seed): \(json) by \(schema.text): \(reason.isEmpty ? "accepted" : reason)")
                let isPlain = plain?.accepts(text.lent, JSONLimits(), &scratch) ?? false
                try #require(!isPlain || wanted, "seed \(seed): \(json) by \(schema.text) in one pass")
                (fitting, misfitting) = wanted ? (fitting + 1, misfitting) : (fitting, misfitting + 1)
            }
        }
        #expect(fitting > rounds(500) && misfitting > rounds(500), "\(fitting) fit, and \(misfitting) do not")
    }
}
