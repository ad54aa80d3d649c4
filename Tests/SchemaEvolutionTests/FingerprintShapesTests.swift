import EventModel
import Hashing
import JSONText
import TestSupport
import Testing

@testable import SchemaEvolution

/// A step to version 2 whose result is held against what the file declares of a member.
private struct DeclaredMember: CustomTestStringConvertible, Sendable {
    var what: String
    var upcast: String
    /// The members of version 2; `BOUND` stands for what is asked of the member.
    var after: String
    var isSplit = false

    var testDescription: String { what }

    private static func on(_ op: String) -> String { "[{on: E, do: [{\(op)}]}]" }

    static let all = [
        DeclaredMember(
            what: "compute", upcast: on("compute: {path: /t, template: \"{/a}{/b}\"}"),
            after: "a: {type: string}, b: {type: string}, t: {type: string BOUND}"),
        DeclaredMember(
            what: "add from metadata", upcast: on("add: {path: /t, from: $metadata/x}"),
            after: "a: {type: string}, b: {type: string}, t: {type: string BOUND}"),
        DeclaredMember(
            what: "join", upcast: on("join: {paths: [/a, /b], path: /t, separator: \" \", at: first, missing: absent}"),
            after: "t: {type: string BOUND}"),
        DeclaredMember(
            what: "a step in Swift",
            upcast: on("swift: {id: any, revision: 1, class: partial, reads: [/a], writes: [/t]}"),
            after: "a: {type: string}, b: {type: string}, t: {type: string BOUND}"),
        DeclaredMember(
            what: "compute in a part of a split",
            upcast: """
                [{split-event: {type: E, into: [{type: E, pick: [/a], do: [{compute: {path: /t, template: "{/a}"}}], down: as}, \
                {type: F, pick: [/b], down: as}]}}]
                """,
            after: "a: {type: string}, t: {type: string BOUND}", isSplit: true),
    ]

    /// The history with something asked of the member, where the check takes it.
    func history(_ bound: String) throws -> History? {
        let other = isSplit ? ", F: {properties: {b: {type: string}}}" : ""
        let step = AnyStep(id: "any", newer: { try $0.write("/t", $0.read("/a", as: String.self) ?? "") })
        let history = try SchemaEvolutionTests.history([
            "events: {E: {properties: {a: {type: string}, b: {type: string}}}}",
            "upcast: \(upcast)\nevents: {E: {properties: {\(after.replacing("BOUND", with: bound))}}\(other)}",
        ]).with(SwiftSteps([step]))
        return history.check().errors.isEmpty ? history : nil
    }
}

@Suite("Fingerprints and what a file declares of members that ops make")
struct FingerprintShapesTests {
    private static let bounds = ["", ", maxLength: 3", ", maxLength: 5", ", minLength: 2", ", enum: [xy, x]", ", format: date"]

    /// What a version sees of an event, or that it sees nothing.
    private func seen(_ history: History, _ json: String, _ metadata: String) -> [String] {
        do {
            return try PathRunner(history).images("E", json, from: 1, to: 2, metadata: metadata).map(\.description)
        } catch { return ["none"] }
    }

    @Test("files of which one sees an event that the other does not have other fingerprints", arguments: DeclaredMember.all)
    private func shapes(one: DeclaredMember) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var numbers = SeededGenerator(seed: seed)
        func text() -> String { String("xyxyxyxy".prefix(Int.random(in: 0 ... 7, using: &numbers))) }
        let histories = try Self.bounds.compactMap { bound in try one.history(bound).map { (bound, $0) } }
        try #require(histories.count > 2)
        var differing = 0
        for _ in 0 ..< 40 {
            let (json, metadata) = (#"{"a":"\#(text())","b":"\#(text())"}"#, #"{"x":"\#(text())"}"#)
            for (bound, history) in histories {
                for (other, another) in histories where seen(history, json, metadata) != seen(another, json, metadata) {
                    differing += 1
                    let digests = [history, another].map { $0.stepsDigest(for: ["E"], at: SchemaVersion(2)) }
                    try #require(digests[0] != digests[1], "seed \(seed): \(bound) and \(other) see \(json) otherwise")
                }
            }
        }
        #expect(differing > 0, "seed \(seed)")
    }

    @Test(
        "a member that is made of the stream's name has a fingerprint of its own where streams have other names, wherever it is made",
        arguments: [
            ["{on: E, do: [{add: {path: /s, from: $stream}}]}", "{rekey: {from: \"u-{n}\", to: \"p-{n}\"}}"],
            ["{rekey: {from: \"u-{n}\", to: \"p-{n}\"}}", "{on: E, do: [{add: {path: /s, from: $stream}}]}"],
            [
                "{split-event: {type: E, into: [{type: E, pick: [/n], do: [{add: {path: /s, from: $stream}}], down: as}]}}",
                "{rekey: {from: \"u-{n}\", to: \"p-{n}\"}}",
            ],
        ])
    func streamNames(items: [String]) throws {
        func isMarked(_ items: [String]) throws -> Bool {
            let history = try SchemaEvolutionTests.history([
                "events: {E: {properties: {n: {type: string}}}}",
                "upcast: [\(items.joined(separator: ", "))]\nevents: {E: {properties: {n: {type: string}, s: {type: string}}}}",
            ])
            return StepSubjects(history.chain.steps, ["E"], shapes: history).found.contains {
                $0 == .string("the stream's name at the step's version")
            }
        }
        #expect(try isMarked(items))
        #expect(try !isMarked(items.filter { !$0.contains("rekey") }))
    }

