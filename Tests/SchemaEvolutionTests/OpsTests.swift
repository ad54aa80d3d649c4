import EventModel
import Testing

@testable import SchemaEvolution

private let text = "{type: string}"

@Test("add sets a constant and takes it away again; another value is a counted loss")
func adds() throws {
    try expectPair(
        before: "required: [a], properties: {a: \(text)}", ops: "add: {path: /b, value: 7}",
        after: "required: [a, b], properties: {a: \(text), b: {type: integer, minimum: 0}}", #"{"a":"x"}"#, #"{"a":"x","b":7}"#,
        opClass: .widen)
    let viewer = PathRunner(
        try history(
            before: "required: [a], properties: {a: \(text)}", ops: "add: {path: /c/b, value: 7}",
            after: "required: [a, c], properties: {a: \(text), c: {type: object, required: [b], properties: {b: {type: integer}}}}"))
    #expect(try viewer.up(#"{"a":"x"}"#) == #"{"a":"x","c":{"b":7}}"#)
    #expect(try viewer.down(#"{"a":"x","c":{"b":7}}"#) == #"{"a":"x"}"#)
    #expect(viewer.counts.lost == 0)
    #expect(try viewer.down(#"{"a":"x","c":{"b":8}}"#) == #"{"a":"x"}"#)
    #expect(viewer.counts.lost == 1)
}

@Test("add leaves an object alone that need not be there")
func addsIntoOptional() throws {
    let object = "{type: object, required: [x], properties: {x: \(text)}}"
    let wider = "{type: object, required: [x, k], properties: {x: \(text), k: \(text)}}"
    let history = try history(
        before: "properties: {c: \(object)}", ops: "add: {path: /c/k, value: v}", after: "properties: {c: \(wider)}")
    #expect(history.check().errors == [])
    let viewer = PathRunner(history)
    #expect(try viewer.up("{}") == "{}")
    #expect(try viewer.up(#"{"c":{"x":"1"}}"#) == #"{"c":{"x":"1","k":"v"}}"#)
    #expect(try viewer.down(#"{"c":{"x":"1","k":"v"}}"#) == #"{"c":{"x":"1"}}"#)
}

