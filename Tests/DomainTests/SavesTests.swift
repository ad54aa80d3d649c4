import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// Saved games whose format went from 1.0.0 to 2.0.0, and those from before there was a format.
@Suite("The saves domain")
struct SavesTests {
    static let domain = Domain(name: "saves")

    @Test("a release is a name of its version: --to 1.1.0, --at 1.0.0, and one that is not listed is the listed one below it")
    func labels() throws {
        let store = try ScratchStore(schemas: Self.domain.path)
        try store.run("import", "-", "--as", "1.0.0", input: Self.domain.fixtures(1))
        try store.run("replay", "--to", "1.1.0")
        #expect(try store.attempt("status", "--expect", "1.1.1").exit == 0)
        #expect(try store.run("read", "save-ada1", "--at", "1.0.0").output.contains(#""location":"12,-7""#))
        let schemas = try Self.domain.schemas()
        #expect(try schemas.version(named: "1.1.7") == SchemaVersion(2))
        #expect(try schemas.version(named: "1.10.0") == SchemaVersion(3), "a label is no decimal fraction")
    }

    @Test("the same version: nothing to do")
    func same() async throws {
        let temporary = try await Self.domain.store(at: 4, fixtures: 1 ... 4)
        _ = try await temporary.store.row("slots", "ada4")
        _ = try await temporary.store.row("players", "Ada")
        let last = try temporary.store.last()
        let report = try await temporary.store.migrate(to: SchemaVersion(4))
        #expect(report.rebuilt.isEmpty && report.flipPause == nil)
        #expect(try temporary.store.last() == last)
    }

