import EventLog
import EventModel
import Testing

@testable import Projections
@testable import SchemaEvolution

/// Two versions of one type, and a read model of it at both.
struct RowMapExample: CustomTestStringConvertible, Sendable {
    var name: String
    var before = "required: [id, a], properties: {id: T, a: T, o: T, n: N, l: L}"
    /// The ops between the versions; none where nil.
    var ops: String?
    var after: String?
    var older: String
    var newer: String
    /// The functions of the slots in their order; where there are none, a part of why there are none.
    var slots: [ValueTerm?] = []
    var no = ""

    var testDescription: String { name }

    private static func shape(_ text: String) -> String {
        text.replacing(": T", with: ": {type: string}").replacing(": N", with: ": {type: number}")
            .replacing(": L", with: ": {type: array, items: {type: number}}")
    }

    var source: RowSource {
        get throws {
            let versions = [1, 2].map { version in
                let upcast = version == 2 ? ops.map { "upcast: [{on: E, do: [\($0)]}]\n" } ?? "" : ""
                let shape = Self.shape(version == 1 ? before : after ?? before)
                return "evstore: 1\nversion: \(version)\n\(upcast)events:\n  E: {stream: 'e-{/id}', \(shape)}\n"
            }
            let history = try Shop.history(versions)
            // Some of them change nothing but the read model.
            let problems = history.check().filter { $0.severity == .error && $0.id != "COMPAT106" }
            #expect(problems.isEmpty, "\(name): \(problems.map(\.message))")
            let file = "evstore: 1\nprojections:\n  p:\n    - {since: 1, \(older)}\n    - {since: 2, \(newer)}\n"
            let set = try Shop.definitions(file, history)
            let definitions = try [1, 2].map { try set.definition(named: "p", at: SchemaVersion($0), history) }
            let census = [CensusRow(type: "E", born: SchemaVersion(1), count: 100)]
            return try RowMapProof.prove(definitions[0], definitions[1], history, census)
        }
    }

    private static func fold(_ edits: String, key: String = "/id") -> String { "key: \(key), on: {E: {\(edits)}}" }

    private static func json(_ text: String) -> [UInt8] { Array(text.utf8) }

    static let told: [RowMapExample] = [
        .init(
            name: "an index is added", older: fold("set: {/a: /a}"), newer: fold("set: {/a: /a}") + ", indexes: {byA: /a}",
            slots: [.slot(0)]),
        .init(
            name: "a member of the row gets another name", older: fold("set: {/a: /a}, add: {/n: /n}"),
            newer: fold("set: {/z: /a}, add: {/m: /n}"), slots: [.slot(1), .slot(0)]),
        .init(
            name: "a member of the event moves, and the fold follows it", ops: "{move: {from: /a, path: /b}}",
            after: "required: [id, b], properties: {id: T, b: T, o: T, n: N, l: L}", older: fold("set: {/a: /a}"),
            newer: fold("set: {/a: /b}"),
            slots: [.slot(0)]),
        .init(
            name: "a required member becomes a list", ops: "{wrap: {path: /a, empty: ''}}",
            after: "required: [id, a], properties: {id: T, a: {type: array, items: {type: string}}, o: T, n: N, l: L}",
            older: fold("set: {/a: /a}"), newer: fold("set: {/a: /a}"),
            slots: [
                .chosen(.slot(0), [ValueTerm.Choice(from: json("\"\""), to: json("[]"))], otherwise: .list(.slot(0)))
            ]),
        .init(
            name: "a table over all values that there are",
            before: "required: [id, a], properties: {id: T, a: {type: string, enum: [x, y]}}",
            ops: "{convert: {path: /a, to: string, using: {table: {map: {x: X, y: Y}}}}}",
            after: "required: [id, a], properties: {id: T, a: {type: string, enum: [X, Y]}}", older: fold("set: {/a: /a}"),
            newer: fold("set: {/a: /a}"),
            slots: [
                .chosen(
                    .slot(0),
                    [ValueTerm.Choice(from: json("\"x\""), to: json("\"X\"")), ValueTerm.Choice(from: json("\"y\""), to: json("\"Y\""))],
                    otherwise: nil)
            ]),
        .init(
            name: "a new member has one value in all rows", older: fold("set: {/a: /a}"), newer: fold("set: {/a: /a, /k: {value: 7}}"),
            slots: [.slot(0), .constant(json("7"))]),
        .init(
            name: "constants that became others",
            older: "key: /id, on: {E: [{when: {path: /o, exists: true}, set: {/s: {value: x}}}, {set: {/s: {value: 1}}}]}",
            newer: "key: /id, on: {E: [{when: {path: /o, exists: true}, set: {/s: {value: y}}}, {set: {/s: {value: [2]}}}]}",
            slots: [
                .chosen(
                    .slot(0),
                    [ValueTerm.Choice(from: json("\"x\""), to: json("\"y\"")), ValueTerm.Choice(from: json("1"), to: json("[2]"))],
                    otherwise: nil)
            ]),
        .init(
            name: "a new member is there where another is",
            older: "key: /id, on: {E: [{when: {path: /o, exists: true}, set: {/x: /a}}, {set: {/z: /a}}]}",
            newer: "key: /id, on: {E: [{when: {path: /o, exists: true}, set: {/x: /a, /y: {value: 7}}}, {set: {/z: /a}}]}",
            slots: [.slot(0), .constantBeside(.slot(0), json("7")), .slot(1)]),
        .init(
            name: "a text of two members that are always written together", older: fold("set: {/a: /a, /i: /id}"),
            newer: fold("set: {/t: '{/id}: {/a}'}"),
            slots: [.text([.value(.slot(1)), .literal(json(": ")), .value(.slot(0))])]),
        .init(
            name: "a list is read at both versions through one list", older: fold("each: /l, append: {/l: $item}"),
            newer: fold("each: /l, append: {/l: $item}"), slots: [.slot(0)]),
        .init(
            name: "a guard on the row reads the slot that it read", older: fold("when: {row: /a, exists: false}, set: {/a: /a}"),
            newer: fold("when: {row: /a, exists: false}, set: {/a: /a}"), slots: [.slot(0)]),
    ]