@Test("add reads the time, the stream and the metadata")
func addsFromContext() throws {
    let history = try history([
        "events: {E: {properties: {a: \(text)}}}",
        """
        upcast:
          - on: E
            do:
              - add: {path: /at, from: $time}
              - add: {path: /of, from: $stream}
              - add: {path: /by, from: $metadata/user}
        events: {E: {required: [at, of], properties: {a: \(text), at: {type: string, format: date-time}, of: \(text), by: \(text)}}}
        """,
    ])
    #expect(history.check().errors == [])
    let viewer = PathRunner(history)
    let up = try viewer.up("{}", metadata: #"{"user":"ann"}"#)
    #expect(up == #"{"at":"2026-01-01T00:00:00Z","of":"s-1","by":"ann"}"#)
    #expect(try viewer.down(up, metadata: #"{"user":"ann"}"#) == "{}")
    #expect(viewer.counts.lost == 0)
    #expect(try viewer.up("{}") == #"{"at":"2026-01-01T00:00:00Z","of":"s-1"}"#)
}

@Test("remove takes a member from the view and restores a value below")
func removes() throws {
    try expectPair(
        before: "required: [a], properties: {a: \(text), b: \(text)}",
        ops: "remove: {path: /a, restore: none, because: \"it is not used\"}",
        after: "properties: {b: \(text)}", #"{"b":"1","a":"none"}"#, #"{"b":"1"}"#, opClass: .narrow)
    let viewer = PathRunner(
        try history(
            before: "properties: {a: \(text), b: \(text)}", ops: "remove: {path: /a, restore: absent, because: x}",
            after: "properties: {b: \(text)}"))
    #expect(try viewer.up(#"{"a":"x","b":"1"}"#) == #"{"b":"1"}"#)
    #expect(viewer.counts.lost == 1)
    #expect(try viewer.down(#"{"b":"1"}"#) == #"{"b":"1"}"#)
}

@Test("move renames in place, nests and hoists")
func moves() throws {
    try expectPair(
        before: "required: [a], properties: {a: \(text), b: \(text)}", ops: "move: {from: /a, path: /z}",
        after: "required: [z], properties: {z: \(text), b: \(text)}", #"{"a":"1","b":"2"}"#, #"{"z":"1","b":"2"}"#, opClass: .iso)
    try expectPair(
        before: "required: [a], properties: {a: \(text)}", ops: "move: {from: /a, path: /o/p/a}",
        after:
            "required: [o], properties: {o: {type: object, required: [p], properties: {p: {type: object, required: [a], properties: {a: \(text)}}}}}",
        #"{"a":"1"}"#, #"{"o":{"p":{"a":"1"}}}"#, opClass: .iso)
    try expectPair(
        before: "required: [o], properties: {o: {type: object, required: [a], properties: {a: \(text)}}}",
        ops: "move: {from: /o/a, path: /o}",
        after: "required: [o], properties: {o: \(text)}", #"{"o":{"a":"1"}}"#, #"{"o":"1"}"#, opClass: .iso)
    try expectPair(
        before: "required: [o], properties: {o: \(text)}", ops: "move: {from: /o, path: /o/a}",
        after: "required: [o], properties: {o: {type: object, required: [a], properties: {a: \(text)}}}", #"{"o":"1"}"#,
        #"{"o":{"a":"1"}}"#,
        opClass: .iso)
}

@Test("move makes and prunes objects by what the shapes say, not by what is there")
func movesOptional() throws {
    let open = try history(
        before: "properties: {a: \(text)}", ops: "move: {from: /a, path: /c/a}",
        after: "properties: {c: {type: object, required: [a], properties: {a: \(text)}}}")
    #expect(open.check().errors == [])
    #expect(try PathRunner(open).up("{}") == "{}")
    #expect(try PathRunner(open).down("{}") == "{}")
    let required = try history(
        before: "properties: {a: \(text)}", ops: "move: {from: /a, path: /c/a}",
        after: "required: [c], properties: {c: {type: object, properties: {a: \(text)}}}")
    #expect(required.check().errors == [])
    #expect(try PathRunner(required).up("{}") == #"{"c":{}}"#)
    #expect(try PathRunner(required).down(#"{"c":{}}"#) == "{}")
    let hoisted = try history(
        before: "required: [c], properties: {c: {type: object, properties: {a: \(text)}}}", ops: "move: {from: /c/a, path: /a}",
        after: "properties: {a: \(text)}")
    #expect(hoisted.check().errors == [])
    #expect(try PathRunner(hoisted).up(#"{"c":{}}"#) == "{}")
    #expect(try PathRunner(hoisted).down("{}") == #"{"c":{}}"#)
}

@Test("copy makes a member from another and deletes it below")
func copies() throws {
    try expectPair(
        before: "required: [at], properties: {at: {type: string, format: date-time}}",
        ops: "copy: {from: /at, path: /day, using: rfc3339-date}",
        after: "required: [at, day], properties: {at: {type: string, format: date-time}, day: {type: string, format: date}}",
        #"{"at":"2026-03-01T10:00:00+02:00"}"#, #"{"at":"2026-03-01T10:00:00+02:00","day":"2026-03-01"}"#, opClass: .widen)
    let viewer = PathRunner(
        try history(
            before: "properties: {a: \(text)}", ops: "copy: {from: /a, path: /b}", after: "properties: {a: \(text), b: \(text)}"))
    #expect(try viewer.up("{}") == "{}")
    #expect(try viewer.up(#"{"a":"x"}"#) == #"{"a":"x","b":"x"}"#)
    #expect(try viewer.down(#"{"a":"x","b":"x"}"#) == #"{"a":"x"}"#)
    #expect(viewer.counts.lost == 0)
    #expect(try viewer.down(#"{"a":"x","b":"y"}"#) == #"{"a":"x"}"#)
    #expect(viewer.counts.lost == 1)
}

@Test("wrap makes a list of a scalar, and none of absent or of the value for none")
func wraps() throws {
    let list = "{type: array, items: \(text)}"
    let viewer = PathRunner(
        try history(before: "properties: {a: \(text)}", ops: "wrap: {path: /a}", after: "required: [a], properties: {a: \(list)}"))
    #expect(viewer.history.check().errors == [])
    #expect(try viewer.up("{}") == #"{"a":[]}"#)
    #expect(try viewer.up(#"{"a":"x"}"#) == #"{"a":["x"]}"#)
    #expect(try viewer.down(#"{"a":[]}"#) == "{}")
    #expect(try viewer.down(#"{"a":["x","y","z"]}"#) == #"{"a":"x"}"#)
    #expect(viewer.counts.lost == 2)
    try expectPair(
        before: "required: [a], properties: {a: \(text)}", ops: "wrap: {path: /a, empty: \"\"}",
        after: "required: [a], properties: {a: \(list)}",
        #"{"a":""}"#, #"{"a":[]}"#, opClass: .widen)
    try expectPair(
        before: "required: [a], properties: {a: {type: [string, \"null\"]}}", ops: "wrap: {path: /a, empty: null}",
        after: "required: [a], properties: {a: \(list)}", #"{"a":null}"#, #"{"a":[]}"#, opClass: .widen)
    try expectPair(
        before: "required: [a], properties: {a: \(text)}", ops: "wrap: {path: /a}",
        after: "required: [a], properties: {a: {type: array, items: \(text), minItems: 1}}", #"{"a":"x"}"#, #"{"a":["x"]}"#, opClass: .widen
    )
}

@Test("head takes the first of a list")
func heads() throws {
    let list = "{type: array, items: \(text)}"
    let viewer = PathRunner(
        try history(before: "required: [a], properties: {a: \(list)}", ops: "head: {path: /a}", after: "properties: {a: \(text)}"))
    #expect(viewer.history.check().errors == [])
    #expect(try viewer.up(#"{"a":["x","y"]}"#) == #"{"a":"x"}"#)
    #expect(viewer.counts.lost == 1)
    #expect(try viewer.up(#"{"a":[]}"#) == "{}")
    #expect(try viewer.down("{}") == #"{"a":[]}"#)
    #expect(try viewer.down(#"{"a":"x"}"#) == #"{"a":["x"]}"#)
}

@Test("unset makes a sentinel absent")
func unsets() throws {
    try expectPair(
        before: "required: [v], properties: {v: \(text)}", ops: "unset: {path: /v, equals: \"<none>\"}", after: "properties: {v: \(text)}",
        #"{"v":"<none>"}"#, "{}", opClass: .iso)
    try expectPair(
        before: "required: [v], properties: {v: {type: [string, \"null\"]}}", ops: "unset: {path: /v, equals: null}",
        after: "properties: {v: \(text)}", #"{"v":null}"#, "{}", opClass: .iso)
}
