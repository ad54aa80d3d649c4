import Bytes
import EventModel
import Hashing
import JSONText
import Testing

@testable import SchemaEvolution
@testable import SchemaTools

/// First and last name to one, and back at the last space.
struct FullName: ReversibleSwiftStep {
    var id = "full-name"
    var revision = 1

    func up(_ members: inout StepMembers) throws {
        let first = try members.read("/first", as: String.self)
        let last = try members.read("/last", as: String.self)
        try members.write("/name/full", [first, last].compactMap(\.self).joined(separator: " "))
        try members.write("/length", (first ?? "").count + (last ?? "").count)
    }

    func down(_ members: inout StepMembers) throws {
        let parts = try members.read("/name/full", as: String.self)?.split(separator: " ", maxSplits: 1) ?? []
        guard let first = parts.first else { throw StepFailure(at: "/name/full", expected: "a name", found: "nothing") }
        try members.write("/first", String(first))
        if parts.count > 1 { try members.write("/last", String(parts[1])) }
    }
}

/// Whatever a test says.
struct AnyStep: ReversibleSwiftStep {
    let id: String
    var revision = 1
    var newer: @Sendable (inout StepMembers) throws -> Void = { _ in }
    var older: @Sendable (inout StepMembers) throws -> Void = { _ in }

    func up(_ members: inout StepMembers) throws { try newer(&members) }
    func down(_ members: inout StepMembers) throws { try older(&members) }
}

struct UpOnly: SwiftStep {
    let id = "full-name"
    let revision = 1

    func up(_ members: inout StepMembers) throws { try FullName().up(&members) }
}

private func names(_ op: String, _ steps: [any SwiftStep]) throws -> History {
    try history(
        before:
            "required: [id, first], properties: {id: {type: string}, first: {type: string, minLength: 1}, last: {type: string, minLength: 1}}",
        ops: op,
        after:
            "required: [id, name, length], properties: {id: {type: string}, name: {type: object, required: [full], properties: {full: {type: string}}}, length: {type: integer}}"
    ).with(SwiftSteps(steps))
}

private let op = "swift: {id: full-name, revision: 1, class: partial, reads: [/first, /last], writes: [/first, /last, /name/full, /length]}"

/// One member made of another, by whatever code.
private func one(_ step: AnyStep, class opClass: String = "widen") throws -> PathRunner {
    PathRunner(
        try history(
            before: "required: [a, b], properties: {a: {type: integer}, b: {type: integer}}",
            ops: "swift: {id: \(step.id), revision: 1, class: \(opClass), reads: [/a], writes: [/c]}",
            after: "required: [a, b, c], properties: {a: {type: integer}, b: {type: integer}, c: {type: integer}}"
        ).with(SwiftSteps([step])))
}

