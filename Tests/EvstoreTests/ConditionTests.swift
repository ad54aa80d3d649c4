import Evstore
import EvstoreTesting
import Foundation
import SchemaEvolution
import TestSupport
import Testing

/// Appends that are refused where an event has come which their decision did not know, beside a naive look at every event.
@Suite("Conditions over queries", .timeLimit(.minutes(20)))
struct ConditionTests {
    @Test(
        "of many appends at once through two handles, exactly those are made behind whose place nothing came that they exclude",
        arguments: [false, true])
    func naive(isSealed: Bool) async throws {
        let seed = UInt64.random(in: .min ... .max)
        print("seed \(seed)")
        var random = SeededGenerator(seed: seed)
        for _ in 0 ..< rounds(4) {
            var world = try await TagWorld(&random, isSealed: isSealed)
            for act in TagWorld.Act.story(&random) {
                try await world.run(act, &random)
                try await world.race(&random, "seed \(seed), after \(act)")
            }
        }
    }

    @Test("who decides by what a read has shown never breaks a rule over several streams, however many decide at once")
    func courses() async throws {
        let temporary = try await TemporaryStore.make(try Self.courses.load())
        let other = try await temporary.open()
        let fold = try StreamFold("places", revision: 1, initial: [Enrolled]()) {
            StateHandler(Enrolled.self) { all, one, _ in all.append(one) }
        }
        let decisions = try await withThrowingTaskGroup(of: [(position: Position, state: [Enrolled])].self) { group in
            for number in 0 ..< 8 {
                let store = number % 2 == 0 ? temporary.store : other
                group.addTask {
                    var made: [(position: Position, state: [Enrolled])] = []
                    for _ in 0 ..< 12 {
                        let one = Enrolled(course: "c\(Int.random(in: 0 ..< 4))", student: "s\(Int.random(in: 0 ..< 6))")
                        let query: EventQuery = [.init(tags: ["course:\(one.course)"]), .init(tags: ["student:\(one.student)"])]
                        let decision = try await store.decide(on: query, fold, attemptsMax: 1_000) { state in
                            Self.isFull(one, state) ? [] : [try NewEvent(one, to: StreamName("course-\(one.course)"))]
                        }
                        if let receipt = decision.receipt, let state = decision.state { made.append((receipt.position, state)) }
                    }
                    return made
                }
            }
            return try await group.reduce(into: []) { $0 += $1 }
        }
        var before: [Enrolled] = []
        for event in try await temporary.store.read(matching: .all).events {
            let one = try event.decode(Enrolled.self)
            #expect(!Self.isFull(one, before), "\(one) at \(event.position)")
            let decided = try #require(decisions.first { $0.position == event.position })
            #expect(decided.state == before.filter { $0.course == one.course || $0.student == one.student })
            before.append(one)
        }
        #expect(before.count == decisions.count && before.count >= 8)
    }

    private static func isFull(_ one: Enrolled, _ state: [Enrolled]) -> Bool {
        state.count { $0.course == one.course } >= 3 || state.count { $0.student == one.student } >= 2
    }

