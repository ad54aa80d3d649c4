import Bytes
import EventModel
import JSONText
import Testing

@testable import SchemaEvolution

private func trial(_ history: History, each count: Int = 60, seed: UInt64 = 7) -> LawTrial {
    var trial = LawTrial(history, isFull: true)
    for file in history.versions {
        for type in file.types { trial.check(TypeAtVersion(type: type, version: file.number), generated: count, seed: seed) }
    }
    return trial
}

@Suite("trying the laws")
struct LawTrialTests {
    @Test("the same seed makes the same events, another one others, and each fits its shape")
    func seeds() throws {
        let history = try orders()
        func made(_ seed: UInt64) -> [LawEvent] {
            var generator = EventGenerator(history, seed: seed)
            return history.versions.flatMap { file in file.types.compactMap { generator.event(type: $0, born: file.number) } }
        }
        #expect(made(1) == made(1))
        #expect(made(1) != made(2))
        for event in made(1) { try history.requireShape(of: event.type, at: event.born).validate(event.payload.lent) }
    }

    @Test("made events hold null, absent members, every word of an enum and numbers beyond 2^53")
    func boundaries() throws {
        let history = try history([
            "events: {E: {required: [id, word], properties: {id: {type: integer}, word: {type: string, enum: [x, y, z]}, n: {type: [string, 'null']}}}}"
        ])
        var generator = EventGenerator(history, seed: 3)
        let texts = (0 ..< 300).compactMap { _ in
            generator.event(type: "E", born: SchemaVersion(1)).map { String(decoding: $0.payload, as: UTF8.self) }
        }
        for part in ["\"x\"", "\"y\"", "\"z\"", "\"n\":null", "9007199254740993"] {
            #expect(texts.contains { $0.contains(part) }, "\(part)")
        }
        #expect(texts.contains { !$0.contains("\"n\"") })
    }

    @Test("a change to an event of the newest version fits its shape and differs")
    func mutations() throws {
        let history = try orders()
        var generator = EventGenerator(history, seed: 5)
        var differing = 0
        for type in history.types(at: history.head) {
            for _ in 0 ..< 20 {
                guard let event = generator.event(type: type, born: history.head), let changed = generator.mutation(of: event) else {
                    continue
                }
                try history.requireShape(of: type, at: history.head).validate(changed.payload.lent)
                if changed.payload != event.payload { differing += 1 }
            }
        }
        #expect(differing > 20)
    }

