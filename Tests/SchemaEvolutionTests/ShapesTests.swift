import Bytes
import EventModel
import JSONText
import SchemaEvolution
import Testing

private func shape(_ yaml: String) throws -> Shape {
    try Shape(reading: FileReader.read(text: Array(yaml.utf8), file: "x.yaml"))
}

@Test("members are found, inserted, replaced, renamed and removed at pointers")
func editing() throws {
    var shape = try shape("{type: object, required: [name], properties: {name: {type: object, properties: {first: {type: string}}}}}")
    let first = try JSONPointer("/name/first")
    let last = try JSONPointer("/name/last")
    #expect(shape.shape(at: first)?.kind == .string)
    #expect(!shape.isRequired(at: first))
    let inserted = shape.insert(Shape(.integer), at: last, required: true)
    let again = shape.insert(Shape(.integer), at: last, required: true)
    let nowhere = shape.insert(Shape(.integer), at: try JSONPointer("/no/such"), required: true)
    #expect(inserted && !again && !nowhere)
    #expect(shape.isAlwaysPresent(at: last))
    #expect(shape.isRequired(at: last))
    let replaced = shape.replace(at: last, with: Shape(.string), required: false)
    #expect(replaced && !shape.isRequired(at: last))
    let taken = shape.remove(at: first)
    #expect(taken?.shape == Shape(.string) && taken?.required == false)
    #expect(shape.shape(at: try JSONPointer("/name"))?.properties.map(\.name) == ["last"])
}

@Test(
    "a shape whose values no event has room for is refused",
    arguments: [
        "{type: string, minLength: 2147483647}", "{type: array, minItems: 9223372036854775807, items: {type: string, minLength: 2}}",
        "{type: array, minItems: 2000, items: {type: array, minItems: 2000, items: {type: integer}}}",
        "{type: object, properties: {a: {type: string, minLength: 600000}, b: {type: string, minLength: 600000}}}",
    ])
func tooLarge(_ text: String) throws {
    let problem = #expect(throws: FileProblem.self) { try shape(text) }
    #expect(problem?.finding.message == "a value that has every member is larger than any event, by minLength or minItems")
    #expect(throws: Never.self) { try shape("{type: string, minLength: 1000000}") }
}

@Test("a shape reads back from its canonical form")
func canonicalForm() throws {
    let original = try shape(
        """
        {type: object, required: [b], properties: {
          a: {type: [integer, "null"], minimum: -1.50, maximum: 7, description: x, deprecated: true},
          b: {type: array, items: {type: string, format: date, enum: ["2026-01-01"]}, minItems: 1},
          c: {type: object, additionalProperties: {any: true}}, d: {type: string, sealed: true, default: q}}}
        """)
    let text = original.canonical.text
    #expect(try Shape(reading: FileReader.read(text: Array(text.utf8), file: "x.json")) == original)
    #expect(try shape(original.canonical.yaml) == original)
}

struct Comparison: Sendable, CustomTestStringConvertible {
    let made, declared, pointer: String
    let kind: ShapeDifference.Kind

    init(_ made: String, _ declared: String, _ pointer: String, _ kind: ShapeDifference.Kind) {
        (self.made, self.declared, self.pointer, self.kind) = (made, declared, pointer, kind)
    }

    var testDescription: String { "\(made) and \(declared)" }
}

