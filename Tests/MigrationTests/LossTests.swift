import EventLog
import EventModel
import SchemaEvolution
import TestStores
import TestSupport
import Testing

@testable import Migration
@testable import Projections

/// Events of one type, an op on them, and what is told of its loss.
struct LossCase: CustomTestStringConvertible, Sendable {
    struct Loss: Equatable, Sendable {
        var what: String
        var count: UInt64
        var declared, asks: Bool
    }

    var what: String
    /// Members of `E` besides its id, before and after.
    var before: String
    var ops: String
    var after: String
    var events: [String]
    var losses: [Loss]

    var testDescription: String { what }

    static let notGivenBack = "what it does not give back"

    static func asked(_ op: String, _ count: UInt64) -> [Loss] {
        [Loss(what: "\(op): \(notGivenBack)", count: count, declared: false, asks: true)]
    }

    static func told(_ what: String, _ count: UInt64, declared: Bool = true) -> [Loss] {
        [Loss(what: what, count: count, declared: declared, asks: false)]
    }

    static let all: [LossCase] = [
        LossCase(
            what: "join at the last separator, where the first part has one", before: "f: {type: string}, l: {type: string}",
            ops: "- join: {paths: [/f, /l], path: /n, separator: ' ', at: last, missing: absent}", after: "n: {type: string}",
            events: [#"{"f":"Mary Ann"}"#, #"{"f":"Mary","l":"Ann"}"#], losses: asked("join /f /l", 1)),
        LossCase(
            what: "a scale that rounds", before: "n: {type: integer}",
            ops: "- convert: {path: /n, to: integer, using: {scale: {num: 1, den: 10, round: down}}}", after: "n: {type: integer}",
            events: [#"{"n":15}"#, #"{"n":20}"#], losses: asked("convert /n", 1)),
        LossCase(
            what: "a reason that is an empty text, which is none", before: "n: {type: integer}",
            ops: "- convert: {path: /n, to: integer, using: {scale: {num: 1, den: 10, round: down}}, because: ''}",
            after: "n: {type: integer}", events: [#"{"n":15}"#], losses: asked("convert /n", 1)),
        LossCase(
            what: "a table that keeps what one of its rows makes", before: "w: {type: string}",
            ops: "- convert: {path: /w, to: string, using: {table: {map: {a: b}, otherwise: keep}}}", after: "w: {type: string}",
            events: [#"{"w":"a"}"#, #"{"w":"b"}"#, #"{"w":"c"}"#], losses: asked("convert /w", 1)),
        LossCase(
            what: "a table that makes one of several, and says so", before: "w: {type: string, enum: [a, b, c, d]}",
            ops:
                "- convert: {path: /w, to: string, using: {table: {map: {a: x, b: y}, otherwise: {value: y}, because: rare}}}",
            after: "w: {type: string, enum: [x, y]}", events: [#"{"w":"a"}"#, #"{"w":"b"}"#, #"{"w":"c"}"#, #"{"w":"d"}"#],
            losses: told("convert /w: rare", 2)),
        LossCase(
            what: "the time of a day", before: "t: {type: string, format: date-time}",
            ops: "- convert: {path: /t, to: string, using: rfc3339-date}", after: "t: {type: string, format: date}",
            events: [#"{"t":"2026-01-01T10:00:00Z"}"#, #"{"t":"2026-01-01T00:00:00Z"}"#], losses: asked("convert /t", 1)),
        LossCase(
            what: "a fraction of seconds since 1970", before: "t: {type: number}",
            ops: "- convert: {path: /t, to: string, using: epoch-seconds}", after: "t: {type: string, format: date-time}",
            events: [#"{"t":1.5}"#, #"{"t":2}"#], losses: asked("convert /t", 1)),
        LossCase(
            what: "a fraction of a local time's seconds", before: "t: {type: string, format: date-time}",
            ops: "- convert: {path: /t, to: string, using: {local-time: {offset: Z}}}", after: "t: {type: string}",
            events: [#"{"t":"2026-01-01T10:00:00.5Z"}"#, #"{"t":"2026-01-01T10:00:00Z"}"#], losses: asked("convert /t", 1)),
        LossCase(
            what: "a number that is written otherwise", before: "n: {type: string}",
            ops: "- convert: {path: /n, to: integer, using: integer-text}", after: "n: {type: integer}",
            events: [#"{"n":"007"}"#, #"{"n":"7"}"#],
            losses: told("convert /n: another form of a value than the codec's own", 1, declared: false)),
        LossCase(
            what: "a moment that is written otherwise", before: "t: {type: string, format: date-time}",
            ops: "- convert: {path: /t, to: integer, using: epoch-seconds}", after: "t: {type: integer}",
            events: [#"{"t":"2026-01-01T10:00:00+02:00"}"#, #"{"t":"2026-01-01T10:00:00Z"}"#],
            losses: told("convert /t: another form of a value than the codec's own", 1, declared: false)),
        LossCase(
            what: "a conversion that says why", before: "n: {type: integer}",
            ops: "- convert: {path: /n, to: integer, using: {scale: {num: 1, den: 10, round: down}}, because: tens will do}",
            after: "n: {type: integer}", events: [#"{"n":15}"#, #"{"n":20}"#], losses: told("convert /n: tens will do", 1)),
        LossCase(
            what: "a conversion that says why, beside what only is written otherwise", before: "t: {type: string, format: date-time}",
            ops: "- convert: {path: /t, to: string, using: rfc3339-date, because: the day is enough}",
            after: "t: {type: string, format: date}",
            events: [#"{"t":"2026-01-01T10:00:00Z"}"#, #"{"t":"2026-01-01T00:00:00+00:00"}"#, #"{"t":"2026-01-01T00:00:00Z"}"#],
            losses: told("convert /t: the day is enough", 1) + told("convert /t: another form of a value than the codec's own", 1)),
        LossCase(
            what: "members that few events have", before: "a: {type: string}, b: {type: string}",
            ops: "- remove: {path: /a, restore: absent, because: unread}\n      - remove: {path: /b, restore: absent, because: unread}",
            after: "", events: [#"{"a":"1"}"#, #"{"b":"1"}"#, #"{"b":"2"}"#, "{}", "{}"],
            losses: told("remove /a: unread", 1) + told("remove /b: unread", 2)),
        LossCase(
            what: "what is made of a copy", before: "t: {type: string, format: date-time}",
            ops: "- copy: {from: /t, path: /d}\n      - convert: {path: /d, to: string, using: rfc3339-date}",
            after: "t: {type: string, format: date-time}, d: {type: string, format: date}",
            events: [#"{"t":"2026-01-01T10:00:00Z"}"#], losses: []),
        LossCase(
            what: "what follows the first of a list", before: "l: {type: array, items: {type: string}, minItems: 1}",
            ops: "- head: {path: /l}", after: "l: {type: string}", events: [#"{"l":["a","b"]}"#, #"{"l":["a"]}"#],
            losses: asked("head /l", 1)),
        LossCase(
            what: "two ops on each element, of which one says why",
            before: "l: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}, x: {type: string}}}}",
            ops: """
                - each:
                          path: /l
                          do:
                            - remove: {path: /x, restore: absent, because: unread}
                            - convert: {path: /n, to: integer, using: {scale: {num: 1, den: 10, round: down}}}
                """,
            after: "l: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}}}}",
            events: [#"{"l":[{"n":10,"x":"a"}]}"#, #"{"l":[{"n":15}]}"#, #"{"l":[{"n":10},{"n":20,"x":"b"}]}"#],
            losses: told("each /l, remove /x: unread", 2) + asked("each /l, convert /n", 1)),
        LossCase(
            what: "two ops under a guard, of which one says why",
            before: "k: {type: string}, a: {type: integer}, b: {type: integer}",
            ops: """
                - when:
                          path: /k
                          equals: x
                          do:
                            - convert: {path: /a, to: integer, using: {scale: {num: 1, den: 10, round: down}}, because: tens will do}
                            - convert: {path: /b, to: integer, using: {scale: {num: 1, den: 10, round: down}}}
                """,
            after: "k: {type: string}, a: {type: integer}, b: {type: integer}",
            events: [#"{"k":"x","a":15,"b":10}"#, #"{"k":"x","a":15,"b":20}"#, #"{"k":"x","b":15}"#, #"{"k":"y","a":15,"b":15}"#],
            losses: told("when, convert /a: tens will do", 2) + asked("when, convert /b", 1)),
    ]
}

@Suite("Loss")
struct LossTests {
    private static let projections = """
        evstore: 1
        projections:
          seen: [{since: 1, key: /id, on: {E: {add: {/times: {value: 1}}}}}]
        """

    private static func version(_ number: Int, _ members: String, _ steps: String = "") -> String {
        """
        evstore: 1
        version: \(number)
        \(steps)
        events: {E: {required: [id], properties: {id: {type: string}\(members.isEmpty ? "" : ", ")\(members)}}}
        """
    }

    private static func store(_ versions: [String], projections: String = projections, knowing head: Int = 1) throws -> OrdersStore {
        try OrdersStore(knowing: head) { files in
            files = ["projections.yaml": projections]
            for (index, text) in versions.enumerated() { files["v\(index + 1).yaml"] = text }
        }
    }

    private static func step(_ ops: String) -> String { "upcast:\n  - on: E\n    do:\n      \(ops)" }

    private func plan(_ store: OrdersStore, to version: Int) async throws -> PlanReport {
        try Plan.run(store.context(), to: SchemaVersion(version), files: store.history, definitions: store.definitions)
    }

    private func lost(_ losses: [PlannedLoss]) -> [LossCase.Loss] {
        losses.filter { $0.count > 0 }.map { LossCase.Loss(what: $0.what, count: $0.count, declared: $0.declared, asks: $0.asks) }
    }

    @Test("plan lists the losses that replay needs consent for, and verify finds the same", arguments: LossCase.all)
    func account(_ one: LossCase) async throws {
        let store = try Self.store([Self.version(1, one.before), Self.version(2, one.after, Self.step(one.ops))])
        for (index, event) in one.events.enumerated() {
            let members = event == "{}" ? "}" : "," + event.dropFirst()
            try await store.append("E", "{\"id\":\"\(index)\"" + members, born: 1, to: "s-\(index)")
        }
        let asks = one.losses.contains(where: \.asks)
        let before = try await plan(store, to: 2)
        #expect(lost(before.loss) == one.losses)
        #expect(before.refused.map(\.code) == (asks ? ["consentNeeded"] : []))
        if let asked = one.losses.first(where: \.asks)?.what {
            for dryRun in [true, false] {
                await #expect { try await store.migrate(to: 2, MigrationOptions(dryRun: dryRun)) } throws: {
                    guard let error = $0 as? EvstoreError else { return false }
                    return error.code == "consentNeeded" && error.message.contains("\(asked), 1 event of \(one.events.count), first")
                }
            }
        }
        try await store.migrate(to: 2, MigrationOptions(yes: asks))
        let report = try Laws.prove(store.context(), store.state, seed: 3)
        #expect(lost(report.loss) == one.losses)
        #expect(!report.findings.contains { $0.severity == .error }, "\(report.findings)")
    }

    @Test("a replay of more events than the sample holds meets each way that events take, and each type, however rare")
    func rare() async throws {
        func own(_ n: String) -> String { "required: [id, n], properties: {id: {type: string}, n: {type: \(n)}}" }
        let (tags, tag) = ("tags: {type: array, items: {type: string}}", "tags: {type: string}")
        let store = try Self.store(
            [
                "evstore: 1\nversion: 1\nevents: {E: {\(own("number"))}, F: {required: [id], properties: {id: {type: string}, \(tags)}}}",
                """
                evstore: 1
                version: 2
                upcast:
                  - {on: E, do: [{convert: {path: /n, to: string, using: epoch-seconds}}]}
                  - {on: F, do: [{head: {path: /tags}}]}
                events: {E: {\(own("string, format: date-time"))}, F: {required: [id], properties: {id: {type: string}, \(tag)}}}
                """,
            ],
            projections: """
                evstore: 1
                projections:
                  seen: [{since: 1, key: /id, on: {E: {set: {/last: /n}}, F: {add: {/times: {value: 1}}}}}]
                """)
        // Given two events that do not come back, each of its own way, where no window of the sample is.
        for start in stride(from: 1, through: 3 * SampleWindows.eventsMax, by: 1_000) {
            let events = try (start ..< start + 1_000).map { number in
                let (type, rest) = number == 501 ? ("F", #""tags":["a","b"]"#) : ("E", number == 500 ? #""n":1.5"# : #""n":10"#)
                return StoredEvent(
                    stream: try StreamName("s-\(number % 9)"), type: type, born: SchemaVersion(1),
                    payload: Array("{\"id\":\"\(number % 9)\",\(rest)}".utf8), time: .now)
            }
            _ = try await store.log.append(AppendRequest(events: events))
        }
        let windows = try SampleWindows(store.context())
        #expect(![500, 501].contains { windows.contain(Position($0)) } && windows.count == UInt64(SampleWindows.eventsMax))
        // Then the replay asks, and says where.
        await #expect { try await store.migrate(to: 2) } throws: {
            guard let error = $0 as? EvstoreError else { return false }
            return error.code == "consentNeeded" && error.message.contains("convert /n: \(LossCase.notGivenBack)")
                && error.message.contains("first at position 500, and 1 more")
        }
        try await store.migrate(to: 2, MigrationOptions(yes: true))
        #expect(try store.numbers == [1, 2, 2, 2])
    }

    @Test("the events that a build notes are the first of each birth version and way, whatever the threads and chunks")
    func witnesses() async throws {
        let store = try OrdersStore(at: 5)
        var random = SeededGenerator.announced()
        var first: [Int: Position] = [:]
        for order in 0 ..< 400 {
            let born = Int.random(in: 0 ..< 30, using: &random) == 0 ? 2 : [1, 3, 4, 5].randomElement(using: &random) ?? 1
            try await store.place(order, amount: "\(order)", name: ["ada", "ada l", ""].randomElement(using: &random) ?? "", born: born)
            first[born] = try first[born] ?? store.last
        }
        let definitions = try store.evolving.current().definitions(at: SchemaVersion(5))
        let found = try [(1, 10_000), (1, 7), (3, 5), (4, 1)].map { jobs, chunk in
            let scratch = try ScratchDirectory.make(store.context())
            defer { scratch.remove() }
            let targets = try definitions.map { ($0, try Generation.create(for: $0, in: scratch.path, of: store.log)) }
            var build = BulkBuild(store.evolving, at: SchemaVersion(5), targets)
            (build.onError, build.jobs, build.chunkEvents) = (.quarantine, jobs, chunk)
            return try build.run(Job("build"))
        }
        #expect(found.allSatisfy { $0 == found[0] }, "\(found)")
        #expect(Set(found[0]).isSuperset(of: first.values) && found[0].count < 200, "\(first) \(found[0])")
    }

    @Test("a loss at a step up to the live version is neither listed nor needs consent again")
    func once() async throws {
        let rounding = "- convert: {path: /n, to: integer, using: {scale: {num: 1, den: 10, round: down}}}"
        let store = try Self.store([
            Self.version(1, "n: {type: integer}"), Self.version(2, "n: {type: integer}", Self.step(rounding)),
            Self.version(3, "m: {type: integer}", Self.step("- move: {from: /n, path: /m}")),
            Self.version(
                4, "m: {type: integer}}}, F: {properties: {id: {type: string}", "upcast:\n  - add-event: {type: F, down: {hide: new}}"),
        ])
        try await store.append("E", #"{"id":"1","n":15}"#, born: 1, to: "s-1")
        try await store.migrate(to: 2, MigrationOptions(yes: true))
        let next = try await plan(store, to: 3)
        #expect(next.loss.isEmpty && next.refused.isEmpty)
        #expect(next.events == 0 && next.carry == ["seen"], "a member that it does not read is moved")
        try await store.migrate(to: 3)
        #expect(try store.numbers == [1, 3, 3, 3])
        let carried = try await plan(store, to: 4)
        #expect(carried.events == 0 && carried.carry == ["seen"] && carried.pending)
    }

    @Test("an event that a step drops is lost at it, by declaration; others of the step are not")
    func dropped() async throws {
        let both = "E: {required: [id], properties: {id: {type: string}}}, F: {required: [id], properties: {id: {type: string}}}"
        let store = try Self.store([
            "evstore: 1\nversion: 1\nevents: {\(both)}",
            Self.version(2, "", "upcast:\n  - drop-event: {type: F, because: nobody reads it}"),
        ])
        for (index, type) in ["E", "F", "E", "F", "F"].enumerated() {
            try await store.append(type, #"{"id":"1"}"#, born: 1, to: "s-\(index)")
        }
        let seen = try await plan(store, to: 2)
        #expect(lost(seen.loss) == LossCase.told("drop-event: nobody reads it", 3))
        #expect(seen.loss.map(\.type) == ["F"] && seen.loss.map(\.first) == [Position(2)])
        try await store.migrate(to: 2)
    }

    @Test("members that only newer events have are listed by plan, and need no consent")
    func newer() async throws {
        let store = try Self.store([
            Self.version(1, ""), Self.version(2, "a: {type: string}", Self.step("- add: {path: /a, value: ''}")),
            Self.version(3, "a: {type: string}, b: {type: string}", Self.step("- add: {path: /b, value: ''}")),
        ])
        try await store.append("E", #"{"id":"1"}"#, born: 1, to: "s-1")
        try await store.migrate(to: 3)
        try await store.append("E", #"{"id":"2","a":"x","b":"y"}"#, born: 3, to: "s-2")
        try await store.rollback(to: 1)
        let up = try await plan(store, to: 2)
        #expect(lost(up.loss) == LossCase.told("add /b: what versions below v3 do not show", 1, declared: false))
        #expect(up.refused.isEmpty)
        try await store.migrate(to: 2)
        #expect(try store.numbers == [1, 2, 3, 3])
    }

    @Test("on the way back too, what is lost and what is only written otherwise are told apart, each with its number")
    func otherFormsBack() async throws {
        let convert = Self.step("- convert: {path: /t, to: string, using: epoch-seconds}")
        let store = try Self.store([
            Self.version(1, "t: {type: integer}"), Self.version(2, "t: {type: string, format: date-time}", convert),
        ])
        try await store.append("E", #"{"id":"1","t":1}"#, born: 1, to: "s-1")
        try await store.migrate(to: 2)
        for time in ["00:00:00.5Z", "00:00:01.5Z", "02:00:00+02:00", "02:00:01+02:00", "03:00:00+03:00", "00:00:00Z"] {
            try await store.append("E", #"{"id":"2","t":"2026-01-01T\#(time)"}"#, born: 2, to: "s-2")
        }
        let loss =
            LossCase.told("convert /t: another form of a value than versions below v2 give back", 3, declared: false)
            + LossCase.told("convert /t: what versions below v2 do not show", 2, declared: false)
        #expect(try await lost(plan(store, to: 1).loss) == loss)
        #expect(Set(loss.map(\.what)).count == loss.count)
    }

    @Test("a plan names what would make the replay refuse")
    func refusals() async throws {
        let store = try OrdersStore(at: 2)
        try await store.place(1, amount: "many", born: 2)
        let stopped = try await plan(store, to: 3)
        #expect(stopped.refused.map(\.code) == ["buildStopped"])
        #expect(stopped.refused[0].message.contains("position 1"), "\(stopped.refused[0].message)")
        await #expect { try await store.migrate(to: 3) } throws: { ($0 as? EvstoreError)?.code == "buildStopped" }
        #expect { try Plan.back(store.context(), to: SchemaVersion(1)) } throws: { ($0 as? EvstoreError)?.code == "belowFloor" }
    }
}