    static let beginnings: [RowMapExample] = [
        .init(
            name: "a constant of slots that are unset, beside what they begin with",
            older: "key: /id, initial: {/a: {value: 1}}, on: {E: [{when: {path: /o, exists: true}, unset: [/a]}, {set: {/a: {value: 1}}}]}",
            newer: "key: /id, initial: {/a: {value: 2}}, on: {E: [{when: {path: /o, exists: true}, unset: [/a]}, {set: {/a: {value: 2}}}]}",
            slots: [.constantBeside(.slot(0), json("2"))]),
        .init(
            name: "a constant in the place of a value that means the same in another spelling",
            before: "required: [id, n, m], properties: {id: T, n: N, m: N}",
            ops: """
                {when: {path: /n, equals: 0, do: [{remove: {path: /m, restore: 1, because: x}}, {add: {path: /m, value: 0}}], \
                else: [{remove: {path: /m, restore: 1, because: x}}, {copy: {from: /n, path: /m}}]}}
                """, older: fold("set: {/a: /n}"), newer: fold("set: {/a: /m}"),
            slots: [.chosen(.slot(0), [ValueTerm.Choice(from: json("0"), to: json("0"))], otherwise: .slot(0))]),
    ]

    static let undetermined: [RowMapExample] = [
        .init(
            name: "a sum that begins with something", older: fold("set: {/i: /id}"),
            newer: "initial: {/n: {value: 1}}, " + fold("set: {/i: /id}, add: {/n: {value: 1}}"), no: "do not tell /n"),
        .init(
            name: "a text that is made once, of a slot that is there from the beginning",
            older: "initial: {/x: {value: a}}, " + fold("init: {/x: /a, /y: /id}"), newer: fold("init: {/z: '{/a}{/id}'}"),
            no: "do not tell /z"),
        .init(
            name: "a text that is made once, of a slot that is null from the beginning",
            older: "initial: {/x: {value: null}}, " + fold("init: {/x: /a}"), newer: fold("init: {/z: '{/a}!'}"), no: "do not tell /z"),
        .init(
            name: "a count of what may fail", older: fold("count: {/n: /a}"), newer: fold("count: {/n: {day: /a}}"), no: "do not tell /n"),
        .init(
            name: "a text of what is never there, and of what may fail before that is known", ops: "{allow: {path: /opt, down: absent}}",
            after: "required: [id, a], properties: {id: T, a: T, o: T, n: N, l: L, opt: T}", older: fold("set: {/a: /a}"),
            newer: fold("set: {/a: /a, /z: '{$metadata/by}{/opt}'}"), no: "do not tell /z"),
        .init(
            name: "a target whose name may fail, of what is never there", ops: "{allow: {path: /opt, down: absent}}",
            after: "required: [id, a], properties: {id: T, a: T, o: T, n: N, l: L, opt: T}", older: fold("set: {/a: /a}"),
            newer: fold("set: {/a: /a, '/z/{$metadata/by}': /opt}"), no: "do not tell /z"),
        .init(
            name: "a split whose second part may be missing",
            ops: "{split: {path: /a, into: [/f, /l2], separator: ' ', at: first, missing: absent}}",
            after: "required: [id, f], properties: {id: T, f: T, l2: T, o: T, n: N, l: L}", older: fold("set: {/a: /a}"),
            newer: fold("set: {/f: /f, /l: /l2}"), no: "split"),
        .init(
            name: "unset leaves an older value standing", ops: "{unset: {path: /a, equals: none}}",
            after: "required: [id], properties: {id: T, a: T, o: T, n: N, l: L}", older: fold("set: {/a: /a}"),
            newer: fold("set: {/a: /a}"), no: "do not tell /a"),
        .init(
            name: "a text of members that may come from two events", older: fold("set: {/a: /a, /o: /o}"),
            newer: fold("set: {/t: '{/a} {/o}'}"),
            no: "do not tell /t"),
        .init(
            name: "a codec may refuse what no fold reads", ops: "{convert: {path: /o, to: integer, using: integer-text}}",
            after: "required: [id, a], properties: {id: T, a: T, o: {type: integer}, n: N, l: L}", older: fold("set: {/a: /a}"),
            newer: fold("set: {/b: /a}"), no: "codec can't read"),
        .init(
            name: "a sum is one number, whatever its parts became", ops: "{convert: {path: /n, to: number, using: {scale: {num: 1000}}}}",
            older: fold("add: {/s: /n}"), newer: fold("add: {/s: /n}"), no: "codec can't read"),
        .init(
            name: "a set holds other values than the events give", older: fold("include: {/s: /n}"), newer: fold("include: {/s: '{/n}'}"),
            no: "do not tell /s"),
        .init(
            name: "a maximum of texts is none of their numbers", older: fold("max: {/m: /a}"), newer: fold("max: {/m: '{/a}'}"),
            no: "do not tell /m"),
        .init(name: "another key", older: fold("set: {/a: /a}"), newer: fold("set: {/a: /a}", key: "/a"), no: "other keys"),
        .init(
            name: "a guard on what the event carries beside its payload", older: fold("set: {/a: /a}"),
            newer: fold("when: {path: $metadata/x, equals: y}, set: {/a: /a}"), no: "guard"),
        .init(
            name: "a new member that the rows never held", older: fold("set: {/a: /a}"), newer: fold("set: {/a: /a, /n: /n}"),
            no: "do not tell /n"),
        .init(
            name: "a constant that only some events write", older: fold("set: {/a: /a}"), newer: fold("set: {/a: /a}, count: {/c: /o}"),
            no: "do not tell /c"),
        .init(
            name: "rows that fewer events make", older: fold("set: {/a: /a}"), newer: fold("only-existing: true, set: {/a: /a}"),
            no: "makes or deletes"),
        .init(
            name: "a text of a member that may be null", before: "required: [id, q], properties: {id: T, q: {type: [string, 'null']}}",
            older: fold("set: {/q: /q}"), newer: fold("set: {/t: '{/q}'}"), no: "do not tell /t"),
        .init(
            name: "a constant that became another one, where the slot may hold the older one of an event as well",
            older: "key: /id, on: {E: [{when: {path: /o, exists: true}, set: {/s: {value: x}}}, {set: {/s: /a}}]}",
            newer: "key: /id, on: {E: [{when: {path: /o, exists: true}, set: {/s: {value: y}}}, {set: {/s: /a}}]}", no: "do not tell /s"),
        .init(
            name: "a guard on the row that reads another slot", older: fold("when: {row: /a, exists: false}, set: {/a: /a, /b: /id}"),
            newer: fold("when: {row: /a, exists: false}, set: {/a: /id, /b: /a}"), no: "of the row"),
    ]
}