    @Test("an append with an id gets its receipt again, although what it has added is what its condition excludes")
    func repeated() async throws {
        let store = try await TemporaryStore.make(try Self.courses.load())
        let once = AppendCondition(failIfMatches: .tags("course:c"))
        let event = try NewEvent(Enrolled(course: "c", student: "s"), to: StreamName("course-c"), id: EventID("first"))
        let first = try await store.store.append([event], unless: [once])
        let again = try await store.store.append([event], unless: [once])
        #expect(again.duplicate && again.positions == first.positions)
        await #expect(throws: EvstoreError.conditionFailed(once, item: 0, position: 1)) {
            try await store.store.append([try NewEvent(Enrolled(course: "c", student: "t"), to: StreamName("course-c"))], unless: [once])
        }
        #expect(try store.store.last().position == 1)
    }

    @Test("all conditions of an append hold, those on streams too, or nothing is made; the error names item and event")
    func together() async throws {
        let temporary = try await TemporaryStore.make(try Self.courses.load())
        let store = temporary.store
        func add(_ course: String, _ student: String, _ streams: [StreamCondition] = [], unless queries: [AppendCondition]) async throws {
            try await store.append(
                [try NewEvent(Enrolled(course: course, student: student), to: StreamName("course-\(course)"))], conditions: streams,
                unless: queries)
        }
        try await add("c", "s", unless: [])
        let read = try await store.read(matching: [.init(tags: ["course:c"]), .init(types: ["Enrolled"], tags: ["student:t"])])
        let unused = AppendCondition(failIfMatches: .tags("course:d"))
        try await add("e", "u", [StreamCondition(try StreamName("course-e"), .noStream)], unless: [read.condition, unused])
        try await add("e", "t", unless: [read.condition, unused])
        await #expect(throws: EvstoreError.conditionFailed(read.condition, item: 1, position: 3)) {
            try await add("f", "v", unless: [unused, read.condition])
        }
        await #expect { try await add("f", "v", [StreamCondition(try StreamName("course-e"), .noStream)], unless: [unused]) } throws: {
            ($0 as? EvstoreError)?.code == "expectationFailed"
        }
        #expect(try store.last().position == 3)
    }

    @Test("a condition that can't be judged is refused, and says why")
    func refused() async throws {
        let temporary = try await TemporaryStore.make(try Self.courses.load())
        let store = temporary.store
        let event = try NewEvent(Enrolled(course: "c", student: "s"), to: StreamName("course-c"))
        _ = try await store.takeSnapshot("before")
        let gone = try await store.append([event])
        let query = EventQuery.tags("course:d")
        func code(_ conditions: [AppendCondition]) async -> String? {
            do { try await store.append([event], unless: conditions) } catch { return error.code }
            return nil
        }
        var outdated = try await store.read(matching: query).condition
        #expect(await code([outdated]) == nil)
        outdated.schema = String(repeating: "0", count: 64)
        #expect(await code([outdated]) == "conditionOutdated")
        #expect(await code([AppendCondition(failIfMatches: query, version: 2)]) == "versionNotAllowed")
        #expect(await code([AppendCondition(failIfMatches: query, after: Checkpoint(epoch: .first, position: 99))]) == "misuse")
        #expect(await code([AppendCondition](repeating: AppendCondition(failIfMatches: query), count: 9)) == "misuse")
        #expect(await code([AppendCondition(failIfMatches: [])]) == "usage")
        #expect(await code([AppendCondition(failIfMatches: .type("Nothing"))]) == "unknownType")
        #expect(await code([AppendCondition(failIfMatches: .all, after: try? store.last())]) == nil)
        _ = try await store.rollback(toSnapshot: "before", discardTail: true)
        #expect(
            await code([AppendCondition(failIfMatches: query, after: Checkpoint(epoch: gone.epoch, position: gone.position))])
                == "epochChanged")
    }

    @Test("an event that can't be seen at the condition's version refuses what it might, until somebody has accepted that")
    func noImage() async throws {
        let files = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {A: {required: [a, n], properties: {a: {type: string}, n: {type: string}}}, B: {properties: {}}}",
            """
            evstore: 1
            version: 2
            upcast: [{on: A, do: [{convert: {path: /n, to: string, using: {table: {map: {"1": one}}}}}]}]
            events:
              A: {required: [a, n], properties: {a: {type: string}, n: {type: string, enum: [one]}}, tags: ["a:{/a}"]}
              B: {properties: {}}
            """)
        let temporary = try await TemporaryStore.make(try files.load(), at: 1)
        let store = temporary.store
        _ = try await store.append([try .event("s", "A", #"{"a":"x","n":"2"}"#, at: 1)])
        _ = try await store.migrate(to: 2, options: MigrationOptions(onError: .quarantine, yes: true))
        let condition = AppendCondition(failIfMatches: .tags("a:y"), version: 2)
        let other = try NewEvent.event("t", "B", "{}", at: 2)
        await #expect { try await store.append([other], unless: [condition]) } throws: { ($0 as? EvstoreError)?.code == "noImage" }
        _ = try await store.append([other], unless: [AppendCondition(failIfMatches: .type("B"), version: 2)])
        _ = try await store.maintenance.acceptQuarantined(1, reason: "a test")
        _ = try await store.append([other], unless: [condition])
    }

    @Test("where a step merges events of an append, conditions go by the merged one, and each value is taken once, however many want it")
    func merged() async throws {
        let temporary = try await Self.mergingStore()
        let stores = [temporary.store, try await temporary.open()]
        let made = try await withThrowingTaskGroup(of: Bool.self) { group in
            for number in 0 ..< 24 {
                group.addTask {
                    let key = number % 6
                    let events = try Self.pair(key)
                    let taken = AppendCondition(failIfMatches: .tags("\(key)/\(key)/\(key)"), version: 2)
                    do throws(EvstoreError) { try await stores[number % 2].append(events, unless: [taken]) } catch {
                        guard error.code == "conditionFailed" else { throw error }
                        return false
                    }
                    return true
                }
            }
            return try await group.reduce(into: 0) { $0 += $1 ? 1 : 0 }
        }
        #expect(made == 6)
        #expect(try await Set(temporary.store.read(matching: .type("C")).events.map(\.payload)).count == 6)
    }

    /// A pair of events that v2 shows as one.
    private static func pair(_ key: Int) throws -> [NewEvent] {
        try [("A", "x"), ("B", "y")].map { type, member in try .event("s", type, #"{"k":\#(key),"\#(member)":\#(key)}"#, at: 1) }
    }

    private static func mergingStore() async throws -> TemporaryStore {
        let (types, shapes) = (["A", "B"], ["x", "y"])
        let below = zip(types, shapes).map { type, member in
            "\(type): {required: [k, \(member)], properties: {k: {type: integer}, \(member): {type: integer}}}"
        }
        let files = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {\(below.joined(separator: ", "))}",
            """
            evstore: 1
            version: 2
            upcast: [{merge-events: {types: [A, B], into: C, on: /k}}]
            events:
              C: {required: [k, x, y], properties: {k: {type: integer}, x: {type: integer}, y: {type: integer}}, tags: ["{/k}/{/x}/{/y}"]}
            """)
        let temporary = try await TemporaryStore.make(try files.load(), at: 1)
        _ = try await temporary.store.migrate(to: 2, options: MigrationOptions(yes: true))
        return temporary
    }

    private static var courses: SchemaFiles {
        get throws {
            try SchemaFiles(
                """
                evstore: 1
                version: 1
                events:
                  Enrolled:
                    stream: "course-{/course}"
                    required: [course, student]
                    properties: {course: {type: string}, student: {type: string}}
                    tags: ["course:{/course}", "student:{/student}"]
                """)
        }
    }
}

private struct Enrolled: Evstore.Event, Hashable {
    static let type = "Enrolled"
    static let version: SchemaVersion = 1
    var course: String
    var student: String
}

extension TagWorld {
    private struct Attempt: Sendable {
        var conditions: [AppendCondition]
        var events: [NewEvent]
        var outcome: Result<AppendReceipt, EvstoreError>?
    }

    /// Appends at once through two handles, with conditions, and compares what became of each with all events.
    fileprivate func race(_ random: inout SeededGenerator, _ note: Comment) async throws {
        let (other, versions, end) = (try await temporary.open(), try store.versions, try store.last())
        var attempts: [Attempt] = []
        for _ in 0 ..< 12 {
            let events = try (0 ..< Int.random(in: 1 ... 2, using: &random)).map { _ in try Self.event(&random) }
            let conditions = (0 ..< Int.random(in: 0 ... 2, using: &random)).map { _ in
                let version = SchemaVersion(UInt32.random(in: versions.floor.rawValue ... versions.top.rawValue, using: &random))
                let position =
                    Int.random(in: 0 ..< 4, using: &random) > 0
                    ? end.position.rawValue : .random(in: 0 ... end.position.rawValue, using: &random)
                let isEver = Int.random(in: 0 ..< 8, using: &random) == 0
                return AppendCondition(
                    failIfMatches: Int.random(in: 0 ..< 9, using: &random) == 0 ? .all : Self.query(&random, at: version),
                    after: isEver ? nil : Checkpoint(epoch: end.epoch, position: Position(position)), version: version)
            }
            attempts.append(Attempt(conditions: conditions, events: events))
        }
        let store = store
        let made = await withTaskGroup(of: Attempt.self) { group in
            for (index, attempt) in attempts.enumerated() {
                let handle = index % 3 == 0 ? other : store
                group.addTask {
                    var attempt = attempt
                    do throws(EvstoreError) {
                        attempt.outcome = .success(try await handle.append(attempt.events, unless: attempt.conditions))
                    } catch { attempt.outcome = .failure(error) }
                    return attempt
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var all: [SchemaVersion: [Seen]] = [:]
        for version in versions.floor.rawValue ... versions.top.rawValue {
            all[SchemaVersion(version)] = try seen(at: SchemaVersion(version))
        }
        for attempt in made {
            switch attempt.outcome {
            case .success(let receipt):
                for condition in attempt.conditions {
                    let after = condition.after?.position ?? .start
                    let missed = try #require(all[condition.version ?? 1]).first { seen in
                        seen.event.position > after && seen.event.position.rawValue < receipt.positions.lowerBound
                            && seen.matches(condition.failIfMatches)
                    }
                    #expect(missed == nil, "\(note.rawValue), \(condition), appended at \(receipt.positions)")
                }
            case .failure(.conditionFailed(let condition, let item, let position)):
                let after = condition.after?.position ?? .start
                let isThere = try #require(all[condition.version ?? 1]).contains { seen in
                    seen.event.position == position && (condition.failIfMatches.items.map { seen.matches($0[item]) } ?? true)
                }
                #expect(
                    isThere && position > after && attempt.conditions.contains(condition), "\(note.rawValue), \(condition), \(position)")
            case .failure(let error): Issue.record("\(note.rawValue), \(error)")
            case nil: Issue.record("no outcome")
            }
        }
        try await other.close()
    }
}