@Suite("steps in Swift")
struct SwiftStepTests {
    @Test("a step makes members of others and leads back; what it does not declare is not touched")
    func pair() throws {
        let history = try names(op, [FullName()])
        #expect(history.check().errors == [])
        #expect(history.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == .partial)
        let viewer = PathRunner(history)
        let up = try viewer.up(#"{"id":"1","first":"Ada","last":"Lovelace"}"#)
        #expect(try canonical(up) == canonical(#"{"id":"1","name":{"full":"Ada Lovelace"},"length":11}"#))
        #expect(try canonical(viewer.down(up)) == canonical(#"{"id":"1","first":"Ada","last":"Lovelace"}"#))
        #expect(try canonical(viewer.down(#"{"id":"1","name":{"full":"Plato"},"length":5}"#)) == canonical(#"{"id":"1","first":"Plato"}"#))
        #expect(history.chain.steps.map(\.hasSwiftSteps) == [true])
    }

    @Test("what a step throws is the event's failure, with the pointer that it names")
    func thrown() throws {
        let viewer = PathRunner(try names(op, [FullName()]))
        let found = try failure { try viewer.down(#"{"id":"1","name":{"full":""},"length":0}"#) }
        #expect(found.pointer == "/name/full" && found.expected == "a name" && found.op == "swift (op 1)")
        let other = try one(AnyStep(id: "s", newer: { _ in throw CancellationError() }))
        #expect(try failure { try other.up(#"{"a":1,"b":2}"#) }.expected.contains("the step s"))
    }

    @Test("a step that reads what it does not declare to read is stopped, and so is one that writes")
    func undeclared() throws {
        let reads = try one(AnyStep(id: "s", newer: { try $0.write("/c", $0.read("/b", as: Int.self)) }))
        #expect(try failure { try reads.up(#"{"a":1,"b":2}"#) }.pointer == "/b")
        let writes = try one(AnyStep(id: "s", newer: { try $0.write("/b", 3) }))
        #expect(try failure { try writes.up(#"{"a":1,"b":2}"#) }.pointer == "/b")
        let removes = try one(AnyStep(id: "s", newer: { try $0.remove("/a") }))
        #expect(try failure { try removes.up(#"{"a":1,"b":2}"#) }.pointer == "/a")
        let replaces = try one(AnyStep(id: "s", newer: { try $0.encode(["a": 7, "c": 1]) }))
        let found = try failure { try replaces.up(#"{"a":1,"b":2}"#) }
        #expect(found.pointer == "/a" && found.found == "7")
        let invents = try one(AnyStep(id: "s", newer: { try $0.encode(["b": 2, "c": 1]) }))
        #expect(try invents.up(#"{"a":1,"b":2}"#) == #"{"a":1,"b":2,"c":1}"#, "b is as it was")
    }

    @Test("what a step may change and leaves alone stays; so it reads what is there before")
    func untouched() throws {
        func viewer(reads: String) throws -> PathRunner {
            let shape = "required: [a], properties: {a: {type: integer}, note: {type: string}"
            let made = AnyStep(id: "s", newer: { try $0.write("/c", 1) })
            return PathRunner(
                try history(
                    before: shape + "}", ops: "swift: {id: s, revision: 1, class: widen, reads: [\(reads)], writes: [/c, /note]}",
                    after: shape.replacing("[a]", with: "[a, c]") + ", c: {type: integer}}"
                ).with(SwiftSteps([made])))
        }
        #expect(try viewer(reads: "/a, /note").up(#"{"a":1,"note":"kept"}"#) == #"{"a":1,"note":"kept","c":1}"#)
        let errors = try viewer(reads: "/a").history.check().errors
        #expect(errors.count == 1 && errors[0].contains("/note"), "\(errors)")
    }

    @Test("what a step writes below null is an error, never dropped")
    func belowNull() throws {
        let shape = "required: [a], properties: {a: {type: [object, 'null'], properties: {b: {type: integer}}}}"
        let viewer = PathRunner(
            try history(
                before: shape, ops: "swift: {id: s, revision: 1, class: iso, reads: [/a/b], writes: [/a/b]}", after: shape
            ).with(SwiftSteps([AnyStep(id: "s", newer: { try $0.write("/a/b", 2) })])))
        #expect(try viewer.up(#"{"a":{"b":1}}"#) == #"{"a":{"b":2}}"#)
        #expect(try failure { try viewer.up(#"{"a":null}"#) }.pointer == "/a/b")
    }

    @Test("what a step writes must fit the shape of the version")
    func shape() throws {
        let viewer = try one(AnyStep(id: "s", newer: { try $0.write("/c", "text") }))
        #expect(try failure { try viewer.up(#"{"a":1,"b":2}"#) }.op == "shape")
        let nothing = try one(AnyStep(id: "s"))
        #expect(try failure { try nothing.up(#"{"a":1,"b":2}"#) }.pointer == "/c")
    }

    @Test("values are read and written as those of typed events are: absent and null are nil, text is text")
    func values() throws {
        let seen = try one(
            AnyStep(
                id: "s",
                newer: { members in
                    #expect(members.type == "E")
                    #expect(String(decoding: members.json, as: UTF8.self) == #"{"a":1}"#)
                    #expect(try members.decode([String: Int].self) == ["a": 1])
                    #expect(try members.read("/c", as: Int.self) == nil)
                    try members.write("/c", 9)
                    #expect(try members.read("/c", as: Int.self) == 9)
                    try members.remove("/c")
                    try members.write("/c", 10)
                }))
        #expect(try seen.up(#"{"a":1,"b":2}"#) == #"{"a":1,"b":2,"c":10}"#)
        let wrong = try one(AnyStep(id: "s", newer: { try $0.write("/c", $0.read("/a", as: String.self)?.count) }))
        #expect(try failure { try wrong.up(#"{"a":1,"b":2}"#) }.expected == "a value of String")
    }

    @Test("a program without the step, or with another revision of it, is told which it lacks; other types and versions are served")
    func missing() throws {
        let texts = [
            "events: {E: {required: [a], properties: {a: {type: integer}}}, F: {properties: {x: {type: string}}}}",
            """
            upcast:
              - on: E
                do: [{swift: {id: s, revision: 2, class: widen, reads: [/a], writes: [/c]}}]
            events: {E: {required: [a, c], properties: {a: {type: integer}, c: {type: integer}}}, F: {properties: {x: {type: string}}}}
            """,
        ]
        let bare = try history(texts)
        #expect(bare.check().errors == [])
        let viewer = PathRunner(bare)
        let lacking = "the step s (revision 2) of v2"
        #expect(throws: EvstoreError.programNeeded(what: lacking)) { try viewer.up(#"{"a":1}"#) }
        #expect(throws: EvstoreError.programNeeded(what: lacking)) { try bare.requireSwiftSteps(through: SchemaVersion(2)) }
        #expect(bare.missingSwiftSteps(from: SchemaVersion(1), to: SchemaVersion(2)) == [lacking])
        try bare.requireSwiftSteps(through: SchemaVersion(1))
        #expect(try viewer.image("F", #"{"x":"y"}"#, from: 1, to: 2) == #"{"x":"y"}"#)
        #expect(try viewer.image("E", #"{"a":1,"c":2}"#, from: 2, to: 2) == #"{"a":1,"c":2}"#)
        let older = PathRunner(try bare.with(SwiftSteps([AnyStep(id: "s")])))
        #expect(throws: EvstoreError.programNeeded(what: lacking + ", of which this program has revision 1,")) { try older.up(#"{"a":1}"#) }
        let right = try bare.with(SwiftSteps([AnyStep(id: "s", revision: 2, newer: { try $0.write("/c", 1) })]))
        try right.requireSwiftSteps(through: SchemaVersion(2))
        #expect(try PathRunner(right).up(#"{"a":1}"#) == #"{"a":1,"c":1}"#)
        #expect(throws: EvstoreError.misuse("the step s is registered twice")) { try SwiftSteps([AnyStep(id: "s"), AnyStep(id: "s")]) }
    }

    @Test("a one-way step has no way down and needs consent; a step that leads up only is refused where the file says inverse")
    func oneWay() throws {
        let history = try names(op.replacing("writes:", with: "down: one-way, writes:"), [UpOnly()])
        #expect(history.check().errors == [])
        #expect(history.oneWaySteps(from: SchemaVersion(1), to: SchemaVersion(2)) == [SchemaVersion(2)])
        #expect(try PathRunner(history).up(#"{"id":"1","first":"Ada"}"#).contains(#""full":"Ada""#))
        #expect(try failure { try PathRunner(history).down(#"{"id":"1","name":{"full":"Ada"},"length":3}"#) }.expected.contains("one-way"))
        var trial = LawTrial(history, isFull: true)
        trial.check(TypeAtVersion(type: "E", version: SchemaVersion(1)), generated: 20, seed: 1)
        #expect(trial.tally.failures.isEmpty && trial.tally.counts["L1"] == nil && trial.tally.counts["T-up"]?.tried ?? 0 >= 20)
        let refused = try names(op, [UpOnly()]).check().errors
        #expect(refused.count == 1 && refused[0].contains("OPS304"), "\(refused)")
    }

    @Test(
        "a step that does not say what it is is refused",
        arguments: [
            ("{revision: 1, class: iso, reads: [/first], writes: [/length]}", "id"),
            ("{id: s, class: iso, reads: [/first], writes: [/length]}", "revision"),
            ("{id: s, revision: 1, reads: [/first], writes: [/length]}", "class"),
            ("{id: s, revision: 1, class: iso, writes: [/length]}", "reads"),
            ("{id: s, revision: 1, class: iso, reads: [/first]}", "writes"),
            ("{id: s, revision: 1, class: iso, reads: [/first], writes: []}", "nothing"),
            ("{id: s, revision: 1, class: lossless, reads: [/first], writes: [/length]}", "lossless"),
            ("{id: s, revision: 1, class: iso, reads: [/first], writes: [/length], down: never}", "never"),
            ("{id: s, revision: 1, class: iso, reads: [/first], writes: [/name, /name/full]}", "contains the other"),
            ("{id: s, revision: 1, class: iso, reads: [/first], writes: [/nothing]}", "neither version"),
            ("{id: s, revision: 1, class: iso, reads: [/nothing], writes: [/length]}", "no /nothing"),
            ("{id: s, revision: 1, class: narrow, reads: [/first], writes: [/length]}", "because"),
        ])
    func arguments(_ arguments: String, _ words: String) throws {
        let findings = try names("swift: \(arguments)", []).check().filter { $0.severity == .error }
        #expect(findings.contains { ($0.message + ($0.fix ?? "")).contains(words) }, "\(findings.map(\.diagnosticLine))")
    }

    @Test("an empty id is a warning")
    func emptyID() throws {
        let findings = try names("swift: {id: \"\", revision: 1, class: iso, reads: [/first], writes: [/length]}", []).check()
        #expect(
            findings.contains { $0.severity == .warning && $0.message.contains("its id is empty") }, "\(findings.map(\.diagnosticLine))")
    }

    @Test("a step within another op is refused")
    func nested() throws {
        let findings = try names(
            "when: {path: /first, equals: x, do: [{swift: {id: s, revision: 1, class: iso, reads: [], writes: [/last]}}]}", []
        )
        .check().errors
        #expect(findings.contains { $0.contains("stands on its own") }, "\(findings)")
    }

    @Test("the class that a step declares is measured: one that is not iso fails the laws, and what it is stands beside other ops")
    func measured() throws {
        func failures(_ opClass: String, _ step: AnyStep) throws -> Set<String> {
            let history = try history(
                before: "required: [a], properties: {a: {type: integer, minimum: 0, maximum: 1000}}",
                ops: "swift: {id: s, revision: 1, class: \(opClass), reads: [/a], writes: [/a]}\n      - add: {path: /z, value: 1}",
                after: "required: [a, z], properties: {a: {type: integer, minimum: 0, maximum: 2000}, z: {type: integer}}"
            ).with(SwiftSteps([step]))
            #expect(history.check().errors == [])
            var trial = LawTrial(history, isFull: true)
            for number in [1, 2] { trial.check(TypeAtVersion(type: "E", version: SchemaVersion(number)), generated: 50, seed: 3) }
            return Set(trial.tally.failures.filter { $0.verdict.weight == .required }.map(\.verdict.law))
        }
        @Sendable func number(_ members: inout StepMembers) throws -> Int { try members.read("/a", as: Int.self) ?? 0 }
        let double = AnyStep(id: "s", newer: { try $0.write("/a", number(&$0) * 2) }, older: { try $0.write("/a", number(&$0) / 2) })
        #expect(try failures("widen", double) == [])
        let lossy = AnyStep(id: "s", newer: { try $0.write("/a", number(&$0) / 2) }, older: { try $0.write("/a", number(&$0)) })
        #expect(try failures("widen", lossy).contains("L1"))
    }

    @Test("a revision is part of what a read model is named by")
    func fingerprint() throws {
        func digest(_ revision: Int) throws -> String {
            try names(op.replacing("revision: 1", with: "revision: \(revision)"), []).stepsDigest(for: ["E"], at: SchemaVersion(2)).hex
        }
        #expect(try digest(1) == digest(1))
        #expect(try digest(1) != digest(2))
    }

    @Test("plans and explanations name the step")
    func words() throws {
        let history = try names(op, [])
        #expect(try history.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(2)).description == "swift full-name")
        let explained = try history.explain("E", from: SchemaVersion(1), to: SchemaVersion(2))
        let words = explained.outcomes.flatMap(\.members).flatMap(\.changes).map(\.words)
        #expect(words.contains { $0.contains("made by the Swift step full-name from /first, /last") }, "\(words)")
    }

    @Test("what is kept for older versions is found for the nearest version, and garbage is an error")
    func shadows() throws {
        func shadow(_ text: String, at target: Int) throws -> SchemaVersion? {
            try Shadow(Array(text.utf8).lent, born: SchemaVersion(5), at: SchemaVersion(target))?.version
        }
        let text = #"{"3":[],"1":[{"type":"E","data":{}}],"6":[]}"#
        #expect(try (1 ... 5).map { try shadow(text, at: $0) } == [SchemaVersion(1), SchemaVersion(3), SchemaVersion(3), nil, nil])
        #expect(try shadow("", at: 1) == nil)
        for garbage in ["[", "{\"x\":[]}", #"{"1":[{"type":"E"}]}"#, #"{"1":[{"data":{}}]}"#, #"{"1":[{"type":1,"data":{}}]}"#] {
            #expect(throws: EvstoreError.self) { try shadow(garbage, at: 1) }
        }
    }
}