@Test(
    "one difference is one difference",
    arguments: [
        Comparison("{}", "{a: {type: string}}", "/a", .missing(required: false)),
        Comparison("{a: {type: string}}", "{}", "/a", .extra),
        Comparison("{a: {type: string}}", "{a: {type: integer}}", "/a", .type),
        Comparison("{a: {type: integer}}", "{a: {type: number}}", "/a", .type),
        Comparison("{a: {type: object, additionalProperties: {type: string}}}", "{a: {type: object}}", "/a", .type),
        Comparison("{a: {type: string}}", "{a: {type: string, format: date}}", "/a", .format),
        Comparison("{a: {type: string}}", "{a: {type: [string, \"null\"]}}", "/a", .wider(.null)),
        Comparison("{a: {type: string, enum: [x]}}", "{a: {type: string, enum: [y, x]}}", "/a", .wider(.enumeration)),
        Comparison("{a: {type: string, enum: [x, y]}}", "{a: {type: string, enum: [x]}}", "/a", .narrower(.enumeration)),
        Comparison("{a: {type: string, enum: [x, y]}}", "{a: {type: string}}", "/a", .wider(.enumeration)),
        Comparison("{a: {type: integer, maximum: 9}}", "{a: {type: integer, maximum: 10}}", "/a", .wider(.maximum)),
        Comparison("{a: {type: integer}}", "{a: {type: integer, minimum: 0}}", "/a", .narrower(.minimum)),
        Comparison("{a: {type: string, maxLength: 9}}", "{a: {type: string, maxLength: 3}}", "/a", .narrower(.maxLength)),
        Comparison(
            "{a: {type: array, items: {type: string}}}", "{a: {type: array, items: {type: string, minLength: 1}}}", "/a/*",
            .narrower(.minLength)),
    ])
func differences(_ comparison: Comparison) throws {
    let made = try shape("{type: object, properties: \(comparison.made)}")
    let declared = try shape("{type: object, properties: \(comparison.declared)}")
    let found = ShapeDifference.compare(made, declared)
    #expect(found.map(\.kind) == [comparison.kind])
    #expect(found.map(\.pointer.description) == [comparison.pointer])
}

@Test("required and optional differ; annotations, order and spelling do not")
func equalShapes() throws {
    let optional = try shape("{type: object, properties: {a: {type: string}}}")
    let required = try shape("{type: object, required: [a], properties: {a: {type: string}}}")
    #expect(ShapeDifference.compare(optional, required).map(\.kind) == [.narrower(.required)])
    #expect(ShapeDifference.compare(required, optional).map(\.kind) == [.wider(.required)])
    let one = try shape("{type: object, properties: {a: {type: number, enum: [1, 2]}, b: {type: string, default: x}}}")
    let two = try shape(
        "{type: object, properties: {b: {type: string, deprecated: true}, a: {type: number, enum: [2.0, 1.0], description: y}}}")
    #expect(ShapeDifference.compare(one, two).isEmpty)
}

@Test(
    "a stream template names the stream",
    arguments: [
        ("order-{/id}", #"{"id":"42"}"#, "order-42"),
        ("order-{/id}", #"{"id":42.0}"#, "order-42"),
        ("pkg-{/name}:{/architecture}", #"{"name":"g++","architecture":"amd64"}"#, "pkg-g++:amd64"),
        ("pkg-{/name}:{/architecture}", #"{"name":"g++"}"#, "pkg-g++"),
        ("pkg-{/name}:{/architecture}", #"{"architecture":null,"name":"g++"}"#, "pkg-g++"),
        ("a-{/x/y}-z", #"{"w":{"y":1},"x":{"y":"a b%é\n"}}"#, "a-a%20b%25%C3%A9%0A-z"),
        ("settings", #"{"id":"1"}"#, "settings"),
        ("a-{/id}", #"{"\u0069d":"x"}"#, "a-x"),
        ("a-{/id}", #"{"x":{"id":"no"},"id":true}"#, "a-true"),
    ])
func streamNames(_ template: String, _ payload: String, _ name: String) throws {
    #expect(try StreamTemplate(stream: template).name(for: Array(payload.utf8).lent) == name)
    #expect(try StreamTemplate(stream: template).description == template)
    #expect(try StreamName(name).text == name)
}

@Test("a payload that names no stream is refused", arguments: [#"{}"#, #"{"id":{}}"#, #"{"id":"\#(String(repeating: "x", count: 201))"}"#])
func noStreamName(_ payload: String) throws {
    let template = try StreamTemplate(stream: "order-{/id}")
    let error = #expect(throws: ShapeError.self) { try template.name(for: Array(payload.utf8).lent) }
    #expect(error?.pointer == "/id")
}

@Test("a template that can't be read says why", arguments: ["", "a-{/id", "a}", "a-{id}", "a-{/~2}", "50%"])
func brokenTemplate(_ text: String) {
    #expect(throws: ExpressionError.self) { try StreamTemplate(stream: text) }
}
