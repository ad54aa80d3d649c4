import EventModel
import Testing

@testable import SchemaEvolution

/// A step that is wrong, and what has to be said about it.
struct Broken: Sendable, CustomStringConvertible {
    var what: String
    var before = "required: [a], properties: {a: {type: string}}"
    var ops: String
    var after: String
    var id: String
    /// The op stands in line 6, and the declared shape in the line after the ops.
    var line = 6
    var message: String
    var fix: String? = nil
    var severity = Finding.Severity.error

    var description: String { what }
}

private let text = "{type: string}"

private let broken = [
    Broken(
        what: "a missing required member", ops: "reserve: [x]", after: "required: [a, b], properties: {a: \(text), b: {type: integer}}",
        id: "COMPAT102", line: 7, message: "E /b: a required member, an integer, is declared", fix: "add: {path: /b, value: 0}"),
    Broken(
        what: "a new optional member", ops: "reserve: [x]", after: "required: [a], properties: {a: \(text), b: \(text)}", id: "COMPAT101",
        line: 7,
        message: "E /b: an optional member", fix: "allow: {path: /b, down: absent}"),
    Broken(
        what: "a renamed member without move", ops: "reserve: [x]", after: "required: [b], properties: {b: \(text)}", id: "COMPAT101",
        line: 7,
        message: "E /b", fix: "did you mean move: {from: /a, path: /b}?"),
    Broken(
        what: "a member that is gone", ops: "reserve: [x]", after: "properties: {}", id: "COMPAT101", line: 7,
        message: "E /a: it is still there",
        fix: "remove: {path: /a"),
    Broken(
        what: "another type", ops: "reserve: [x]", after: "required: [a], properties: {a: {type: integer}}", id: "COMPAT102", line: 7,
        message: "E /a: it is a string and an integer is declared", fix: "convert: {path: /a, to: integer, using: integer-text}"),
    Broken(
        what: "another format", ops: "reserve: [x]", after: "required: [a], properties: {a: {type: string, format: date}}", id: "COMPAT102",
        line: 7,
        message: "E /a: its format"),
    Broken(
        what: "a scalar that is a list now", ops: "reserve: [x]", after: "required: [a], properties: {a: {type: array, items: \(text)}}",
        id: "COMPAT102", line: 7, message: "an array is declared", fix: "wrap: {path: /a, empty: x}"),
    Broken(
        what: "required became optional", ops: "reserve: [x]", after: "properties: {a: \(text)}", id: "COMPAT101", line: 7,
        message: "may be absent now",
        fix: "allow: {path: /a, down: {absent-as: x}}"),
    Broken(
        what: "a wider enum", before: "properties: {a: {type: string, enum: [x]}}", ops: "reserve: [z]",
        after: "properties: {a: {type: string, enum: [x, y]}}", id: "COMPAT101", line: 7, message: "\"y\" may stand there now",
        fix: "allow: {path: /a, down: {table: {y: x}}}"),
    Broken(
        what: "a tighter bound", ops: "reserve: [x]", after: "required: [a], properties: {a: {type: string, maxLength: 3}}",
        id: "COMPAT104", line: 7,
        message: "maxLength", fix: "prove it on the data", severity: .note),
    Broken(
        what: "a member within a list", before: "properties: {l: {type: array, items: {type: object, properties: {}}}}",
        ops: "reserve: [x]",
        after: "properties: {l: {type: array, items: {type: object, properties: {b: \(text)}}}}", id: "COMPAT101", line: 7,
        message: "E /l/*/b",
        fix: "each: {path: /l, do: [{allow: {path: /b, down: absent}}]}"),
    Broken(
        what: "an op on a member that is not there", ops: "move: {from: /aa, path: /b}", after: "required: [b], properties: {b: \(text)}",
        id: "OPS301", message: "there is no /aa at this point", fix: "did you mean /a?"),
    Broken(
        what: "an occupied target", before: "required: [a, b], properties: {a: \(text), b: \(text)}", ops: "move: {from: /a, path: /b}",
        after: "required: [b], properties: {b: \(text)}", id: "OPS302", message: "there is a /b already"),
    Broken(
        what: "an unknown op", ops: "mov: {from: /a, path: /b}", after: "required: [b], properties: {b: \(text)}", id: "OPS306",
        message: "there is no op \"mov\"", fix: "did you mean move? the ops are: add, remove, move"),
    Broken(
        what: "an op without its argument", ops: "add: {path: /b}", after: "required: [a, b], properties: {a: \(text), b: \(text)}",
        id: "OPS307",
        message: "nothing says what /b is in older events"),
    Broken(
        what: "a constant that does not fit", ops: "add: {path: /b, value: 7}",
        after: "required: [a, b], properties: {a: \(text), b: \(text)}",
        id: "COMPAT102", message: "the value 7 does not fit the declared shape"),
    Broken(
        what: "a codec on the wrong kind", before: "properties: {a: {type: boolean}}",
        ops: "convert: {path: /a, to: integer, using: integer-text}",
        after: "properties: {a: {type: integer}}", id: "OPS309",
        message: "integer-text is between a string and an integer, and here is true or false"),
    Broken(
        what: "a codec that makes something else", ops: "convert: {path: /a, to: number, using: boolean-text}",
        after: "required: [a], properties: {a: {type: number}}", id: "OPS307", message: "boolean-text makes true or false",
        fix: "to: boolean"),
    Broken(
        what: "a table with a hole", before: "required: [a], properties: {a: {type: string, enum: [x, y]}}",
        ops: "convert: {path: /a, to: string, using: {table: {map: {x: z}}}}",
        after: "required: [a], properties: {a: {type: string, enum: [z]}}",
        id: "COMPAT102", message: "the table has nothing for \"y\"", fix: "add y: …"),
    Broken(
        what: "a table that makes one of two", before: "required: [a], properties: {a: {type: string, enum: [x, y]}}",
        ops: "convert: {path: /a, to: string, using: {table: {map: {x: z, y: z}}}}",
        after: "required: [a], properties: {a: {type: string, enum: [z]}}", id: "LOSS201", message: "several values become one"),
    Broken(
        what: "a loss without a reason", ops: "remove: {path: /a, restore: x}", after: "properties: {}", id: "LOSS201",
        message: "/a is lost and nothing says why"),
    Broken(
        what: "a required member that is restored as absent", ops: "remove: {path: /a, restore: absent, because: x}",
        after: "properties: {}",
        id: "COMPAT103", message: "the version before requires /a"),
    Broken(
        what: "unset of an optional member", before: "properties: {a: \(text)}", ops: "unset: {path: /a, equals: none}",
        after: "properties: {a: \(text)}", id: "OPS309", message: "absent and \"none\" would become one"),
    Broken(
        what: "wrap of a required scalar", ops: "wrap: {path: /a}", after: "required: [a], properties: {a: {type: array, items: \(text)}}",
        id: "COMPAT103", message: "[] would have no image", fix: "wrap: {path: /a, empty: …}"),
    Broken(
        what: "an allow that allows nothing", ops: "allow: {path: /a, down: absent}", after: "required: [a], properties: {a: \(text)}",
        id: "OPS310",
        message: "there is nothing to allow"),
    Broken(
        what: "an allow with a value that the older version refuses", before: "properties: {a: {type: string, enum: [x]}}",
        ops: "allow: {path: /a, down: {value: q}}", after: "properties: {a: {type: string, enum: [x, y]}}", id: "COMPAT103",
        message: "\"q\" does not fit the older shape"),
    Broken(
        what: "a guard that the ops write",
        ops: "when: {path: /a, equals: x, do: [{convert: {path: /a, to: string, using: {table: {map: {x: y}, otherwise: keep}}}}]}",
        after: "required: [a], properties: {a: \(text)}", id: "OPS301", message: "the guard reads /a, and the ops write /a"),
    Broken(
        what: "a guarded op that changes the shape", before: "required: [a, b], properties: {a: \(text), b: \(text)}",
        ops: "when: {path: /a, equals: x, do: [{move: {from: /b, path: /c}}]}",
        after: "required: [a, b], properties: {a: \(text), b: \(text)}",
        id: "OPS309", message: "ops under a guard keep the shape"),
    Broken(
        what: "a name that is used again", ops: "remove: {path: /a, restore: x, because: y}\n      - add: {path: /a, value: 1}",
        after: "required: [a], properties: {a: {type: integer}}", id: "LOG004", line: 8, message: "/a was removed or reserved"),
    Broken(
        what: "a version that changes nothing", ops: "", after: "required: [a], properties: {a: \(text)}", id: "COMPAT106", line: 1,
        message: "changes nothing"),
]