    /// Whether two versions with an op between have one fingerprint for who reads some members; `second` comes before them.
    private func isKept(_ op: String, reading members: [String], from second: String? = nil, to third: String) throws -> Bool {
        let step = "forward: 1\nupcast: [{on: E, do: [{\(op)}]}]\nevents: {E: {\(third)}}"
        let history = try SchemaEvolutionTests.history(
            ["events: {E: {\(Self.plain)}}"] + (second.map { ["events: {E: {\($0)}}"] } ?? []) + [step])
        #expect(history.check().errors == [])
        let pointers = try members.map { try JSONPointer($0) }
        let digests = [history.head.previous, history.head].map { history.stepsDigest(for: ["E"], at: $0) { _ in pointers } }
        return digests[0] == digests[1]
    }

    private static let plain = "required: [a, b], properties: {a: {type: string}, b: {type: string}, o: {type: object, properties: {}}}"

    @Test(
        "a step that changes no member that is read, and that no event can fail, changes no fingerprint",
        arguments: [
            ("add: {path: /n, value: x}", "required: [a, b, n], properties: {a: T, b: T, o: O, n: T}"),
            ("allow: {path: /n, down: absent}", "required: [a, b], properties: {a: T, b: T, o: O, n: T}"),
            ("remove: {path: /b, restore: x, because: old}", "required: [a], properties: {a: T, o: O}"),
            ("move: {from: /b, path: /n}", "required: [a, n], properties: {a: T, n: T, o: O}"),
            ("copy: {from: /a, path: /n}", "required: [a, b, n], properties: {a: T, b: T, o: O, n: T}"),
            ("compute: {path: /n, template: '{/a}-{/b}'}", "required: [a, b, n], properties: {a: T, b: T, o: O, n: T}"),
            ("unset: {path: /b, equals: none}", "required: [a], properties: {a: T, b: T, o: O}"),
        ])
    func unread(op: String, shape: String) throws {
        let shape = shape.replacing("O", with: "{type: object, properties: {}}").replacing("T", with: "{type: string}")
        #expect(try isKept(op, reading: ["/a"], to: shape))
        #expect(try !isKept(op, reading: ["/a", "/b", "/n"], to: shape))
    }

    @Test(
        "a step that an event can fail or be hidden by, or that changes what is read, has a fingerprint of its own",
        arguments: [
            ("convert: {path: /b, to: integer, using: integer-text}", "required: [a, b], properties: {a: T, b: {type: integer}, o: O}"),
            ("allow: {path: /n, down: {hide: new}}", "required: [a, b], properties: {a: T, b: T, o: O, n: T}"),
            ("copy: {from: /b, path: /n, using: integer-text}", "required: [a, b, n], properties: {a: T, b: T, o: O, n: {type: integer}}"),
            (
                "add: {path: /o/n, value: x}",
                "required: [a, b, o], properties: {a: T, b: T, o: {type: object, required: [n], properties: {n: T}}}"
            ),
            ("add: {path: /n, from: $stream}", "required: [a, b, n], properties: {a: T, b: T, o: O, n: T}"),
            ("wrap: {path: /b, empty: ''}", "required: [a, b], properties: {a: T, b: {type: array, items: T}, o: O}"),
        ])
    func unlike(op: String, shape: String) throws {
        let shape = shape.replacing("O", with: "{type: object, properties: {}}").replacing("T", with: "{type: string}")
        #expect(try !isKept(op, reading: ["/a", "/o"], to: shape))
    }

    @Test("where a member may not fit its shape, a step on others may change who is seen")
    func checked() throws {
        let narrow = "required: [a, b], properties: {a: {type: string}, b: {type: string, maxLength: 2}, o: {type: object, properties: {}}}"
        let removed = "required: [a], properties: {a: {type: string}, o: {type: object, properties: {}}}"
        #expect(try !isKept("remove: {path: /b, restore: x, because: old}", reading: ["/a"], from: narrow, to: removed))
        let more = narrow.replacing("o: {", with: "n: {type: string}, o: {")
        #expect(try !isKept("allow: {path: /n, down: absent}", reading: ["/a"], from: narrow, to: more))
        let wide = narrow.replacing("maxLength: 2", with: "maxLength: 5")
        #expect(try !isKept("allow: {path: /b, down: {value: x}}", reading: ["/a"], from: narrow, to: wide))
    }

    @Test("what comes of the same events by a member's value has a fingerprint of its own where a step can refuse its sibling")
    func siblings() throws {
        func types(_ n: String) -> String {
            "events: {F: {properties: {n: {type: string}}}, G: {properties: {n: {type: \(n)}}}}"
        }
        let history = try SchemaEvolutionTests.history([
            "events: {E: {required: [k], properties: {k: {type: string, enum: [f, g]}, n: {type: string}}}}",
            "upcast: [{rename-event: {from: E, by: /k, to: {f: F, g: G}}}]\n\(types("string"))",
            "forward: 1\nupcast: [{on: G, do: [{convert: {path: /n, to: integer, using: integer-text}}]}]\n\(types("integer"))",
        ])
        #expect(history.check().errors == [])
        #expect(history.stepsDigest(for: ["F"], at: SchemaVersion(2)) != history.stepsDigest(for: ["F"], at: SchemaVersion(3)))
    }

    @Test("a type that a list of types names twice is an error of the file")
    func twice() throws {
        func errors(_ types: String) throws -> [String] {
            try history([
                "events: {E: {properties: {n: {type: integer}}}}",
                "upcast: [{on: [\(types)], do: [{convert: {path: /n, to: integer, using: {scale: {num: 10}}}}]}]\nevents: {E: {properties: {n: {type: integer}}}}",
            ]).check().errors
        }
        #expect(try errors("E") == [])
        #expect(try errors("E, E").count == 1)
    }
}
