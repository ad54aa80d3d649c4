/// What is said of the first of two members that are joined.
private func joined(_ separator: String) -> String {
    "/b /a; is joined of those of /b, /c that are there, with \"\(separator)\" between; where it is null, the others are lost; "
        + "where it is absent and another is there, the event is refused; moves to /a"
}

extension ExplainedOp {
    static let members: [ExplainedOp] = [
        .member(
            "add", "", #"{path: /a, value: ""}"#, "a: {type: string}", up: [#"new /a; is added: """#],
            down: ["/a gone; is left out: it was added"]),
        .member(
            "add", "", "{path: /a, from: $metadata/app}", "a: {type: string}",
            up: ["new /a; is added: /app of the event's metadata; without it, absent, or refused where the newer version requires it"],
            down: ["/a gone; is left out: it was added"]),
        .member(
            "remove", "a: {type: string}", #"{path: /a, restore: "", because: unread}"#, "", up: ["/a gone; is removed: unread"],
            down: [#"new /a; is restored as """#]),
        .member(
            "remove", "a: {type: string}", "{path: /a, restore: absent, because: unread}", "", up: ["/a gone; is removed: unread"],
            down: ["new /a; is absent: it was removed"]),
        .member(
            "move", "a: {type: string}", "{from: /a, path: /b/c}", "b: {type: object, properties: {c: {type: string}}}",
            up: ["/a /b/c; moves to /b/c"], down: ["/b/c /a; moves to /a"]),
        .member(
            "copy", "a: {type: string}", "{from: /a, path: /b, using: integer-text}", "a: {type: string}, b: {type: integer}",
            up: ["/a /a", "new /b; is added where /a is there: a copy of it, a text <-> its value"],
            down: ["/a /a", "/b gone; is left out: it was a copy of /a"]),
        .member(
            "wrap", "a: {type: string}", "{path: /a}", "a: {type: array, items: {type: string}}",
            up: ["/a /a; becomes a list of its value; absent becomes []; null stays null"],
            down: [
                "/a /a; becomes the first of its list; [] becomes absent where the older version does not require it; null stays null; "
                    + "what follows the first is not seen"
            ]),
        .member(
            "head", "a: {type: array, items: {type: string}}", #"{path: /a, empty: "", because: one will do}"#, "a: {type: string}",
            up: [
                #"/a /a; becomes the first of its list; [] becomes "" where the older version requires the list, and absent otherwise; "#
                    + "null stays null; what follows the first is not seen: one will do"
            ],
            down: [
                #"/a /a; becomes a list of its value; "" becomes []; absent becomes [] where the older version requires the list; "#
                    + "null stays null"
            ]),
        ExplainedOp(
            op: "unset", before: type("E", "id", "a"), item: #"{on: E, do: [{unset: {path: /a, equals: ""}}]}"#,
            after: "E: {required: [id], properties: {id: {type: string}, a: {type: string}}}",
            up: ["E", "/id /id", #"/a /a; is absent where it is """#], down: ["E", "/id /id", #"/a /a; is "" where it is absent"#]),
        .member(
            "convert", "a: {type: string, enum: [\"\", x, \"two words\"]}",
            #"{path: /a, to: string, using: {table: {map: {"": none, x: ""}, otherwise: {value: "7"}, down: {"7": x}, because: few}}}"#,
            #"a: {type: string, enum: [none, "", "7"]}"#,
            up: [#"/a /a; becomes a string: "" is none, x is "", anything else is "7""#],
            down: [#"/a /a; is converted back: 7 is x, none is "", "" is x, anything else is refused"#]),
        .member(
            "convert", "a: {type: string}", "{path: /a, to: integer, using: integer-text, canonical: require}", "a: {type: integer}",
            up: ["/a /a; becomes an integer: a text <-> its value; any other form of it is refused"],
            down: ["/a /a; is converted back: a text <-> its value; any other form of it is refused"]),
        .member(
            "convert", "a: {type: integer}",
            "{path: /a, to: integer, using: {scale: {num: 1, den: 10, round: half-even}}, because: tens will do}", "a: {type: integer}",
            up: ["/a /a; becomes an integer: times 1 / 10, rounded half to even; what does not come back may be lost: tens will do"],
            down: ["/a /a; is converted back: times 10 / 1, rounded half to even"]),
        .member(
            "split", "a: {type: string}", "{path: /a, into: [/b, /c], separator: \"-\", at: last, missing: absent}",
            "b: {type: string}, c: {type: string}",
            up: [
                #"/a /b; is split at the last "-" into /b, /c; null stays null; moves to /b"#,
                #"new /c; is split off /a at the last "-"; without one, absent"#,
            ], down: [joined("-"), "/c gone; goes into /a"]),
        .member(
            "join", "b: {type: string}, c: {type: string}", "{paths: [/b, /c], path: /a, separator: \" \", at: first, missing: absent}",
            "a: {type: string}", up: [joined(" "), "/c gone; goes into /a"],
            down: [
                #"/a /b; is split at the first " " into /b, /c; null stays null; moves to /b"#,
                #"new /c; is split off /a at the first " "; without one, absent"#,
            ]),
        ExplainedOp(
            op: "compute", before: type("E", "id", "a"), item: #"{on: E, do: [{compute: {path: /b, template: "{/id}: {/a}"}}]}"#,
            after: type("E", "id", "a", "b"),
            up: ["E", "/id /id", "/a /a", #"new /b; is computed: "{/id}: {/a}"; absent where one of these is absent or null"#],
            down: ["E", "/id /id", "/a /a", "/b gone; is left out: it was computed"]),
        .member(
            "each", "l: {type: array, items: {type: object, properties: {a: {type: string}, n: {type: string}}}}",
            "{path: /l, do: [{copy: {from: /a, path: /b}}, {move: {from: /n, path: /m}}]}",
            "l: {type: array, items: {type: object, properties: {a: {type: string}, b: {type: string}, m: {type: string}}}}",
            up: ["/l /l", "/l/*/a /l/*/a", "/l/*/n /l/*/m; moves to /l/*/m", "new /l/*/b; is added where /l/*/a is there: a copy of it"],
            down: ["/l /l", "/l/*/a /l/*/a", "/l/*/b gone; is left out: it was a copy of /l/*/a", "/l/*/m /l/*/n; moves to /l/*/n"]),
        .member(
            "when", "k: {type: string}, a: {type: integer}",
            #"{path: /k, equals: "", do: [{convert: {path: /a, to: integer, using: {scale: {num: 10, den: 1}}}}]}"#,
            "k: {type: string}, a: {type: integer}",
            up: ["/k /k", #"/a /a; where /k is "" becomes an integer: times 10 / 1; what is not exact is refused"#],
            down: ["/k /k", #"/a /a; where /k is "" is converted back: times 1 / 10; what is not exact is refused"#]),
        .member(
            "allow", "", "{path: /a, down: absent}", "a: {type: string}",
            up: ["new /a; may be there; nothing that was written before has it"],
            down: ["/a gone; is left out where the older version does not know it; is not in E of version 1"]),
        .member(
            "allow", "a: {type: string, enum: [\"\", x]}", #"{path: /a, down: {table: {y: ""}, value: x}}"#,
            "a: {type: string, enum: [\"\", x, y, z]}",
            up: ["/a /a; may be more than version 1 knows; what was written before stays"],
            down: [
                #"/a /a; is "" where it is y; is "x" where the older version does not know it, "#
                    + "or it is absent and the older version requires it"
            ]),
        .member("reserve", "a: {type: string}", "[old]", "a: {type: string}", up: ["/a /a"], down: ["/a /a"]),
        ExplainedOp(
            op: "swift", before: type("E", "id", "a"),
            item: "{on: E, do: [{swift: {id: mix, revision: 1, class: widen, reads: [/a], writes: [/b], down: one-way}}]}",
            after: type("E", "id", "a", "b"), up: ["E", "/id /id", "/a /a", "new /b; is made by the Swift step mix from /a"],
            down: ["E", "/id /id", "/a /a", "/b gone; has no way down: mix is one-way; is not in E of version 1"]),
    ]

    static let events: [ExplainedOp] = [
        .event(
            "add-event", type("E", "id"), #"{type: N, down: {hide: "too new"}}"#, "\(type("E", "id")), \(type("N", "id"))",
            types: ("E", "N"), up: ["E", "/id /id"], down: ["no event", "is hidden: too new"]),
        .event(
            "add-event", type("E", "id"), "{type: N, down: block}", "\(type("E", "id")), \(type("N", "id"))", types: ("E", "N"),
            up: ["E", "/id /id"], down: ["no event", "has no image: such events are refused while the older version is promised"]),
        .event(
            "add-event", type("E", "id"), "{type: N, down: {as: [{type: E, pick: [], move: {/key: /id}}]}}",
            "\(type("E", "id")), \(type("N", "key", "more"))", types: ("E", "N"), up: ["E", "/id /id"],
            down: ["E", "is seen as E", "/key /id; moves to /id", "/more gone; is not seen in E"]),
        .event(
            "rename-event", type("E", "id"), "{from: E, to: F}", type("F", "id"), types: ("E", "F"), up: ["F", "is called F", "/id /id"],
            down: ["E", "is called E", "/id /id"]),
        .event(
            "rename-event",
            "E: {required: [id, k], properties: {id: {type: string}, k: {type: string, enum: [\"\", y]}, a: {type: string}}}",
            #"{from: E, by: /k, to: {"": X, y: Y}}"#,
            "\(type("X", "id")), Y: {required: [id], properties: {id: {type: string}, a: {type: string}}}", types: ("E", "X"),
            up: [
                "X", #"is X, where /k is """#, "/id /id", "/k gone; became the type X", "/a gone; is not in X of version 2",
                "Y", #"is Y, where /k is "y""#, "/id /id", "/k gone; became the type Y", "/a /a",
            ],
            down: ["E", "is called E", "/id /id", #"new /k; is "", for the type"#, "new /a; is not in X of version 2"]),
        .event(
            "drop-event", "\(type("E", "id")), \(type("F", "id"))", "{type: E, because: noise}", type("F", "id"), types: ("E", "F"),
            up: ["no event", "is dropped: noise"], down: ["F", "/id /id"]),
        .event(
            "split-event", type("E", "id", "a", "b", "c"),
            #"{type: E, because: "c was a guess", into: [{type: A, pick: [/id, /a], down: {as: {/b: "", /c: ""}}}, {type: B, pick: [/id, /b], do: [{move: {from: /b, path: /bb}}], down: {hide: "in A"}}]}"#,
            "\(type("A", "id", "a")), \(type("B", "id", "bb"))", types: ("E", "A"),
            up: [
                "A", "is split: A", "/id /id", "/a /a", "/b gone; is in B", "/c gone; is in no part: c was a guess",
                "B", "is split: B", "/id /id", "/a gone; is in A", "/b /bb; moves to /bb", "/c gone; is in no part: c was a guess",
            ],
            down: [
                "E", "is joined with the other parts to E", "/id /id", "/a /a",
                #"new /b; comes from B, where there is one; moves to /b; is "" where no part that is there has it"#,
                #"new /c; is "" where no part that is there has it"#,
            ]),
        .event(
            "merge-events", "\(type("A", "id", "a")), \(type("B", "id", "b"))", "{types: [A, B], into: E, on: /id}",
            "E: {required: [id], properties: {id: {type: string}, a: {type: string}, b: {type: string}}}", types: ("A", "E"),
            up: [
                "E",
                "is merged with B of its append and stream that has the same /id; "
                    + "alone it is E where that requires no more, and refused otherwise",
                "/id /id", "/a /a; is optional string in E of version 2",
                "new /b; comes from B, where there is one",
            ],
            down: [
                "A", "is A again, where it has what A alone has and requires", "/id /id", "/a /a; is string in A of version 1",
                "/b gone; is in B",
                "B", "is B again, where it has what B alone has and requires", "/id /id", "/a gone; is in A",
                "/b /b; is string in B of version 1",
            ]),
        .event(
            "rekey", type("E", "id", stream: "old-{/id}"), #"{from: "old-{key}", to: "new-{key}"}"#,
            type("E", "id", stream: "new-{/id}"), up: ["E", "is in a stream new-{key}, which was old-{key}", "/id /id"],
            down: ["E", "is in a stream old-{key}, which was new-{key}", "/id /id"]),
        .event(
            "rekey", type("E", "id"), #"{from: "old-{key}", to: "new-{key}"}"#, type("E", "id"),
            up: ["E", "is in a stream new-{key} where that was old-{key}", "/id /id"],
            down: ["E", "is in a stream old-{key} where that was new-{key}", "/id /id"]),
    ]
}