@Test("a step that is wrong is named, placed and mended", arguments: broken)
func findings(_ one: Broken) throws {
    let upcast = one.ops.isEmpty ? "" : "upcast:\n  - on: E\n    do:\n      - \(one.ops)\n"
    let history = try history(["events: {E: {\(one.before)}}", "\(upcast)events: {E: {\(one.after)}}"])
    let found = history.check()
    let hit = found.first { $0.id == one.id && $0.message.contains(one.message) && $0.severity == one.severity }
    let finding = try #require(hit, "\(found.map(\.diagnosticLine))")
    #expect(finding.file == "v2.yaml")
    if let fix = one.fix { #expect(finding.fix?.contains(fix) == true, "\(finding.fix ?? "no fix")") }
    #expect(finding.line == one.line && (finding.column ?? 0) >= 1)
}

@Test("types that come and go without a word are named")
func silentTypes() throws {
    let history = try history([
        "events: {A: {properties: {x: \(text)}}, B: {properties: {}}}",
        "events: {A: {properties: {x: \(text)}}, C: {properties: {}}, D: {properties: {y: \(text)}}}",
    ])
    let errors = history.check().filter { $0.severity == .error }
    #expect(errors.map(\.id) == ["COMPAT101", "COMPAT101", "COMPAT101"])
    #expect(errors[0].fix == "did you mean rename-event: {from: B, to: C}?")
    #expect(errors[2].message == "D is new and no item says so")
    #expect(errors[2].fix?.hasPrefix("add-event: {type: D, down: {hide:") == true)
}

@Test("an item about a type that is not there is named")
func missingType() throws {
    let history = try history([
        "events: {Order: {properties: {}}}",
        "upcast:\n  - on: Ordr\n    do: [{allow: {path: /a, down: absent}}]\n  - drop-event: {type: Nope, because: x}\nevents: {Order: {properties: {}}}",
    ])
    let errors = history.check().filter { $0.id == "OPS308" }
    #expect(errors.map(\.line) == [4, 6])
    #expect(errors.first?.fix == "did you mean Order?")
}

@Test("the stream template is part of the shape")
func streams() throws {
    let shape = "required: [a], properties: {a: \(text)}"
    let moved = "required: [b], properties: {b: \(text)}"
    func errors(_ ops: String, _ after: String, _ old: String, _ new: String) throws -> [String] {
        try history(before: shape, ops: ops, after: after, stream: (old, new)).check().filter { $0.severity == .error }.map(\.message)
    }
    #expect(try errors("move: {from: /a, path: /b}", moved, "s-{/a}", "s-{/b}") == [])
    #expect(try errors("move: {from: /a, path: /b}", moved, "s-{/a}", "t-{/b}") == ["E: the stream is s-{/b} and t-{/b} is declared"])
    let changed = try errors(
        "convert: {path: /a, to: integer, using: integer-text}", "required: [a], properties: {a: {type: integer}}", "s-{/a}", "s-{/a}")
    #expect(changed.contains { $0.contains("/a is part of the stream template") })
    let two = "required: [n, m], properties: {n: \(text), m: \(text)}"
    let join = try history(
        before: two, ops: "join: {paths: [/n, /m], path: /a, separator: \":\", at: first, missing: absent}", after: shape,
        stream: ("s-{/n}:{/m}", "s-{/a}"))
    #expect(join.check().errors == [])
}

@Test("a member that blocks is a promise that FORWARD can't keep")
func forward() throws {
    func history(_ forward: String) throws -> [Finding] {
        try SchemaEvolutionTests.history([
            "events: {A: {properties: {}}}",
            "\(forward)upcast:\n  - add-event: {type: B, down: block}\nevents: {A: {properties: {}}, B: {properties: {}}}",
        ]).check().filter { $0.id == "COMPAT103" }
    }
    #expect(try history("").map(\.severity) == [.warning])
    #expect(try history("forward: 1\n").map(\.severity) == [.error])
}

private let integer = "{type: integer}"
private let pair = "o: {type: object, required: [a], properties: {a: \(integer), b: \(integer)}}"

@Test(
    "an object that comes back without what is required in it is a warning, also where FORWARD is promised",
    arguments: [
        ("\(pair)", "{move: {from: /o/b, path: /b}}", "o: {type: object, required: [a], properties: {a: \(integer)}}, b: \(integer)"),
        (
            "o: {type: object, required: [a], properties: {a: \(integer)}}",
            "{move: {from: /o/a, path: /a}}, {add: {path: /o/z, value: 1}}",
            "o: {type: object, required: [z], properties: {z: \(integer)}}, a: \(integer)"
        ),
        (
            "o: {type: object, required: [p, x], properties: {x: \(integer), p: {type: object, properties: {b: \(integer)}}}}",
            "{move: {from: /o/p/b, path: /b}}",
            "o: {type: object, required: [p, x], properties: {x: \(integer), p: {type: object, properties: {}}}}, b: \(integer)"
        ),
    ])
func lackingObjects(_ before: String, _ ops: String, _ after: String) throws {
    func made(_ head: String) throws -> History {
        try history([
            "events: {E: {properties: {\(before)}}}",
            "\(head)upcast:\n  - on: E\n    do: [\(ops)]\nevents: {E: {properties: {\(after)}}}",
        ])
    }
    func found(_ head: String) throws -> [Finding.Severity] { try made(head).check().filter { $0.id == "COMPAT103" }.map(\.severity) }
    #expect(try found("") == [.warning])
    #expect(try found("forward: 1\n") == [.warning])
    let unpromised = try made("")
    #expect(unpromised.opClass(from: SchemaVersion(1), to: SchemaVersion(2)).contains(.partial))
    var trial = LawTrial(unpromised, isFull: true)
    for file in unpromised.versions { trial.check(TypeAtVersion(type: "E", version: file.number), generated: 60, seed: 7) }
    #expect(trial.tally.failures.isEmpty, "\(trial.tally.failures.map(\.verdict.law))")
}

@Test("an object whose members move together, or that is always there, comes back with all of them")
func wholeObjects() throws {
    let both = "o: {type: object, required: [a, b], properties: {a: \(integer), b: \(integer)}}"
    let together = try history(
        before: "properties: {\(both)}", ops: "move: {from: /o/a, path: /p/a}\n      - move: {from: /o/b, path: /p/b}",
        after: "properties: {p: {type: object, required: [a, b], properties: {a: \(integer), b: \(integer)}}}")
    let required = try history(
        before: "required: [o], properties: {\(pair)}", ops: "move: {from: /o/b, path: /b}",
        after: "required: [o], properties: {o: {type: object, required: [a], properties: {a: \(integer)}}, b: \(integer)}")
    for one in [together, required] { #expect(one.check().filter { $0.id == "COMPAT103" } == []) }
    #expect(required.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == .iso)
}

@Test("a move out of an object that may be empty on both sides is partial, and one within it or out of one that stays is not")
func emptiedObjects() throws {
    func opClass(_ before: String, _ op: String, _ after: String) throws -> OpClass {
        let object = { (members: String) in "{type: object, properties: {\(members)}}" }
        return try history(
            before: "properties: {o: \(object(before))}", ops: "move: \(op)", after: "properties: {o: \(object(after)), p: \(integer)}"
        ).opClass(from: SchemaVersion(1), to: SchemaVersion(2))
    }
    #expect(try opClass("p: \(integer), q: \(integer)", "{from: /o/p, path: /p}", "q: \(integer)").contains(.partial))
    let within = try history(
        before: "properties: {o: {type: object, properties: {p: \(integer)}}}", ops: "move: {from: /o/p, path: /o/q}",
        after: "properties: {o: {type: object, properties: {q: \(integer)}}}")
    #expect(within.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == .iso)
    let required = try history(
        before: "required: [o], properties: {o: {type: object, properties: {p: \(integer), q: \(integer)}}}",
        ops: "move: {from: /o/p, path: /p}",
        after: "required: [o], properties: {o: {type: object, properties: {q: \(integer)}}, p: \(integer)}")
    #expect(required.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == .iso)
}

@Test("members that one op takes out of an object together come back together")
func joinedParts() throws {
    let parts = "first: \(text), last: \(text)"
    let joined = try history(
        before: "properties: {o: {type: object, required: [first, last], properties: {\(parts)}}}",
        ops: "join: {paths: [/o/first, /o/last], path: /name, separator: \" \", at: first, missing: error}",
        after: "properties: {name: \(text)}")
    #expect(joined.check().filter { $0.id == "COMPAT103" } == [])
}

@Test("what is found to do nothing in a part of a split leaves the split as it was")
func splitWithWarning() throws {
    let table = "convert: {path: /a, to: string, using: {table: {map: {}, down: {x: y}}}}"
    let split = try history([
        "events: {E: {required: [a], properties: {a: \(text)}}}",
        "upcast: [{split-event: {type: E, into: [{type: F, pick: [/a], do: [{\(table)}], down: as}]}}]\n"
            + "events: {F: {required: [a], properties: {a: {type: string, enum: [x]}}}}",
    ])
    #expect(!split.check().contains { $0.severity == .error }, "\(split.check().map(\.message))")
}

@Test("a remove and an add of one type may have been meant as a move")
func guesses() throws {
    let history = try history([
        "events: {E: {required: [a], properties: {a: \(text)}}}",
        "upcast:\n  - on: E\n    do: [{remove: {path: /a, restore: x, because: y}}, {add: {path: /b, value: z}}]\nevents: {E: {required: [b], properties: {b: \(text)}}}",
    ])
    let warning = try #require(history.check().first { $0.id == "OPS303" })
    #expect(warning.severity == .warning && warning.fix == "did you mean move: {from: /a, path: /b}?")
}

@Test("a table whose map is empty is a warning where it refuses other values")
func emptyTables() throws {
    let shape = "events: {E: {required: [a], properties: {a: \(text)}}}"
    func found(_ more: String) throws -> [Finding] {
        let convert = "convert: {path: /a, to: string, using: {table: {map: {}\(more)}}}"
        return try history([shape, "upcast: [{on: E, do: [{\(convert)}]}]\n\(shape)"]).check().filter { $0.id == "OPS310" }
    }
    #expect(try found("").map(\.severity) == [.warning])
    #expect(try found("").allSatisfy { $0.message.hasSuffix("the map is empty, so the table refuses every value") })
    #expect(try found(", otherwise: keep") == [])
}

@Test("a guard of a step or of a part that never holds for one of its values is a warning")
func idleGuards() throws {
    let shape = "required: [id, n], properties: {id: \(text), n: {type: integer}, v: \(text)}"
    let table = "convert: {path: /v, to: string, using: {table: {map: {x: y}, otherwise: keep, because: z}}}"
    let tests: [(String, [String])] = [
        ("equals: x", ["\"x\""]), ("in: [1, 1.5, true]", ["1.5", "true"]), ("equals: 1.0", []), ("below: 3", []),
    ]
    for (test, values) in tests {
        let when = try history(before: shape, ops: "when: {path: /n, \(test), do: [{\(table)}]}", after: shape).check()
        let split = try history([
            "events: {E: {\(shape)}}",
            """
            upcast:
              - split-event:
                  type: E
                  into: [{type: E, pick: [/id, /n, /v], down: as}, {type: F, pick: [/id], when: {path: /n, \(test)}, down: {hide: x}}]
            events: {E: {\(shape)}, F: {required: [id], properties: {id: \(text)}}}
            """,
        ]).check()
        for found in [when, split].map({ $0.filter { $0.id == "OPS310" } }) {
            #expect(found.count == values.count && found.allSatisfy { $0.severity == .warning }, "\(test): \(found.map(\.message))")
            for (finding, value) in zip(found, values) {
                #expect(finding.message.contains("never holds for \(value): the value should be"))
            }
        }
    }
}

@Test("a type that is renamed to itself is a warning, and is read as before")
func renamedToItself() throws {
    let history = try history([
        "events: {E: {properties: {a: \(text)}}}",
        "upcast:\n  - rename-event: {from: E, to: E}\nevents: {E: {properties: {a: \(text)}}}",
    ])
    let findings = history.check()
    #expect(findings.map(\.id) == ["OPS310"] && findings.map(\.severity) == [.warning])
    #expect(findings.allSatisfy { $0.message.hasSuffix("rename-event from E to itself does nothing") })
    #expect(try PathRunner(history).up(#"{"a":"x"}"#) == #"{"a":"x"}"#)
}

@Test("names that were given up stay given up, also under another type name")
func reserved() throws {
    let findings = try history([
        "events: {A: {properties: {x: \(text)}}, Old: {properties: {}}}",
        "upcast:\n  - on: A\n    do: [{remove: {path: /x, restore: absent, because: y}}]\n  - drop-event: {type: Old, because: z}\nevents: {A: {properties: {}}}",
        "upcast:\n  - rename-event: {from: A, to: B}\n  - on: B\n    do: [{allow: {path: /x, down: absent}}]\n  - add-event: {type: Old, down: {hide: h}}\nevents: {B: {properties: {x: \(text)}}, Old: {properties: {}}}",
    ]).check().filter { $0.id == "LOG004" }
    #expect(findings.count == 2)
    #expect(
        findings.contains { $0.message.contains("B: /x was removed") } && findings.contains { $0.message.contains("the type name Old") })
}

@Test("a const that is none of its enum is an error, for no value fits; of a released version a warning")
func contradictions() throws {
    let shape =
        "events: {E: {properties: {list: {type: array, items: {type: string, enum: [a], const: b}}, n: {type: integer, enum: [1], const: 1.0}}}}"
    let found = try history([shape]).check()
    #expect(found.map(\.severity) == [.error] && found[0].message == "E /list/*: const is none of enum, so no value fits")
    #expect(try history(["released: 2026-01-01\n" + shape]).check().map(\.severity) == [.warning])
}
