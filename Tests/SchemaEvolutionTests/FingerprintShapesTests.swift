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
        do { return try Viewer(history).images("E", json, from: 1, to: 2, metadata: metadata).map(\.description) } catch { return ["none"] }
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
