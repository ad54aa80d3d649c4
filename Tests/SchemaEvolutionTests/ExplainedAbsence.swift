import Testing

/// Two versions with one op between them, and what becomes of events that lack something, each beside the words that say so.
struct ExplainedAbsence: CustomTestStringConvertible, Sendable {
    /// An event, its images (`refused` and `nothing` where it has none), and the words of the explanation.
    typealias Case = (event: String, image: String, words: String)

    var op: String
    /// `events:` of both versions, and the item between.
    var before, item, after: String
    /// The types that are explained.
    var types = (up: "E", down: "E")
    var up, down: [Case]

    var testDescription: String { item }

    /// An op on `E`, whose shape is this.
    static func member(_ op: String, _ arguments: String, _ before: String, _ after: String, up: Case..., down: Case...) -> Self {
        ExplainedAbsence(
            op: op, before: "E: {\(before)}", item: "{on: E, do: [{\(op): \(arguments)}]}", after: "E: {\(after)}", up: up, down: down)
    }

    static func event(
        _ op: String, _ arguments: String, _ before: String, _ after: String, types: (String, String), up: [Case] = [], down: [Case] = []
    ) -> Self {
        ExplainedAbsence(op: op, before: before, item: "{\(op): \(arguments)}", after: after, types: types, up: up, down: down)
    }

    private static let (optional, required) = ("properties: {a: {type: string}}", "required: [a], properties: {a: {type: string}}")
    private static let list = "{type: array, items: {type: string}}"
    private static let (lists, requiredLists) = ("properties: {a: \(list)}", "required: [a], properties: {a: \(list)}")
    private static let none = "properties: {}"
    private static let objects = (
        full: "properties: {o: {type: object, properties: {n: {type: string}}}}", empty: "properties: {o: {type: object, properties: {}}}"
    )
    private static let parts = "properties: {a: {type: [string, \"null\"]}, b: {type: string}}"
    private static func keyed(_ type: String, _ member: String, requires: String) -> String {
        "\(type): {required: [\(requires)], properties: {k: {type: integer}, \(member): {type: string}}}"
    }

    private static let whole = "properties: {w: {type: [string, \"null\"]}}"

