import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A health tracker on two platforms, which got new entities and then a sync state for all of them.
@Suite("The cycles domain")
struct CyclesTests {
    static let domain = Domain(name: "cycles")

    @Test("a new entity is there from its version on: refused before, hidden from older programs after")
    func newEntities() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        func insight(_ version: Int) throws -> NewEvent {
            try .event("day-2026-01-21", "InsightRecorded", #"{"date":"2026-01-21","text":"Rest helps"}"#, at: version)
        }
        await #expect { try await store.append([insight(1)]) } throws: { ($0 as? EvstoreError)?.code == "unknownType" }
        _ = try await store.migrate(to: SchemaVersion(2))
        _ = try await store.append([insight(2)])
        #expect(try await store.row("daily", "2026-01-21")?.contains(#""insights":["Rest helps"]"#) == true)
        #expect(try store.all(at: 1).allSatisfy { $0.type != "InsightRecorded" })
        #expect(try await store.row("daily", "2026-01-21", at: 1)?.contains("insights") == false)
        _ = try await store.migrate(to: SchemaVersion(3))
        _ = try await store.append([
            try .event("day-2026-01-29", "PredictionMade", #"{"date":"2026-01-29","phase":"luteal","confidence":0.5}"#, at: 3)
        ])
        #expect(try store.all(at: 3).count == 6 && store.all(at: 2).count == 5)
    }

    @Test("version 4 gives every entity a sync state, pending until a day is synced, and older programs see none of it")
    func syncState() async throws {
        let temporary = try await Self.domain.store(at: 3)
        let store = temporary.store
        let before = try store.all().map(\.json)
        _ = try await store.migrate(to: SchemaVersion(4))
        #expect(try store.all().allSatisfy { $0.json.contains(#""syncStatus":"pending""#) && !$0.json.contains("lastSyncedAt") })
        let payload = #"{"date":"2026-06-21","at":"2026-09-01T06:00:00Z"}"#
        _ = try await store.append([try .event("day-2026-06-21", "EntrySynced", payload, at: 4)])
        let row = try #require(try await store.row("daily", "2026-06-21"))
        #expect(row.contains(#""syncStatus":"synced""#) && row.contains(#""lastSyncedAt":"2026-09-01T06:00:00Z""#))
        #expect(
            try store.read(try StreamName("day-2026-06-21")).last?.json == payload, "what says that others are synced has no state itself")
        #expect(try store.all(at: 3).map(\.json) == before)
    }

    @Test("always a default: a new required member without one is an error with its place, before anything runs")
    func alwaysADefault() throws {
        let outcome = try check(draft: true) { try $0.change("v4.yaml", "      - add: {path: /syncStatus, value: pending}\n", "") }
        #expect(outcome.exit == 3)
        #expect(outcome.output.contains("v4.yaml:") && outcome.output.contains("COMPAT102") && outcome.output.contains("syncStatus"))
    }

    @Test("never skip: a missing version is an error that names it")
    func neverSkip() throws {
        let outcome = try check { try FileManager.default.removeItem(at: $0.url("v3.yaml")) }
        #expect(outcome.exit == 3)
        #expect(outcome.output.contains("LOG001") && outcome.output.contains("version 3 is missing"))
    }

    @Test("never delete: a member that just goes is an error, and one that is deprecated is not")
    func neverDelete() throws {
        let stress = "      stress:       {type: integer, minimum: 1, maximum: 10}\n"
        let gone = try check(draft: true) { try $0.change("v4.yaml", stress, "") }
        #expect(gone.exit == 3 && gone.output.contains("COMPAT101") && gone.output.contains("stress"))
        let deprecated = try check {
            try $0.change("v4.yaml", stress, "      stress: {type: integer, minimum: 1, maximum: 10, deprecated: true}\n")
        }
        #expect(deprecated.exit == 0, "\(deprecated.output)")
    }

    @Test("exported shapes are checked: the domain is sound, and a released file that was changed is found")
    func exportedShapes() throws {
        #expect(try check { _ in }.exit == 0)
        let changed = try check {
            try $0.change("v2.yaml", "minimum: 0, maximum: 5", "minimum: 0, maximum: 6")
        }
        #expect(changed.exit == 3 && changed.output.contains("v2.yaml") && changed.output.contains("LOG002"))
        let store = try ScratchStore(schemas: Self.domain.path)
        let shape = try store.run("schema", "show", "CycleLogged@1.0.0", "--json").output
        #expect(shape.contains(#""flow""#) && !shape.contains("syncStatus"))
    }