    @Test("an older save goes through its steps in order, and comes back as it was")
    func older() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(4))
        func save(_ version: Int) throws -> String {
            try #require(try store.read(try StreamName("save-ada1"), at: SchemaVersion(version)).last).json
        }
        #expect(try save(1) == Self.domain.fixtures(1).split(separator: "\n")[1].firstMatch(of: /"data":(.*)}$/).map { String($0.1) })
        #expect(try save(2).contains(#""difficulty":"normal""#) && save(2).contains(#""credits":220"#))
        #expect(try save(3).contains(#""place":{"x":0,"y":30}"#) && save(3).contains(#""savedAt":"2026-01-23T08:01:00Z""#))
        #expect(try !save(3).contains("version"), "deprecated in 1.1.0, gone in 1.2.0, given back to 1.1.0")
        #expect(try save(4).contains(#""purse":{"credits":220,"gems":0}"#))
        let stepping = try await Self.domain.store()
        for version in 2 ... 4 { _ = try await stepping.store.migrate(to: SchemaVersion(version)) }
        #expect(try stepping.store.digests(at: 4) == store.digests(at: 4))
        #expect(try await store.maintenance.verify(deep: true, laws: true).ok)
    }

    @Test("newer than this game: refused with the word upgrade")
    func newer() async throws {
        let store = try ScratchStore(schemas: Self.domain.path)
        try store.run("import", "-", "--as", "1.0.0", input: Self.domain.fixtures(1))
        let outcome = try store.attempt("replay", "--to", "3.0.0")
        #expect(outcome.exit == 2 && outcome.errors.contains("3.0.0 is newer than 2.0.0, the newest label known: upgrade"))
        // A store that no longer promises version 1 tells a game of version 1 what to be updated to.
        let closed = try await Self.domain.store()
        _ = try await closed.store.migrate(to: SchemaVersion(4))
        _ = try await closed.store.finalize(SchemaVersion(4))
        await #expect { try await closed.open(version: SchemaVersion(1)) } throws: {
            if case EvstoreError.policyRefused(_, _, let how) = $0 { how.description.contains("update the program") } else { false }
        }
    }

    @Test("newer than this game, while its version is promised: served by going down")
    func downcast() async throws {
        let temporary = try await Self.domain.store(at: 4, fixtures: 4 ... 4)
        let older = try await temporary.open(version: SchemaVersion(1), policy: .observe)
        let saves = try older.read(try StreamName("save-ada4"))
        #expect(saves.map(\.type) == ["GameSaved", "GameSaved", "GameSaved"], "it knows no checkpoints")
        #expect(saves.first?.json.contains(#""location":"12,-7""#) == true && saves.first?.json.contains(#""version":"1.0.0""#) == true)
        let hard = try older.read(try StreamName("save-zoe4"), at: SchemaVersion(3)).first?.json
        #expect(hard?.contains(#""difficulty":"hard""#) == true, "nobody played nightmare at 1.2.0")
    }

    @Test("a save from before versions is adopted with what can be kept; its bytes stay in the log")
    func legacy() async throws {
        let temporary = try await Self.domain.store(at: 4, fixtures: 4 ... 4)
        let store = temporary.store
        let raw = #"{"slot":"old","playerName":"Ole","level":3,"gold":12,"cheats":true}"#
        _ = try await importing(#"{"stream":"save-old","type":"blob","version":0,"data":\#(raw)}"#, into: temporary)
        let event = try #require(try store.read(try StreamName("save-old")).first)
        #expect(event.type == "GameSaved" && event.born == SchemaVersion(0))
        let row = try #require(try await store.row("slots", "old"))
        #expect(row.contains(#""name":"Ole""#) && row.contains(#""credits":12"#) && row.contains(#""level":3"#))
        #expect(row.contains(#""savedAt":"1970-01-01T00:00:00Z""#), "what it does not say is a default")
        var log = ""
        try await store.export { lines in
            log += String(decoding: lines, as: UTF8.self)
            return true
        }
        #expect(log.contains(raw))
    }

    @Test("corrupted saves: what is no save is listed by its line, and what can't be migrated by its position; the others load")
    func corrupted() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        let garbage = #"{"stream":"save-x","type":"blob","version":0,"data":{"garbage":1}}"#
        let broken = try Self.domain.fixtures(1).split(separator: "\n")[0].replacing("12,-7", with: "nowhere")
            .replacing("v1-first", with: "broken").replacing("ada1", with: "broken")
        let report = try await importing(garbage + "\n" + broken, into: temporary, onError: .quarantine)
        #expect(report.unadopted.map(\.line) == [1] && report.added == 2)
        await #expect { try await store.migrate(to: SchemaVersion(4)) } throws: { ($0 as? EvstoreError)?.code == "buildStopped" }
        #expect(try store.versions.live == SchemaVersion(1), "a migration that fails changes nothing")
        _ = try await store.migrate(to: SchemaVersion(4), options: MigrationOptions(onError: .quarantine))
        #expect(try store.quarantine(projection: "slots").map(\.position) == [Position(6), Position(7)])
        #expect(try await store.row("slots", "broken") == nil)
        #expect(try await store.row("slots", "ada1") != nil)
        #expect(try store.read(try StreamName("save-broken"), at: SchemaVersion(2)).count == 1, "nothing of it is lost")
    }

    @Test("validation after migration: a slot that a game could not open keeps the new version from going live")
    func validated() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        let nobody = try Self.domain.fixtures(1).split(separator: "\n")[0].replacing(#""level":1"#, with: #""level":0"#)
            .replacing("v1-first", with: "nobody").replacing("ada1", with: "nobody")
        _ = try await importing(String(nobody), into: temporary)
        _ = try await store.migrate(to: SchemaVersion(3))
        for rule in [FailureRule.stop, .quarantine] {
            await #expect { try await store.migrate(to: SchemaVersion(4), options: MigrationOptions(onError: rule)) } throws: {
                guard case .invalidRow(projection: "slots", key: "nobody", let reason, _)? = $0 as? EvstoreError else { return false }
                return reason.contains("/level")
            }
        }
        #expect(try store.versions.live == SchemaVersion(3))
        #expect(try await store.row("slots", "nobody")?.contains(#""level":0"#) == true)
    }

    @Test("a slot that a game could not open does not close the way back, only the way forward, until a save sets it right")
    func regretted() async throws {
        let files = try NextVersion.of("saves").files(of: Self.domain, asking: true)
        let temporary = try await TemporaryStore.make(try files.load(), at: SchemaVersion(4))
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(5))
        _ = try await store.append([try slot("ada4", level: 0, version: 4)])
        #expect(try await store.maintenance.verify(deep: true).findings.map(\.id) == [])
        _ = try await store.rollback()
        #expect(try store.versions.live == SchemaVersion(4))
        let findings = try await store.maintenance.verify(deep: true).findings
        #expect(findings.map(\.id) == ["ROW101"] && findings.allSatisfy { $0.fix?.contains("append an event") == true })
        await #expect { try await store.migrate(to: SchemaVersion(5)) } throws: { ($0 as? EvstoreError)?.code == "invalidRow" }
        _ = try await store.append([try slot("ada4", level: 1, version: 4)])
        #expect(try await store.migrate(to: SchemaVersion(5)).to == SchemaVersion(5))
    }

    @Test("a snapshot before each migration, of which the newest 5 are kept, and those that somebody took")
    func snapshots() async throws {
        var options = Options.forTests
        options.replaySnapshotsKept = 5
        let temporary = try await Self.domain.store(options: options)
        let store = temporary.store
        _ = try await store.takeSnapshot("mine")
        for round in 0 ..< 3 {
            for version in 2 ... 4 {
                let report = try await store.migrate(to: SchemaVersion(version))
                let save = try slot("ada1", level: round + version)
                _ = try await store.append([save])
                #expect(try store.snapshots().last?.name == report.snapshot)
            }
            _ = try await store.rollback(to: SchemaVersion(1))
        }
        let all = try store.snapshots()
        #expect(all.first?.name == "mine")
        let kept = all.dropFirst()
        #expect(kept.count == 5)
        #expect(kept.map(\.position.rawValue) == kept.map(\.position.rawValue).sorted())
        #expect(kept.last?.live == SchemaVersion(3))
        #expect(try store.maintenance.verifySnapshots().isEmpty)
    }

    @Test("a slot holds its 5 newest saves, whole, and one of them is brought back without touching other slots")
    func restored() async throws {
        let temporary = try await Self.domain.store(at: 4, fixtures: 4 ... 4)
        let store = temporary.store
        for level in 2 ... 9 { _ = try await store.append([try slot("ada4", level: level, version: 4)]) }
        let row = try #require(try await store.row("slots", "ada4"))
        let levels = row.matches(of: /"xp":(\d+)/).map { String($0.1) }
        #expect(levels == ["500", "600", "700", "800", "900"])
        let other = try await store.row("slots", "zoe4")
        let chosen = try #require(try store.read(try StreamName("save-ada4"), matching: .type("GameSaved")).dropLast(2).last)
        _ = try await store.append([
            try .event("save-ada4", "SaveRestored", #"{"slot":"ada4","from":"\#(chosen.id.text)","reason":"lost"}"#, at: 4),
            try .event("save-ada4", "GameSaved", chosen.json, at: 4),
        ])
        let now = try #require(try await store.row("slots", "ada4"))
        #expect(now.contains(#""level":7,"name":"Ada""#) && now.contains(#""best":9"#) && now.contains(#""restores":2"#))
        #expect(try await store.row("slots", "zoe4") == other)
    }

    @Test("what a migration did is in the journal, with time, size and position, after a restart too; on the way it tells its steps")
    func journal() async throws {
        let temporary = try await Self.domain.store()
        let steps = Steps()
        _ = try await temporary.store.migrate(to: SchemaVersion(4), progress: { steps.add($0.step) })
        #expect(!steps.all.isEmpty)
        try await temporary.store.close()
        let journal = try await temporary.open().maintenance.journal()
        let replay = try #require(journal.last { $0.kind == .replay })
        #expect(replay.position == Position(5) && replay.duration != nil && replay.from == SchemaVersion(1))
        #expect(replay.readModelBytes ?? 0 > 0)
        #expect(journal.contains { $0.kind == .snapshot && $0.outcome == "before-v4" })
        #expect(journal.last?.kind == .flip)
    }

    @Test("a rollback keeps what was born at 2.0.0, and is a replay of the older version from scratch")
    func rollback() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(3))
        _ = try await store.migrate(to: SchemaVersion(4))
        for version in 2 ... 4 { try await Self.domain.load(version, into: temporary) }
        let forward = try store.all(at: 4).map(\.json)
        for version in [3, 1] { try await store.rollBackAndCompare(to: version) }
        #expect(try await store.row("slots", "ada4")?.contains(#""location":"12,-7""#) == true)
        _ = try await store.migrate(to: SchemaVersion(4))
        #expect(try store.all(at: 4).map(\.json) == forward)
    }

    private func importing(
        _ lines: String, into temporary: TemporaryStore, onError: FailureRule = .stop
    ) async throws -> ImportReport {
        let file = try temporary.write(lines + "\n", to: "lines-\(UUID().uuidString).jsonl")
        return try await temporary.store.importLines(
            from: .file(file), as: SchemaVersion(1), options: ImportOptions(onError: onError))
    }

    /// A save as version 1 or 4 says it.
    private func slot(_ slot: String, level: Int, version: Int = 1) throws -> NewEvent {
        let player = #""player":{"name":"Ada","level":\#(level),"xp":\#(level * 100)}"#
        let rest =
            version == 1
            ? #""version":"1.0.0","credits":1,"inventory":{},"location":"1,2","savedAt":1769155200"#
            : #""purse":{"credits":1,"gems":0},"inventory":{},"place":{"x":1,"y":2},"difficulty":"easy","savedAt":"2026-09-22T00:00:00Z""#
        return try .event("save-\(slot)", "GameSaved", "{\"slot\":\"\(slot)\",\(player),\(rest)}", at: version)
    }
}