    static let members: [ExplainedAbsence] = [
        .member(
            "add", #"{path: /a, value: ""}"#, none, optional, up: ("{}", #"{"a":""}"#, #"is added: """#),
            down: ("{}", "{}", "is left out")),
        .member(
            "add", #"{path: /o/n, value: ""}"#, objects.empty, objects.full,
            up: ("{}", "{}", "where the object around it is neither there nor new, absent"), (#"{"o":{}}"#, #"{"o":{"n":""}}"#, "is added"),
            down: (#"{"o":{}}"#, #"{"o":{}}"#, "is left out")),
        .member(
            "add", "{path: /a, from: $metadata/a}", none, optional, up: ("{}", "{}", "without it, absent"),
            down: ("{}", "{}", "is left out")),
        .member(
            "add", "{path: /a, from: $metadata/a}", none, required,
            up: ("{}", "refused", "or refused where the newer version requires it"), down: (#"{"a":"x"}"#, "{}", "is left out")),
        .member(
            "remove", #"{path: /a, restore: "", because: x}"#, optional, none, up: ("{}", "{}", "is removed"),
            down: ("{}", #"{"a":""}"#, "is restored as \"\"")),
        .member(
            "remove", #"{path: /o/n, restore: "", because: x}"#, objects.full, objects.empty,
            up: (#"{"o":{}}"#, #"{"o":{}}"#, "is removed"),
            down: ("{}", "{}", "where the object around it is there"), (#"{"o":{}}"#, #"{"o":{"n":""}}"#, "is restored as \"\"")),
        .member(
            "remove", "{path: /a, restore: absent, because: x}", optional, none, up: ("{}", "{}", "is removed"),
            down: ("{}", "{}", "is absent: it was removed")),
        .member(
            "move", "{from: /a, path: /b}", optional, "properties: {b: {type: string}}", up: ("{}", "{}", "moves to /b"),
            down: ("{}", "{}", "moves to /a")),
        .member(
            "copy", "{from: /a, path: /b}", optional, "properties: {a: {type: string}, b: {type: string}}",
            up: ("{}", "{}", "is added where /a is there"), down: ("{}", "{}", "is left out")),
        .member(
            "wrap", "{path: /a}", optional, requiredLists, up: ("{}", #"{"a":[]}"#, "absent becomes []"),
            down: (#"{"a":[]}"#, "{}", "[] becomes absent where the older version does not require it")),
        .member(
            "wrap", #"{path: /a, empty: ""}"#, required, requiredLists, up: (#"{"a":""}"#, #"{"a":[]}"#, "\"\" becomes []"),
            down: (#"{"a":[]}"#, #"{"a":""}"#, #"[] becomes """#)),
        .member(
            "wrap", "{path: /o/n}", objects.full, "properties: {o: {type: object, properties: {n: \(list)}}}",
            up: ("{}", "{}", "absent becomes [] where the object around it is there"),
            (#"{"o":{}}"#, #"{"o":{"n":[]}}"#, "absent becomes []"),
            down: ("{}", "{}", "becomes the first of its list")),
        .member(
            "wrap", "{path: /a}", "required: [a], properties: {a: {type: [string, \"null\"]}}",
            "required: [a], properties: {a: {type: [array, \"null\"], items: {type: string}, minItems: 1}}",
            up: (#"{"a":null}"#, #"{"a":null}"#, "null stays null"), down: (#"{"a":null}"#, #"{"a":null}"#, "null stays null")),
        .member(
            "head", "{path: /a, because: x}", lists, optional, up: (#"{"a":[]}"#, "{}", "[] becomes absent"), ("{}", "{}", "the first"),
            down: ("{}", "{}", "absent becomes [] where the older version requires the list")),
        .member(
            "head", "{path: /a, because: x}", requiredLists, optional, up: (#"{"a":[]}"#, "{}", "[] becomes absent"),
            down: ("{}", #"{"a":[]}"#, "absent becomes [] where the older version requires the list")),
        .member(
            "head", #"{path: /a, empty: "", because: x}"#, lists, optional,
            up: (#"{"a":[]}"#, "{}", #"[] becomes "" where the older version requires the list, and absent otherwise"#),
            down: ("{}", "{}", "where the older version requires the list"), (#"{"a":""}"#, #"{"a":[]}"#, "\"\" becomes []")),
        .member(
            "head", #"{path: /a, empty: "", because: x}"#, requiredLists, required,
            up: (#"{"a":[]}"#, #"{"a":""}"#, #"[] becomes "" where the older version requires the list"#),
            down: (#"{"a":""}"#, #"{"a":[]}"#, "\"\" becomes []")),
        .member(
            "unset", #"{path: /a, equals: ""}"#, required, optional, up: (#"{"a":""}"#, "{}", #"is absent where it is """#),
            down: ("{}", #"{"a":""}"#, #"is "" where it is absent"#)),
        .member(
            "convert", "{path: /a, to: integer, using: integer-text, canonical: require}", optional, "properties: {a: {type: integer}}",
            up: ("{}", "{}", "becomes an integer"), (#"{"a":"07"}"#, "refused", "any other form of it is refused"),
            down: ("{}", "{}", "is converted back"), (#"{"a":7.0}"#, "refused", "any other form of it is refused")),
        .member(
            "convert", "{path: /a, to: string, using: {table: {map: {x: y}}}}", optional, "properties: {a: {type: string, enum: [y]}}",
            up: ("{}", "{}", "x is y"), (#"{"a":"z"}"#, "refused", "anything else is refused"),
            down: ("{}", "{}", "anything else is refused")),
        .member(
            "split", #"{path: /w, into: [/a, /b], separator: "-", at: first, missing: absent}"#, whole, parts,
            up: ("{}", "{}", "is split"), (#"{"w":null}"#, #"{"a":null}"#, "null stays null"),
            (#"{"w":"x"}"#, #"{"a":"x"}"#, "without one, absent"),
            down: ("{}", "{}", "is joined"), (#"{"a":"x"}"#, #"{"w":"x"}"#, "those of /a, /b that are there"),
            (#"{"b":"x"}"#, "refused", "where it is absent and another is there, the event is refused"),
            (#"{"a":null,"b":"x"}"#, #"{"w":null}"#, "where it is null, the others are lost")),
        .member(
            "join", #"{paths: [/a, /b], path: /w, separator: "-", at: first, missing: error}"#, parts, whole,
            up: ("{}", "{}", "is joined"), (#"{"b":"x"}"#, "refused", "where it is absent and another is there, the event is refused"),
            down: ("{}", "{}", "is split"), (#"{"w":"x"}"#, "refused", "without one, the event is refused")),
        .member(
            "compute", #"{path: /t, template: "{/a}!"}"#, "properties: {a: {type: [string, \"null\"]}}",
            "properties: {a: {type: [string, \"null\"]}, t: {type: string}}",
            up: ("{}", "{}", "absent where one of these is absent or null"), (#"{"a":null}"#, #"{"a":null}"#, "absent or null"),
            down: ("{}", "{}", "is left out")),
        .member(
            "each", "{path: /l, do: [{copy: {from: /a, path: /b}}]}",
            "properties: {l: {type: array, items: {type: object, properties: {a: {type: string}}}}}",
            "properties: {l: {type: array, items: {type: object, properties: {a: {type: string}, b: {type: string}}}}}",
            up: ("{}", "{}", "is added"), (#"{"l":[{}]}"#, #"{"l":[{}]}"#, "is added where /l/*/a is there"),
            down: ("{}", "{}", "is left out")),
        .member(
            "when", "{path: /k, equals: x, do: [{convert: {path: /n, to: integer, using: {scale: {num: 10}}}}]}",
            "properties: {k: {type: string}, n: {type: integer}}", "properties: {k: {type: string}, n: {type: integer}}",
            up: (#"{"n":1}"#, #"{"n":1}"#, #"where /k is "x" becomes"#),
            down: (#"{"k":"x","n":1}"#, "refused", "what is not exact is refused"), (#"{"n":1}"#, #"{"n":1}"#, #"where /k is "x""#)),
        .member(
            "allow", "{path: /a, down: absent}", none, optional, up: ("{}", "{}", "may be there"),
            down: ("{}", "{}", "is left out where the older version does not know it")),
        .member(
            "allow", #"{path: /a, down: {absent-as: ""}}"#, required, optional, up: (#"{"a":"x"}"#, #"{"a":"x"}"#, "may be more"),
            down: ("{}", #"{"a":""}"#, #"is "" where it is absent and the older version requires it"#)),
        .member(
            "allow", "{path: /a, down: {value: x}}", required, optional, up: (#"{"a":"x"}"#, #"{"a":"x"}"#, "may be more"),
            down: (
                "{}", #"{"a":"x"}"#, #"is "x" where the older version does not know it, or it is absent and the older version requires it"#
            )),
        .member(
            "allow", "{path: /a, down: {value: x}}", "properties: {a: {type: string, enum: [x]}}",
            "properties: {a: {type: string, enum: [x, y]}}", up: ("{}", "{}", "may be more"),
            down: ("{}", "{}", "or it is absent and the older version requires it"), (#"{"a":"y"}"#, #"{"a":"x"}"#, "does not know it")),
        .member(
            "allow", "{path: /a, down: block}", required, optional, up: (#"{"a":"x"}"#, #"{"a":"x"}"#, "may be more"),
            down: (
                "{}", "refused", "is refused where the older version does not know it, or it is absent and the older version requires it"
            )),
        .member(
            "allow", "{path: /a, down: {hide: new}}", required, optional, up: (#"{"a":"x"}"#, #"{"a":"x"}"#, "may be more"),
            down: ("{}", "nothing", "hides the event where")),
        .member(
            "allow", "{path: /a, down: {table: {y: x}}}", "properties: {a: {type: string, enum: [x]}}",
            "properties: {a: {type: string, enum: [x, y, z]}}", up: ("{}", "{}", "may be more"),
            down: (#"{"a":"y"}"#, #"{"a":"x"}"#, #"is "x" where it is y"#),
            (#"{"a":"z"}"#, "refused", "is refused where the older version does not know it")),
    ]

    static let events: [ExplainedAbsence] = [
        .event(
            "add-event", "{type: N, down: {hide: new}}", "E: {\(none)}", "E: {\(none)}, N: {\(none)}", types: ("E", "N"),
            up: [("{}", "{}", "")], down: [("{}", "nothing", "is hidden")]),
        .event(
            "drop-event", "{type: E, because: x}", "E: {\(none)}, F: {\(none)}", "F: {\(none)}", types: ("E", "F"),
            up: [("{}", "nothing", "is dropped")], down: [("{}", "{}", "")]),
        .event(
            "rename-event", "{from: E, by: /k, to: {x: X, y: Y}}",
            "E: {required: [k], properties: {k: {type: string, enum: [x, y]}, a: {type: string}}}", "X: {\(optional)}, Y: {\(optional)}",
            types: ("E", "Y"), up: [(#"{"k":"x"}"#, "{}", "became the type X")], down: [("{}", #"{"k":"y"}"#, #"is "y", for the type"#)]),
        .event(
            "split-event",
            #"{type: E, because: x, into: [{type: A, pick: [/a], down: {as: {/b: ""}}}, "#
                + "{type: B, pick: [/b], when: {path: /a, exists: true}, down: {hide: in A}}]}",
            "E: {required: [b], properties: {a: {type: string}, b: {type: string}}}",
            "A: {\(optional)}, B: {required: [b], properties: {b: {type: string}}}", types: ("E", "A"),
            up: [(#"{"b":"x"}"#, "{}", "is in B, where /a is there")],
            down: [("{}", #"{"b":""}"#, #"is "" where no part that is there has it"#)]),
        .event(
            "merge-events", "{types: [A, B], into: C, on: /k}",
            "\(keyed("A", "a", requires: "k, a")), \(keyed("B", "b", requires: "k, b"))",
            "C: {required: [k], properties: {k: {type: integer}, a: {type: string}, b: {type: string}}}", types: ("A", "C"),
            up: [(#"{"k":1,"a":"x"}"#, #"{"a":"x","k":1}"#, "alone it is C where that requires no more")],
            down: [
                (#"{"k":1,"a":"x"}"#, #"{"a":"x","k":1}"#, "is A again, where it has what A alone has and requires"),
                (#"{"k":1,"b":"x"}"#, #"{"b":"x","k":1}"#, "is B again, where it has what B alone has and requires"),
            ]),
        .event(
            "merge-events", "{types: [A, B], into: C, on: /k}",
            "\(keyed("A", "a", requires: "k, a")), \(keyed("B", "b", requires: "k"))",
            "C: {required: [k, a], properties: {k: {type: integer}, a: {type: string}, b: {type: string}}}", types: ("B", "C"),
            up: [(#"{"k":1}"#, "refused", "and refused otherwise")],
            down: [(#"{"k":1,"a":"x"}"#, #"{"a":"x","k":1} + {"k":1}"#, "is B again, where it has what B alone has and requires")]),
        .event(
            "rekey", #"{from: "a-{k}", to: "b-{k}"}"#, "E: {\(none)}", "E: {\(none)}", types: ("E", "E"),
            up: [("{}", "{}", "is in a stream b-{k} where that was a-{k}")],
            down: [("{}", "{}", "is in a stream a-{k} where that was b-{k}")]),
    ]
}
