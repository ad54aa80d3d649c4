import Bytes
import EventModel
import JSONText
import SchemaEvolution
import TestSupport
import Testing

private func shape(_ yaml: String) throws -> EventShape {
    let file = try VersionFile(text: Array("{evstore: 1, version: 1, events: {A: \(yaml)}}".utf8), file: "v1.yaml")
    return try #require(file.events["A"])
}

private func problem(_ shape: EventShape, _ payload: String) throws -> ShapeError? {
    let bytes = Array(payload.utf8)
    _ = try JSONScanner.validate(bytes.lent, limits: JSONLimits())
    do {
        try shape.validate(bytes.lent)
        return nil
    } catch { return error }
}

private let everything = """
    {required: [id], properties: {
      id: {type: string, minLength: 2, maxLength: 4},
      count: {type: integer, minimum: 0, maximum: 10},
      ratio: {type: number, minimum: 0.1},
      big: {type: integer},
      at: {type: string, format: date-time},
      day: {type: string, format: date},
      kind: {type: string, enum: [a, "b c", "é"]},
      level: {type: [integer, "null"], enum: [1, 20, null]},
      fixed: {type: boolean, const: true},
      note: {type: [string, "null"]},
      tags: {type: array, items: {type: string}, minItems: 1, maxItems: 3},
      list: {type: array},
      prices: {type: object, additionalProperties: {type: number}},
      name: {type: object, required: [first], properties: {first: {type: string}, last: {type: string}}},
      rows: {type: array, items: {type: object, properties: {"a/b": {type: integer}}}},
      free: {any: true},
      nothing: {type: "null"},
      card: {type: string, maxLength: 3, personal: true}}}
    """

@Test(
    "a payload that fits is accepted",
    arguments: [
        #"{"id":"ab"}"#, #" { "id" : "ab" , "count" : 10 } "#, #"{"count":0,"id":"abcd"}"#, #"{"id":"éé€😀"}"#,
        #"{"id":"\ud83d\ude00\u00e9\n"}"#, #"{"\u0069d":"ab"}"#, #"{"id":"ab","count":1.0}"#, #"{"id":"ab","count":1e1}"#,
        #"{"id":"ab","ratio":0.1}"#, #"{"id":"ab","ratio":1E+2}"#, #"{"id":"ab","big":123456789012345678901234567890}"#,
        #"{"id":"ab","at":"2024-02-29T23:59:59.123456789+02:00"}"#, #"{"id":"ab","at":"2024-02-29T23:59:59\u005a"}"#,
        #"{"id":"ab","day":"2024-02-29"}"#, #"{"id":"ab","kind":"b c"}"#, #"{"id":"ab","kind":"\u00e9"}"#,
        #"{"id":"ab","level":null}"#, #"{"id":"ab","level":2e1}"#, #"{"id":"ab","fixed":true}"#, #"{"id":"ab","note":null}"#,
        #"{"id":"ab","tags":["a","]","{\""]}"#, #"{"id":"ab","list":[1,"x",[{}]]}"#, #"{"id":"ab","prices":{}}"#,
        #"{"id":"ab","prices":{"x":1,"y":-2.5}}"#, #"{"id":"ab","name":{"first":"A"}}"#, #"{"id":"ab","rows":[{"a/b":1},{}]}"#,
        #"{"id":"ab","free":{"x":[null]}}"#, #"{"id":"ab","free":null}"#, #"{"id":"ab","nothing":null}"#,
    ])
func fits(_ payload: String) throws {
    #expect(try problem(shape(everything), payload) == nil)
}

struct Misfit: Sendable, CustomTestStringConvertible {
    let payload, pointer, expected, found: String

    init(_ payload: String, _ pointer: String, _ expected: String, _ found: String) {
        (self.payload, self.pointer, self.expected, self.found) = (payload, pointer, expected, found)
    }

    var testDescription: String { payload }
}