    @Test("a store full of an older version's days migrates, whichever version it is", arguments: 1 ... 3)
    func prepopulated(_ version: Int) async throws {
        let temporary = try await Self.domain.store(at: version)
        let store = temporary.store
        let before = try store.all().map(\.json)
        let report = try await store.migrate(to: SchemaVersion(4))
        #expect(report.events == UInt64(before.count) && report.quarantined == 0)
        #expect(try store.all(at: version).map(\.json) == before)
        let stepping = try await Self.domain.store(at: version)
        for next in version + 1 ... 4 { _ = try await stepping.store.migrate(to: SchemaVersion(next)) }
        #expect(try stepping.store.digests(at: 4) == report.digests)
        let verified = try await store.maintenance.verify(deep: true, laws: true)
        #expect(verified.ok && verified.laws.allSatisfy { $0.failed == 0 || $0.law == "L2" })
    }

    @Test("a day is one row: its phase, symptoms, worst symptom, and a mood that counts only where there is one")
    func daily() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        #expect(
            try await store.row("daily", "2026-01-21")
                == #"{"flow":3,"moodSum":6,"moods":1,"notes":"“quiet”, a walk — 5 km","phase":"menstrual","sleep":7.5,"#
                + #""symptoms":{"cramps":2,"headache":4},"worst":4}"#)
        #expect(try await store.row("daily", "2026-01-22") == #"{"flow":0,"phase":"follicular"}"#)
        #expect(try await store.row("monthly", "2026-01") == #"{"days":2,"moodSum":6,"moods":1,"most":3,"symptoms":2}"#)
    }

    @Test("a date is logged once: the second entry of a day is refused where the first one is expected")
    func uniqueDate() async throws {
        let temporary = try await Self.domain.store()
        let entry = try NewEvent.event("day-2026-02-01", "CycleLogged", #"{"date":"2026-02-01","phase":"luteal","flow":0}"#)
        _ = try await temporary.store.append(entry, expecting: .noStream)
        await #expect(throws: EvstoreError.self) { try await temporary.store.append(entry, expecting: .noStream) }
        #expect(try await temporary.store.row("monthly", "2026-02") == #"{"days":1,"most":0}"#)
    }

    @Test("two platforms share one history: what one has exported at version 3 is on the other at version 4 the same")
    func twoPlatforms() async throws {
        let one = try ScratchStore(schemas: Self.domain.path)
        let other = try ScratchStore(schemas: Self.domain.path)
        for version in 1 ... 3 {
            if version > 1 { try one.run("replay", "--to", "v\(version)") }
            try one.run("import", "-", "--as", "v\(version)", input: Self.domain.fixtures(version))
        }
        try other.run("init", "--at", "v1")
        try other.run("replay", "--to", "v4")
        try other.run("import", "-", "--as", "v4", input: one.run("export").output)
        try one.run("replay", "--to", "v4")
        #expect(try one.run("query", "daily").output == other.run("query", "daily").output)
        #expect(try one.run("export").lines.count == 15)
    }

    @Test("a migration tells its steps, and its history is there after a restart")
    func history() async throws {
        let temporary = try await Self.domain.store()
        let steps = Steps()
        _ = try await temporary.store.migrate(to: SchemaVersion(4), progress: { steps.add($0.step) })
        #expect(!steps.all.isEmpty)
        try await temporary.store.close()
        let restarted = try await temporary.open()
        let journal = try restarted.maintenance.journal()
        #expect(journal.contains { $0.kind == .flip && $0.from == SchemaVersion(1) && $0.to == SchemaVersion(4) })
        #expect(journal.contains { $0.kind == .replay && $0.duration != nil && $0.position == Position(4) })
    }

    @Test("a rollback keeps what was born at version 4, and is a replay of the older version from scratch")
    func rollback() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(3))
        _ = try await store.migrate(to: SchemaVersion(4))
        for version in 2 ... 4 { try await Self.domain.load(version, into: temporary) }
        let forward = try store.all(at: 4).map(\.json)
        for version in [3, 1] { try await store.rollBackAndCompare(to: version) }
        #expect(try await store.row("daily", "2026-09-02") == #"{"flow":0,"phase":"follicular"}"#)
        _ = try await store.migrate(to: SchemaVersion(4))
        #expect(try store.all(at: 4).map(\.json) == forward)
    }

    /// What `evstore schema check` says about a copy of the domain with one change.
    private func check(draft: Bool = false, _ change: (TemporaryDirectory) throws -> Void) throws -> BuiltProgram.Outcome {
        let copy = try TemporaryDirectory(copying: Self.domain.path)
        if draft { try FileManager.default.removeItem(at: copy.url("schemas.lock")) }
        try change(copy)
        return try BuiltProgram().run(["schema", "check", "--schemas", copy.path])
    }
}