@Suite("Rows made of rows")
struct RowMapExamplesTests {
    @Test("each slot of the newer row is told by the older one", arguments: RowMapExample.told + RowMapExample.beginnings)
    func told(example: RowMapExample) throws {
        guard case .rows(let map) = try example.source else {
            Issue.record("\(example.name): \(try example.source)")
            return
        }
        #expect(map.slots == example.slots)
        #expect(map.events == 100)
    }

    @Test("what the older row does not tell is made of events, and it is said why", arguments: RowMapExample.undetermined)
    func undetermined(example: RowMapExample) throws {
        guard case .events(let because) = try example.source else {
            Issue.record("\(example.name): \(try example.source)")
            return
        }
        #expect(because.contains(example.no), "\(because)")
    }

    @Test("of two types whose names look alike each is followed: é in one character, and in two")
    func lookAlikes() throws {
        let types = ["Caf\u{e9}", "Cafe\u{301}"]
        let ops = #"[{"compute":{"path":"/b","template":"{/a}{/id}"}},{"move":{"from":"/b","path":"/a"}}]"#
        let shape = #"{"stream":"e-{/id}","required":["id","a"],"properties":{"id":{"type":"string"},"a":{"type":"string"}}}"#
        let events = types.map { "\"\($0)\":\(shape)" }.joined(separator: ",")
        let files = [
            #"{"evstore":1,"version":1,"events":{\#(events)}}"#,
            #"{"evstore":1,"version":2,"upcast":[{"on":"\#(types[1])","do":\#(ops)}],"events":{\#(events)}}"#,
        ]
        let history = try History(files: files.enumerated().map { try VersionFile(text: Array($1.utf8), file: "v\($0 + 1).json") })
        let folds = types.map { #""\#($0)":{"set":{"/a":"/a"}}"# }.joined(separator: ",")
        let file = #"{"evstore":1,"projections":{"p":[{"since":1,"key":"/id","on":{\#(folds)}}]}}"#
        let set = try DefinitionSet.load(text: Array(file.utf8), file: "projections.json", history: history)
        let definitions = try [1, 2].map { try set.definition(named: "p", at: SchemaVersion($0), history) }
        let census = types.map { CensusRow(type: $0, born: 1, count: 1) }
        guard case .events = try RowMapProof.prove(definitions[0], definitions[1], history, census) else {
            Issue.record("the second type changes its member, and was not looked at")
            return
        }
    }
}