@Test(
    "a payload that does not fit is refused with pointer, expected and found",
    arguments: [
        Misfit(#"[]"#, "", "an object", "an array"),
        Misfit(#"{}"#, "/id", "a string", "nothing"),
        Misfit(#"{"id":null}"#, "/id", "a string", "null"),
        Misfit(#"{"id":1}"#, "/id", "a string", "1"),
        Misfit(#"{"id":"a"}"#, "/id", "2 to 4 characters", "1"),
        Misfit(#"{"id":"abcde"}"#, "/id", "2 to 4 characters", "5"),
        Misfit(#"{"id":"\ud83d\ude00"}"#, "/id", "2 to 4 characters", "1"),
        Misfit(#"{"id":"ab","conut":1}"#, "/conut", "did you mean count?", "1"),
        Misfit(#"{"id":"ab","count":11}"#, "/count", "at most 10", "11"),
        Misfit(#"{"id":"ab","count":-1}"#, "/count", "at least 0", "-1"),
        Misfit(#"{"id":"ab","count":1.5}"#, "/count", "an integer", "1.5"),
        Misfit(#"{"id":"ab","count":99999999999999999999}"#, "/count", "at most 10", "99999999999999999999"),
        Misfit(#"{"id":"ab","count":"1"}"#, "/count", "an integer", "\"1\""),
        Misfit(#"{"id":"ab","ratio":0.09999999999999999999999}"#, "/ratio", "at least 0.1", "0.09999"),
        Misfit(#"{"id":"ab","at":"2023-02-29T00:00:00Z"}"#, "/at", "a date and time", "2023-02-29"),
        Misfit(#"{"id":"ab","at":"2024-02-29 00:00:00Z"}"#, "/at", "a date and time", "2024-02-29"),
        Misfit(#"{"id":"ab","day":"2024-2-9"}"#, "/day", "a date", "2024-2-9"),
        Misfit(#"{"id":"ab","kind":"c"}"#, "/kind", "one of \"a\", \"b c\"", "\"c\""),
        Misfit(#"{"id":"ab","level":2}"#, "/level", "one of 1, 20, null", "2"),
        Misfit(#"{"id":"ab","fixed":false}"#, "/fixed", "true", "false"),
        Misfit(#"{"id":"ab","tags":[]}"#, "/tags", "at least", "0"),
        Misfit(#"{"id":"ab","tags":["a","b","c","d"]}"#, "/tags", "1 to 3 elements", "4"),
        Misfit(#"{"id":"ab","tags":["a",{"b":1}]}"#, "/tags/1", "a string", "an object"),
        Misfit(#"{"id":"ab","prices":{"x":1,"a~b":"c"}}"#, "/prices/a~0b", "a number", "\"c\""),
        Misfit(#"{"id":"ab","name":{"last":"B"}}"#, "/name/first", "a string", "nothing"),
        Misfit(#"{"id":"ab","rows":[{},{"a/b":true}]}"#, "/rows/1/a~1b", "an integer", "true"),
        Misfit(#"{"id":"ab","nothing":0}"#, "/nothing", "null", "0"),
        Misfit(#"{"id":"ab","card":4111}"#, "/card", "a string", "not shown"),
    ])
func misfits(_ misfit: Misfit) throws {
    let error = try #require(try problem(shape(everything), misfit.payload))
    #expect(error.pointer == misfit.pointer)
    #expect(error.expected.contains(misfit.expected) || misfit.expected == "at least", "\(error.expected)")
    #expect(error.found.contains(misfit.found), "\(error.found)")
}

@Test("of several absent members the same one is named, in whatever order the file has them")
func severalAbsent() throws {
    for order in ["b: {type: string}, a: {type: integer}", "a: {type: integer}, b: {type: string}"] {
        #expect(try problem(shape("{required: [b, a], properties: {\(order)}}"), "{}")?.pointer == "/a")
    }
}

@Test("a long value is shortened where it is shown")
func shortened() throws {
    let payload = #"{"id":"\#(String(repeating: "x", count: 500))"}"#
    let error = try #require(try problem(shape("{properties: {id: {type: integer}}}"), payload))
    #expect(error.found.utf8.count < 80)
}

@Test("constants are accepted by the shape they fit")
func constants() throws {
    let shape = try shape(everything).shape
    let kind = try #require(shape.shape(at: JSONPointer("/kind")))
    #expect(kind.rejection(of: .string("a")) == nil)
    #expect(kind.rejection(of: .string("z"))?.expected.contains("one of") == true)
    #expect(shape.rejection(of: .object([.init(name: "id", value: .string("ab"))])) == nil)
}

@Test("text that was never validated is an error or accepted, and never read past its end")
func malformed() throws {
    let shape = try shape(everything)
    let seed = UInt64.random(in: 0 ... .max)
    var generator = SeededGenerator(seed: seed)
    let whole = Array(#"{"id":"ab","count":1,"tags":["a"],"name":{"first":"\u00e9"},"rows":[{"a/b":1}],"free":[{}],"level":null}"#.utf8)
    let noise = Array(#"{}[]",:\u0ntf1e. "#.utf8)
    var refused = 0
    for _ in 0 ..< 3_000 {
        var bytes = whole
        for _ in 0 ..< Int.random(in: 1 ... 4, using: &generator) {
            let place = Int.random(in: 0 ..< bytes.count, using: &generator)
            if Bool.random(using: &generator) {
                bytes[place] = noise[Int.random(in: 0 ..< noise.count, using: &generator)]
            } else {
                bytes.removeSubrange(place...)
                if bytes.isEmpty { break }
            }
        }
        do { try shape.validate(bytes.lent) } catch { refused += 1 }
    }
    #expect(refused > 1_000, "seed \(seed)")
}