    @Test("an op that no event goes through is listed as such, one that they go through is not")
    func notExercised() throws {
        let history = try history([
            "events: {E: {properties: {a: {type: string}}}, F: {properties: {a: {type: string}}}}",
            """
            upcast:
              - on: [E, F]
                do:
                  - move: {from: /a, path: /b}
            events: {E: {properties: {b: {type: string}}}, F: {properties: {b: {type: string}}}}
            """,
        ])
        var trial = LawTrial(history, isFull: true)
        trial.check(TypeAtVersion(type: "E", version: SchemaVersion(1)), generated: 5, seed: 1)
        let cases = history.cases(trial.tally.crossings)
        #expect(
            cases.filter { $0.count == 0 }.map(\.description) == [
                "v2 E: move (op 1) down", "v2 F: move (op 1) up", "v2 F: move (op 1) down",
            ])
        #expect(cases.first?.count == 5)
    }

    @Test("a down that does not give back what there was is caught by L1, with the smallest payload that shows it and no personal data")
    func wrongDown() throws {
        let right = try history([
            "events: {E: {required: [a, n], properties: {a: {type: string}, n: {type: string, personal: true}, m: {type: string}}}}",
            """
            upcast: [{on: E, do: [{move: {from: /a, path: /b}}]}]
            events: {E: {required: [b, n], properties: {b: {type: string}, n: {type: string, personal: true}, m: {type: string}}}}
            """,
        ])
        #expect(trial(right).tally.failures.isEmpty)
        let wrong = right.replacing {
            AlteredOp($0, afterDown: { doc, object in doc.set(MemberName("a"), of: object, to: Array("\"x\"".utf8).lent) })
        }
        let failure = try #require(trial(wrong).tally.failures.first { $0.verdict.law == "L1" })
        #expect(failure.verdict.weight == .required)
        #expect(failure.shrunk(wrong).example(wrong) == "{\"a\":\"\",\"n\":\"(personal)\"}")
        #expect(String(decoding: failure.shrunk(wrong).event.payload, as: UTF8.self) == "{\"a\":\"\",\"n\":\"\"}")
    }

    @Test("a parent that is made where the shapes do not ask for it is caught by L3")
    func wrongParent() throws {
        let right = try history([
            "events: {E: {properties: {a: {type: string}, o: {type: object, properties: {y: {type: string}}}}}}",
            """
            upcast: [{on: E, do: [{move: {from: /a, path: /b}}]}]
            events: {E: {properties: {b: {type: string}, o: {type: object, properties: {y: {type: string}}}}}}
            """,
        ])
        let o = try JSONPointer("/o")
        let wrong = right.replacing {
            AlteredOp(
                $0,
                afterUp: { doc, object in
                    if doc.find(o, from: object) == nil { doc.set(MemberName("o"), of: object, to: Array("{}".utf8).lent) }
                })
        }
        let failure = try #require(trial(wrong).tally.failures.first { $0.verdict.law == "L3" })
        #expect(failure.shrunk(wrong).example(wrong) == "{}")
        #expect(trial(right).tally.counts["L3"]?.failed == 0)
    }

    @Test("an empty parent that both versions may have goes there and back, and a wrong prune of it is caught by L3")
    func wrongPrune() throws {
        let right = try history([
            "events: {E: {properties: {a: {type: string}, o: {type: object, properties: {y: {type: string}}}}}}",
            """
            upcast: [{on: E, do: [{move: {from: /a, path: /o/a}}]}]
            events: {E: {properties: {o: {type: object, properties: {a: {type: string}, y: {type: string}}}}}}
            """,
        ])
        #expect(trial(right).tally.counts["L3"]?.failed == 0)
        let viewer = PathRunner(right)
        #expect(try viewer.up("{\"o\":{}}") == "{\"o\":{}}")
        #expect(try viewer.image("E", "{\"o\":{}}", from: 2, to: 1) == "{\"o\":{}}")
        #expect(try viewer.image("E", "{\"o\":{\"a\":\"x\"}}", from: 2, to: 1) == "{\"a\":\"x\"}")
        let wrong = right.replacing {
            AlteredOp(
                $0,
                afterDown: { doc, object in
                    if let o = doc.member(MemberName("o"), of: object), doc.isEmpty(o) { doc.detach(o) }
                })
        }
        let failure = try #require(trial(wrong).tally.failures.first { $0.verdict.law == "L3" })
        #expect(failure.verdict.weight == .required)
        #expect(failure.shrunk(wrong).example(wrong) == "{\"o\":{}}")
    }

    @Test(
        "an empty object around a member that is made of others goes with it, which is counted and breaks no law",
        arguments: ["copy: {from: /a, path: /o/b}", "compute: {path: /o/b, template: \"{/a}\"}"])
    func emptyAround(op: String) throws {
        func events(_ members: String) -> String {
            "events: {E: {required: [a], properties: {a: {type: string}, o: {type: object, properties: {\(members)}}}}}"
        }
        let history = try history([
            events("c: {type: integer}"), "upcast: [{on: E, do: [{\(op)}]}]\n" + events("c: {type: integer}, b: {type: string}"),
        ])
        #expect(history.check().errors == [])
        let tally = trial(history).tally
        let stable = try #require(tally.counts["L3"])
        #expect(tally.failures.isEmpty && stable.failed == 0 && stable.lossy > 0, "\(tally.failures)")
        // An object that is empty already stays, and one that the op empties goes.
        let viewer = PathRunner(history)
        #expect(try viewer.image("E", #"{"a":"1","o":{}}"#, from: 2, to: 1) == #"{"a":"1","o":{}}"#)
        #expect(try viewer.image("E", #"{"a":"1","o":{"b":"1"}}"#, from: 2, to: 1) == #"{"a":"1"}"#)
    }

    @Test("what is refused at its own shape, or has no image below, breaks L8")
    func accepted() throws {
        let history = try history([
            "events: {E: {properties: {n: {type: integer}}}}",
            """
            upcast: [{on: E, do: [{convert: {path: /n, to: string, using: integer-text}}]}]
            events: {E: {properties: {n: {type: string}}}}
            """,
        ])
        var trial = LawTrial(history, isFull: true)
        func check(_ json: String) {
            trial.check(
                accepted: LawEvent(
                    origin: .log, position: Position(1), stream: "s-1", type: "E", born: SchemaVersion(2),
                    time: Timestamp(microseconds: 0), payload: Array(json.utf8), metadata: []), from: SchemaVersion(1))
        }
        check("{\"n\":\"7\"}")
        #expect(trial.tally.counts["L8"]?.tried == 2 && trial.tally.failures.isEmpty)
        check("{\"n\":\"seven\"}")
        #expect(trial.tally.counts["L8"]?.failed == 1)
        check("{\"n\":7}")
        #expect(trial.tally.failures.first?.target == SchemaVersion(1))
        #expect(trial.tally.counts["L8"]?.failed == 3)
    }

    @Test("an event that has no image is a failure, and one that a partial step may refuse is not")
    func noImage() throws {
        let history = try history([
            "events: {E: {required: [n], properties: {n: {type: string}}}}",
            """
            upcast: [{on: E, do: [{convert: {path: /n, to: integer, using: integer-text}}]}]
            events: {E: {required: [n], properties: {n: {type: integer}}}}
            """,
        ])
        let made = trial(history, each: 400).tally
        #expect(made.refused > 0)
        #expect(made.refused < made.events / 10, "what the codec reads is known")
        #expect(made.counts["T-up"]?.tried ?? 0 > 0)
        #expect(made.failures.isEmpty)
        var real = LawTrial(history, isFull: true)
        let time = try #require(Timestamp("2026-01-01T00:00:00Z"))
        let event = LawEvent(
            origin: .log, position: Position(3), stream: "s-1", type: "E", born: SchemaVersion(1), time: time,
            payload: Array("{\"n\":\"seven\"}".utf8), metadata: [])
        real.check(event, at: SchemaVersion(2))
        #expect(real.tally.failures.map(\.verdict.law) == ["T-up"])
    }

    /// A member of an older shape, the codec that converts it, the newer shape, and a value that does not come back from there.
    private static let codecs: [(before: String, after: String, codec: String, value: String, born: UInt32)] = [
        ("integer", "integer", "{scale: {num: 9, den: 5, round: down}}", "1", 1),
        ("number", "integer", "{scale: {num: 3, round: half-up}}", "0.5", 1),
        ("integer", "number", "{scale: {den: 100, round: half-even}}", "0.005", 2),
        ("number", "number", "{scale: {num: 3, round: half-up}}", "0.0000000000000000000000001", 1),
        ("integer", "number", "{scale: {den: 3, round: down}}", "1", 1),
        ("string", "string", "{table: {map: {a: A, b: A}, otherwise: keep, because: they mean one thing}}", "\"b\"", 2),
    ]

    @Test("what a codec rounds or merges by declaration is lossy, also where it is another value each time", arguments: codecs)
    func drifting(_ one: (before: String, after: String, codec: String, value: String, born: UInt32)) throws {
        let (before, after, codec, value, born) = one
        let history = try history([
            "events: {E: {required: [n], properties: {n: {type: \(before)}}}}",
            """
            upcast: [{on: E, do: [{convert: {path: /n, to: \(after), using: \(codec), because: it will do}}]}]
            events: {E: {required: [n], properties: {n: {type: \(after)}}}}
            """,
        ])
        #expect(history.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) != .iso)
        var trial = trial(history, each: 400)
        trial.check(
            LawEvent(
                origin: .log, position: Position(3), stream: "s-1", type: "E", born: SchemaVersion(born), time: Timestamp(microseconds: 0),
                payload: Array("{\"n\":\(value)}".utf8), metadata: []), at: SchemaVersion(3 - born))
        #expect(trial.tally.failures.filter { $0.verdict.weight == .required }.isEmpty, "\(trial.tally.failures)")
        #expect(trial.tally.counts["L\(born)"]?.lossy ?? 0 > 0)
    }

    @Test("what a codec rounds may drift wherever other ops take it, in lists too, and no other member may", arguments: [false, true])
    func driftingAlone(isWrong: Bool) throws {
        let round = "using: {scale: {num: 9, den: 5, round: down}}, because: it will do"
        let table = "convert: {path: /a, to: string, using: {table: {map: {a: b}, otherwise: keep, down: {c: a}}}}"
        let others = "a: {type: string}, l: {type: array, items: {type: object, required: [m], properties: {m: {type: integer}}}}"
        let history = try history([
            "events: {E: {required: [n, a, l], properties: {n: {type: integer}, \(others)}}}",
            """
            upcast:
              - on: E
                do:
                  - copy: {from: /n, path: /k}
                  - convert: {path: /n, to: integer, \(round)}
                  - move: {from: /n, path: /o}
                  - copy: {from: /o, path: /p}
                  - each: {path: /l, do: [{convert: {path: /m, to: integer, \(round)}}]}
                  - \(isWrong ? table : "reserve: [x]")
            events:
              E: {required: [k, o, p, a, l], properties: {k: {type: integer}, o: {type: integer}, p: {type: integer}, \(others)}}
            """,
        ])
        #expect(history.check().errors == [])
        var trial = trial(history)
        trial.check(
            LawEvent(
                origin: .log, position: Position(3), stream: "s-1", type: "E", born: SchemaVersion(1), time: Timestamp(microseconds: 0),
                payload: Array(#"{"n":1,"a":"c","l":[{"m":1}]}"#.utf8), metadata: []), at: SchemaVersion(2))
        #expect(trial.tally.counts["L3"]?.lossy ?? 0 > 0)
        #expect(trial.tally.failures.contains { $0.verdict.law == "L3" } == isWrong, "\(trial.tally.failures)")
    }

    /// An event that no log has.
    private func generated(_ payload: String, born: UInt32) -> LawEvent {
        LawEvent(
            origin: .generated, stream: "s-1", type: "E", born: SchemaVersion(born), time: Timestamp(microseconds: 0),
            payload: Array(payload.utf8), metadata: [])
    }

    @Test("a number that comes back in another form is lossy, whatever makes the form and wherever the event comes from")
    func otherForm() throws {
        let history = try history(
            before: "required: [n], properties: {n: {type: string}}",
            ops: "convert: {path: /n, to: number, using: number-text}\n      - convert: {path: /n, to: number, using: {scale: {num: 10}}}",
            after: "required: [n], properties: {n: {type: number}}")
        var trial = trial(history, each: 400)
        trial.check(generated(#"{"n":"2.50"}"#, born: 1), at: SchemaVersion(2))
        #expect(trial.tally.failures.filter { $0.verdict.weight == .required }.isEmpty, "\(trial.tally.failures)")
        #expect(try #require(trial.tally.counts["L1"]).lossy > 0)
    }

    @Test(
        "what a head loses by declaration is lossy, alone and beside an op whose member older versions do not show",
        arguments: [false, true])
    func declaredBesideOthers(adds: Bool) throws {
        let history = try history(
            before: "properties: {l: {type: array, items: {type: integer}}}",
            ops: "head: {path: /l, because: one is shown, empty: 0}" + (adds ? "\n      - add: {path: /n, value: 1}" : ""),
            after: adds ? "required: [n], properties: {l: {type: integer}, n: {type: integer}}" : "properties: {l: {type: integer}}")
        var trial = trial(history, each: 400)
        trial.check(generated(adds ? #"{"l":0,"n":0}"# : #"{"l":0}"#, born: 2), at: SchemaVersion(1))
        #expect(trial.tally.failures.isEmpty, "\(trial.tally.failures)")
        #expect(try #require(trial.tally.counts["L3"]).lossy > 0)
    }

    private static let scales: [(before: String, after: String, scale: String, opClass: OpClass)] = [
        ("number", "number", "{den: 3, round: half-up}", [.widen, .narrow]),
        ("number", "number", "{num: 2, round: down}", [.widen, .narrow]),
        ("integer", "number", "{den: 3, round: down}", [.widen, .narrow]),
        ("integer", "number", "{den: 3, round: half-even}", .widen),
        ("integer", "number", "{den: 100, round: down}", .widen),
        ("number", "integer", "{num: 3, round: down}", [.widen, .narrow]),
        ("number", "integer", "{num: 100, round: down}", .narrow),
        ("number", "number", "{den: 3}", .iso),
    ]

    @Test("a scale that rounds has the class of what it loses in each direction", arguments: scales)
    func scaleClass(_ one: (before: String, after: String, scale: String, opClass: OpClass)) throws {
        let history = try history([
            "events: {E: {required: [n], properties: {n: {type: \(one.before)}}}}",
            """
            upcast: [{on: E, do: [{convert: {path: /n, to: \(one.after), using: {scale: \(one.scale)}}}]}]
            events: {E: {required: [n], properties: {n: {type: \(one.after)}}}}
            """,
        ])
        #expect(history.opClass(from: SchemaVersion(1), to: SchemaVersion(2)) == one.opClass)
    }

    @Test("a move that takes the last member out of an object is partial where the object may be there without it, and only there")
    func emptied() throws {
        func opClass(_ object: String, required: String = "id", from: String = "/o/m") throws -> OpClass {
            try history([
                "events: {E: {required: [\(required)], properties: {id: {type: string}, o: {type: object, \(object)}}}}",
                """
                upcast: [{on: E, do: [{move: {from: \(from), path: /m}}]}]
                events: {E: {required: [id], properties: {id: {type: string}, m: {type: string}}}}
                """,
            ]).opClass(from: SchemaVersion(1), to: SchemaVersion(2))
        }
        #expect(try opClass("properties: {m: {type: string}}") == .partial)
        #expect(try opClass("properties: {m: {type: string}}", required: "id, o") == .iso)
        #expect(try opClass("required: [m], properties: {m: {type: string}}") == .iso)
        let within = "required: [p], properties: {p: {type: object, properties: {m: {type: string}}}}"
        #expect(try opClass(within, from: "/o/p/m") == .partial)
    }

    @Test("an event that the way back hides is lossy by L1, and no failure of L3: nothing is left that could come forth again")
    func hidden() throws {
        let history = try history([
            "events: {D: {required: [id], properties: {id: {type: string}, t: {type: string}}}}",
            """
            upcast:
              - split-event: {type: D, into: [{type: D, pick: [/id, /t], down: as}, {type: P, pick: [/id], down: {hide: x}}]}
              - drop-event: {type: D, because: unread}
            events: {P: {required: [id], properties: {id: {type: string}}}}
            """,
        ])
        let tally = trial(history).tally
        #expect(!tally.failures.contains { $0.verdict.weight == .required }, "\(tally.failures)")
        #expect(try #require(tally.counts["L1"]).lossy > 0)
    }

    @Test(
        "an event of which one part is made that the way back hides is lossy by that declaration, and asks nobody",
        arguments: [
            ("{type: S, pick: [/k, /b], down: {hide: x}}", ", because: told"), ("{type: S, pick: [/k, /b], down: {hide: x}}", ""),
            ("{type: S, pick: [/k, /b], down: {hide: x}}, {type: T, pick: [/k], when: {path: /b, equals: 0}, down: {hide: y}}", ""),
        ])
    func hiddenPart(parts: String, because: String) throws {
        let shape = "{required: [k], properties: {k: {type: integer}, b: {type: integer}}}"
        let other = parts.contains("type: T") ? ", T: {required: [k], properties: {k: {type: integer}}}" : ""
        let history = try history([
            "events: {E: \(shape)}",
            "upcast: [{split-event: {type: E, into: [\(parts)]\(because)}}]\nevents: {S: \(shape)\(other)}",
        ])
        #expect(history.check().errors == [])
        var trial = trial(history)
        trial.check(
            LawEvent(
                origin: .log, position: Position(1), stream: "s-1", type: "E", born: SchemaVersion(1), time: Timestamp(microseconds: 0),
                payload: Array(#"{"k":1,"b":2}"#.utf8), metadata: []), at: SchemaVersion(2))
        #expect(trial.tally.failures.isEmpty, "\(trial.tally.failures)")
        let losses = trial.tally.losses.counts.keys
        #expect(!losses.isEmpty && losses.allSatisfy { !$0.isUndeclared }, "\(losses)")
    }

    @Test(
        "a part that stands alone and may become an event without that part is warned of, and what it then loses is lossy by declaration",
        arguments: [("", true), (", const: 0", false)])
    func partOfAnother(only: String, isWarned: Bool) throws {
        let history = try history([
            "events: {E: {required: [k, a], properties: {k: {type: integer}, a: {type: integer}, b: {type: string}}}}",
            """
            upcast:
              - split-event:
                  type: E
                  into:
                    - {type: P, pick: [/k, /a], when: {path: /a, equals: 0}, down: as}
                    - {type: Q, pick: [/k, /b], down: {as: {/a: 2}}}
                  because: x
            events:
              P: {required: [k, a], properties: {k: {type: integer}, a: {type: integer\(only)}}}
              Q: {required: [k], properties: {k: {type: integer}, b: {type: string}}}
            """,
        ])
        let found = history.check()
        #expect(found.errors == [])
        #expect(found.contains { $0.id == "COMPAT107" && $0.severity == .warning } == isWarned, "\(found.map(\.diagnosticLine))")
        let tally = trial(history).tally
        #expect(tally.failures.filter { $0.verdict.weight == .required }.isEmpty, "\(tally.failures)")
        if isWarned { #expect(try #require(tally.counts["L3"]).lossy > 0) }
    }

    @Test("a refusal that the step declares is no failure, unless the log has such an event")
    func declaredRefusal() throws {
        let history = try history([
            "events: {E: {required: [n], properties: {n: {type: string, enum: [a]}}}}",
            """
            upcast: [{add-event: {type: F, down: block}}, {on: E, do: [{allow: {path: /n, down: block}}]}]
            events: {E: {required: [n], properties: {n: {type: string, enum: [a, b]}}}, F: {properties: {n: {type: string}}}}
            """,
        ])
        let made = trial(history, each: 100).tally
        #expect(made.refused > 100 && made.failures.isEmpty, "\(made.refused) refused, \(made.failures)")
        for (type, payload) in [("E", #"{"n":"b"}"#), ("F", "{}")] {
            var real = LawTrial(history, isFull: true)
            let event = LawEvent(
                origin: .log, position: Position(3), stream: "s-1", type: type, born: SchemaVersion(2), time: Timestamp(microseconds: 0),
                payload: Array(payload.utf8), metadata: [])
            real.check(event, at: SchemaVersion(1))
            #expect(real.tally.failures.map(\.verdict.law) == ["T-down"])
        }
    }
}

/// An op that does something more than it should.
final class AlteredOp: BoundOp {
    typealias Change = @Sendable (inout JSONEditor, JSONEditor.Node) -> Void

    private let op: any BoundOp
    private let afterUp, afterDown: Change?

    init(_ op: any BoundOp, afterUp: Change? = nil, afterDown: Change? = nil) {
        (self.op, self.afterUp, self.afterDown) = (op, afterUp, afterDown)
    }

    func run(_ doc: inout EventDocument, at object: JSONEditor.Node, _ direction: Direction) throws(OpStop) {
        try op.run(&doc, at: object, direction)
        (direction == .up ? afterUp : afterDown)?(&doc.splice, object)
    }
}

extension History {
    /// The same history with other ops in its steps.
    func replacing(_ change: (any BoundOp) -> any BoundOp) -> History {
        let steps = chain.steps.map { step in
            var other = step
            other.stages = step.stages.map { stage in
                guard case .payload(let entries) = stage else { return stage }
                return .payload(
                    entries.mapValues { list in
                        list.map { entry in
                            var other = entry
                            other.op = change(entry.op)
                            return other
                        }
                    })
            }
            return other
        }
        return History(versions: versions, warnings: [], steps: steps)
    }
}
