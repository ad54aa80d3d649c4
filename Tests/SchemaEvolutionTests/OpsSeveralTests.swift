import EventModel
import Testing

@testable import SchemaEvolution

private let text = "{type: string}"

@Test("split and join are each other's way back")
func splits() throws {
    let name = "{type: object, required: [first], properties: {first: \(text), last: \(text)}}"
    let one = "required: [name], properties: {name: \(text)}"
    let two = "required: [name], properties: {name: \(name)}"
    let rule = "separator: \" \", at: first, missing: absent"
    for (low, high) in [
        (#"{"name":"Ada Lovelace King"}"#, #"{"name":{"first":"Ada","last":"Lovelace King"}}"#),
        (#"{"name":"Prince"}"#, #"{"name":{"first":"Prince"}}"#), (#"{"name":""}"#, #"{"name":{"first":""}}"#),
        (#"{"name":"Ada "}"#, #"{"name":{"first":"Ada","last":""}}"#), (#"{"name":" \"q\""}"#, #"{"name":{"first":"","last":"\"q\""}}"#),
    ] {
        try expectPair(
            before: one, ops: "split: {path: /name, into: [/name/first, /name/last], \(rule)}", after: two, low, high, opClass: .partial)
        try expectPair(
            before: two, ops: "join: {paths: [/name/first, /name/last], path: /name, \(rule)}", after: one, high, low, opClass: .partial)
    }
}

@Test("split at the last separator leaves a text without one to the first part")
func splitsAtLast() throws {
    let viewer = PathRunner(
        try history(
            before: "required: [p], properties: {p: \(text)}",
            ops: "split: {path: /p, into: [/n, /a], separator: \":\", at: last, missing: absent}",
            after: "required: [n], properties: {n: \(text), a: \(text)}", stream: ("pkg-{/p}", "pkg-{/n}:{/a}")))
    #expect(viewer.history.check().errors == [])
    #expect(try viewer.up(#"{"p":"a:b:amd64"}"#) == #"{"n":"a:b","a":"amd64"}"#)
    #expect(try viewer.up(#"{"p":"apt"}"#) == #"{"n":"apt"}"#)
    #expect(try viewer.down(#"{"n":"apt"}"#) == #"{"p":"apt"}"#)
    let strict = PathRunner(
        try history(
            before: "required: [p], properties: {p: \(text)}",
            ops: "split: {path: /p, into: [/n, /a], separator: \":\", at: last, missing: error}",
            after: "required: [n, a], properties: {n: \(text), a: \(text)}"))
    let refused = try failure { try strict.up(#"{"p":"apt"}"#) }
    #expect(refused.pointer == "/p" && refused.op == "split (op 1)" && refused.step == SchemaVersion(2) && refused.found == "\"apt\"")
}

@Test("a split that refuses a text without separator leaves the later parts of null absent, and warns where they are required")
func splitsNull() throws {
    func made(_ required: String, _ more: String = "") throws -> History {
        try history(
            before: "required: [c], properties: {c: {type: [string, \"null\"]}}",
            ops: "split: {path: /c, into: [/p, /q], separator: \"-\", at: first, missing: error}\(more)",
            after: "required: [\(required)], properties: {p: {type: [string, \"null\"]}, q: \(text)}")
    }
    let optional = try made("p")
    #expect(optional.check().filter { $0.severity != .note } == [])
    #expect(try PathRunner(optional).up(#"{"c":null}"#) == #"{"p":null}"#)
    #expect(try PathRunner(optional).up(#"{"c":"a-b"}"#) == #"{"p":"a","q":"b"}"#)
    #expect(try failure { try PathRunner(optional).up(#"{"c":"a"}"#) }.pointer == "/c")
    let required = try made("p, q").check().filter { $0.severity != .note }
    #expect(required.map(\.id) == ["COMPAT102"] && required.map(\.severity) == [.warning])
    #expect(required.allSatisfy { $0.message.contains("/c may be null, which has no image") })
    // Such a file may be registered: its allow is of use as before.
    #expect(try made("p", "\n      - allow: {path: /q, down: {absent-as: x}}").check().errors == [])
}

@Test("compute makes a text of others; absent in, absent out")
func computes() throws {
    try expectPair(
        before: "required: [a, n], properties: {a: \(text), n: {type: integer}}", ops: "compute: {path: /t, template: \"{/a} no. {/n}\"}",
        after: "required: [a, n, t], properties: {a: \(text), n: {type: integer}, t: \(text)}", #"{"a":"x","n":3}"#,
        #"{"a":"x","n":3,"t":"x no. 3"}"#, opClass: .widen)
    let viewer = PathRunner(
        try history(
            before: "properties: {a: \(text)}", ops: "compute: {path: /t, template: \"<{/a}>\"}",
            after: "properties: {a: \(text), t: \(text)}"))
    #expect(viewer.history.check().errors == [])
    #expect(try viewer.up("{}") == "{}")
    #expect(try viewer.down(#"{"a":"x","t":"other"}"#) == #"{"a":"x"}"#)
    #expect(viewer.counts.lost == 1)
}

@Test("each runs on the elements of a list and the values of a map, and names the element that fails")
func eaches() throws {
    let old = "{type: object, required: [n], properties: {n: \(text)}}"
    let new = "{type: object, required: [m, k], properties: {m: {type: integer}, k: \(text)}}"
    let ops = "[{convert: {path: /n, to: integer, using: integer-text}}, {move: {from: /n, path: /m}}, {add: {path: /k, value: v}}]"
    try expectPair(
        before: "required: [l], properties: {l: {type: array, items: \(old)}}", ops: "each: {path: /l, do: \(ops)}",
        after: "required: [l], properties: {l: {type: array, items: \(new)}}", #"{"l":[{"n":"1"},{"n":"2"}]}"#,
        #"{"l":[{"m":1,"k":"v"},{"m":2,"k":"v"}]}"#, opClass: .widen)
    try expectPair(
        before: "required: [l], properties: {l: {type: object, additionalProperties: \(old)}}", ops: "each: {path: /l, do: \(ops)}",
        after: "required: [l], properties: {l: {type: object, additionalProperties: \(new)}}", #"{"l":{"x":{"n":"1"}}}"#,
        #"{"l":{"x":{"m":1,"k":"v"}}}"#, opClass: .widen)
    let viewer = PathRunner(
        try history(
            before: "required: [l], properties: {l: {type: array, items: \(text)}}",
            ops: "each: {path: /l, do: [{convert: {path: \"\", to: integer, using: integer-text}}]}",
            after: "required: [l], properties: {l: {type: array, items: {type: integer}}}"))
    #expect(viewer.history.check().errors == [])
    #expect(try viewer.up(#"{"l":["1","2"]}"#) == #"{"l":[1,2]}"#)
    #expect(try failure { try viewer.up(#"{"l":["1","x"]}"#) }.pointer == "/l/1")
}

@Test("when chooses by a guard, and by its else, the same way in both directions")
func whens() throws {
    let shape = "required: [v, k], properties: {v: \(text), k: \(text)}"
    let map = "using: {table: {map: {a: b}, otherwise: keep, down: {b: a}, because: test}}"
    func viewer(_ guarding: String) throws -> PathRunner {
        PathRunner(
            try history(
                before: shape, ops: "when: {\(guarding), do: [{convert: {path: /v, to: string, \(map)}}]}", after: shape))
    }
    let equals = try viewer("path: /k, equals: yes")
    #expect(equals.history.check().errors == [])
    #expect(try equals.up(#"{"v":"a","k":"yes"}"#) == #"{"v":"b","k":"yes"}"#)
    #expect(try equals.up(#"{"v":"a","k":"no"}"#) == #"{"v":"a","k":"no"}"#)
    #expect(try equals.down(#"{"v":"b","k":"yes"}"#) == #"{"v":"a","k":"yes"}"#)
    #expect(try viewer("path: /k, in: [x, y]").up(#"{"v":"a","k":"y"}"#) == #"{"v":"b","k":"y"}"#)
    let below = try viewer("path: /k, below: \"1.10\"")
    #expect(try below.up(#"{"v":"a","k":"1.9"}"#) == #"{"v":"b","k":"1.9"}"#)
    #expect(try below.up(#"{"v":"a","k":"1.10"}"#) == #"{"v":"a","k":"1.10"}"#)
    let exists = try viewer("path: $metadata/release, exists: true")
    #expect(try exists.up(#"{"v":"a","k":"y"}"#, metadata: #"{"release":"1"}"#) == #"{"v":"b","k":"y"}"#)
    #expect(try exists.up(#"{"v":"a","k":"y"}"#) == #"{"v":"a","k":"y"}"#)
    let time = try viewer("path: $time, below: \"2026-06-01T00:00:00Z\"")
    #expect(try time.up(#"{"v":"a","k":"y"}"#) == #"{"v":"b","k":"y"}"#)
}

@Test("allow says what the older version sees of what it does not know")
func allows() throws {
    func viewer(_ before: String, _ down: String, _ after: String) throws -> PathRunner {
        let viewer = PathRunner(try history(before: before, ops: "allow: {path: /c, down: \(down)}", after: after))
        #expect(viewer.history.check().errors == [])
        #expect(viewer.history.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == .widen)
        return viewer
    }
    let (old, new) = (
        "required: [c], properties: {c: {type: string, enum: [a]}}", "required: [c], properties: {c: {type: string, enum: [a, b]}}"
    )
    let table = try viewer(old, "{table: {b: a}}", new)
    #expect(try table.down(#"{"c":"b"}"#) == #"{"c":"a"}"#)
    #expect(table.counts.lost == 1)
    #expect(try table.down(#"{"c":"a"}"#) == #"{"c":"a"}"#)
    #expect(try viewer(old, "{value: a}", new).down(#"{"c":"b"}"#) == #"{"c":"a"}"#)
    let hidden = try viewer(old, "{hide: \"no b below\"}", new)
    #expect(try hidden.images("E", #"{"c":"b"}"#, from: 2, to: 1) == [])
    #expect(hidden.counts.hidden == 1)
    let optional = try viewer("properties: {d: \(text)}", "absent", "properties: {d: \(text), c: \(text)}")
    #expect(try optional.down(#"{"c":"b","d":"1"}"#) == #"{"d":"1"}"#)
    let relaxed = try viewer("required: [c], properties: {c: \(text)}", "{absent-as: none}", "properties: {c: \(text)}")
    #expect(try relaxed.down("{}") == #"{"c":"none"}"#)
    let blocked = PathRunner(try history(before: old, ops: "allow: {path: /c, down: block}", after: new))
    let refused = try failure { try blocked.down(#"{"c":"b"}"#) }
    #expect(refused.op == "allow (op 1)" && refused.pointer == "/c" && refused.found == "\"b\"")
}

@Test(
    "an image is refused, and not shown, where an op makes an object without what it has to have, or a text that does not fit",
    arguments: [
        ("copy: {from: /a, path: /o/n}", "o: {type: object, required: [y], properties: {y: T, n: T}}"),
        ("add: {path: /s, from: $stream}", "o: {type: object, required: [y], properties: {y: T}}, s: {type: string, maxLength: 2}"),
    ])
func checksWhatIsMade(op: String, after: String) throws {
    let text = "{type: string}"
    let viewer = PathRunner(
        try history(
            before: "required: [a], properties: {a: \(text), o: {type: object, required: [y], properties: {y: \(text)}}}", ops: "{\(op)}",
            after: "required: [a\(op.contains("/s") ? ", s" : "")], properties: {a: \(text), \(after.replacing("T", with: text))}"))
    #expect(viewer.history.check().errors == [])
    #expect(try failure { try viewer.up(#"{"a":"1"}"#) }.op == "shape")
}
