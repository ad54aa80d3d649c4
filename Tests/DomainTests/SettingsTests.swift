import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A key-value router whose migrations were code that moved values; here each kind of them is a step or a read model.
@Suite("The settings domain")
struct SettingsTests {
    static let domain = Domain(name: "settings")

    @Test("a simple legacy move: a value under its old name is read under the new one, and the other way round")
    func legacyMove() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        let written = try store.read(try StreamName("setting-legacy_user_token"))
        #expect(written.count == 1)
        _ = try await store.migrate(to: SchemaVersion(2))
        let (new, old) = (try StreamName("setting-user_token"), try StreamName("setting-legacy_user_token"))
        #expect(try store.read(new).map(\.json) == written.map(\.json))
        let receipt = try await store.append(
            try .event(new.text, "TokenSet", #"{"key":"user_token","value":"next"}"#), expecting: .revision(written[0].revision))
        #expect(receipt.revision == Revision(written[0].revision.rawValue + 1), "one stream has one count, whatever it is called")
        #expect(try store.read(old, at: SchemaVersion(1)).map(\.stream) == [old, old])
        #expect(try await store.row("settings", "setting-user_token")?.contains("next") == true)
        #expect(try await store.row("settings", "setting-legacy_user_token", at: 1)?.contains("next") == true)
    }

    @Test("a transforming migration: two names become one, with defaults, and come apart again")
    func transforming() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(3))
        let ada = try #require(try store.read(try StreamName("profile-ada")).first).json
        #expect(ada.contains(#""fullName":"Ada Lovelace""#))
        #expect(ada.contains(#""preferences":{"language":"en","notifications":true,"theme":"system"}"#))
        #expect(ada.contains(#""updatedAt":"2026-01-12T10:02:00Z""#), "the event's own time: a step has no clock")
        #expect(try store.read(try StreamName("profile-prince")).first?.json.contains(#""fullName":"Prince""#) == true)
        let back = try store.read(try StreamName("profile-ada"), at: SchemaVersion(2)).first?.json
        #expect(back?.contains(#""firstName":"Ada","lastName":"Lovelace""#) == true)
    }

    @Test("a name that would not come apart as it was needs consent, and is counted")
    func undeclaredLoss() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        let odd = #"{"id":"odd","firstName":"A","lastName":"B C","email":"o@example.org","createdAt":"2026-01-12T09:00:00Z"}"#
        _ = try await store.append([try .event("profile-odd", "ProfileSaved", odd, at: 1)])
        await #expect { try await store.migrate(to: SchemaVersion(3)) } throws: { ($0 as? EvstoreError)?.code == "consentNeeded" }
        #expect(try store.versions.live == SchemaVersion(1))
        _ = try await store.migrate(to: SchemaVersion(3), options: MigrationOptions(yes: true))
        #expect(try await store.row("profiles", "odd")?.contains(#""fullName":"A B C""#) == true)
    }

    @Test("a conditional migration: what auto meant depends on the application that wrote it")
    func conditional() async throws {
        let temporary = try await Self.domain.store(at: 3)
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(4))
        func theme(_ user: String) throws -> String? { try store.read(try StreamName("theme-\(user)")).first?.json }
        #expect(try theme("ada") == #"{"user":"ada","theme":"system"}"#, "written by 1.4.2")
        #expect(try theme("alan") == #"{"user":"alan","theme":"auto"}"#, "written by 2.0.1")
        #expect(try theme("prince") == #"{"user":"prince","theme":"auto"}"#, "by nobody knows which")
    }

    @Test("a condition on the running application keeps a migration from starting")
    func conditionalOnTheApplication() async throws {
        let temporary = try await Self.domain.store()
        await #expect {
            try await temporary.open(
                version: SchemaVersion(5), policy: .migrate(when: .atMost(events: 1)), schemas: try Self.domain.schemas())
        } throws: { ($0 as? EvstoreError)?.code == "policyRefused" }
        #expect(try temporary.store.versions.live == SchemaVersion(1))
    }

    @Test("an aggregating migration: three streams are one row, and the unified event ends the legacy ones")
    func aggregating() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(5))
        #expect(
            try await store.row("unified", "ada") == #"{"autoBackup":false,"notifications":true,"origin":"legacy","theme":"system"}"#)
        try await Self.domain.load(5, into: temporary)
        _ = try await store.append([try .event("theme-ada", "ThemeSet", #"{"user":"ada","theme":"light"}"#)])
        let row = try #require(try await store.row("unified", "ada"))
        #expect(row.contains(#""theme":"dark""#) && row.contains(#""origin":"unified""#), "the late legacy theme is not heard")
        let atV4 = try #require(try await store.row("unified", "ada", at: 4))
        #expect(atV4.contains(#""theme":"light""#) && atV4.contains(#""notifications":false"#), "version 4 sees three events of one")
    }

    @Test("lazy on read: nothing is written, whatever version is asked for")
    func lazy() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        let last = try store.last()
        let evolved = try await EventStore.open(
            store.path, schemas: try Self.domain.schemas(), version: SchemaVersion(5), policy: .observe, options: .forTests)
        #expect(try evolved.all(at: 5).count == 8)
        #expect(try store.last() == last)
        #expect(try store.versions.head == SchemaVersion(1))
    }

    @Test("forced for one key, then a sweep of all: each says what it did, and the journal remembers")
    func forcedAndSwept() throws {
        let store = try ScratchStore(schemas: Self.domain.path)
        try store.run("import", "-", "--as", "v1", input: Self.domain.fixtures(1))
        let forced = try store.run("replay", "--to", "v5", "--stream", "profile-ada")
        #expect(forced.output.contains("Ada Lovelace"))
        #expect(try store.attempt("status", "--expect", "v1").exit == 0, "one key flips nothing")
        let swept = try store.run("replay", "--to", "v5", "--json").output
        for key in ["events", "upcast", "quarantined", "seconds", "eventsPerSecond"] { #expect(swept.contains("\"\(key)\":")) }
        let again = try store.run("replay", "--to", "v5", "--json").output
        #expect(again.contains(#""rebuilt":[]"#), "what was done is not done again, after a restart neither")
        #expect(try store.run("journal").output.contains("replay"))
    }

    @Test("a changed file under a released number is refused, and so is a name given twice")
    func duplicates() async throws {
        let temporary = try await Self.domain.store()
        let text = try String(contentsOf: URL(filePath: Self.domain.path).appending(path: "v1.yaml"), encoding: .utf8)
        let other = try SchemaFiles(text.replacing("enabled: {type: boolean}", with: "enabled: {type: [boolean, \"null\"]}")).load()
        await #expect { try await temporary.open(version: SchemaVersion(1), schemas: other) } throws: {
            ($0 as? EvstoreError)?.code == "versionDiffers"
        }
        #expect(throws: (any Error).self) {
            try SchemaFiles(text.replacing("events:\n", with: "events:\n  BackupSet: {stream: b}\n")).load()
        }
    }

    @Test("two migrations at once: one wins, the other names it")
    func twoAtOnce() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        async let first = Self.code { try await store.migrate(to: SchemaVersion(5)) }
        async let second = Self.code { try await store.migrate(to: SchemaVersion(5)) }
        let outcomes = await [first, second].compactMap(\.self)
        #expect(outcomes.allSatisfy { $0 == "migrationInProgress" } && outcomes.count <= 1)
        #expect(try store.versions.live == SchemaVersion(5))
        #expect(try store.maintenance.journal().filter { $0.kind == .flip && $0.to == SchemaVersion(5) }.count <= 1)
    }

    static func code(_ body: @Sendable () async throws -> MigrationReport) async -> String? {
        do {
            _ = try await body()
            return nil
        } catch { return (error as? EvstoreError)?.code ?? "\(error)" }
    }

    @Test("a value over 1 MiB is refused with both sizes, or taken by option")
    func large() async throws {
        let value = #"{"key":"big","value":"\#(String(repeating: "x", count: 1 << 20))"}"#
        let smallStore = try await Self.domain.store(at: 5, fixtures: 5 ... 5)
        let small = smallStore.store
        await #expect { try await small.append([try .event("setting-big", "TokenSet", value)]) } throws: {
            if case EvstoreError.eventTooLarge(let bytes, let limit) = $0 { bytes > limit && limit == 1 << 20 } else { false }
        }
        var options = Options.forTests
        options.eventBytesMax = 2 << 20
        let largeStore = try await TemporaryStore.make(try Self.domain.schemas(), options: options)
        let large = largeStore.store
        _ = try await large.append([try .event("setting-big", "TokenSet", value)])
        #expect(try large.read(try StreamName("setting-big")).first?.json == value)
    }

    @Test("one event that a read model can't take stops the sweep with its position, or is set aside by name")
    func partialFailure() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        let user = String(repeating: "u", count: 600)
        let file = try temporary.write(
            #"{"stream":"backup-u","type":"BackupSet","data":{"user":"\#(user)","autoBackup":true}}"# + "\n", to: "odd.jsonl")
        _ = try await store.importLines(from: .file(file), as: SchemaVersion(1), options: ImportOptions(takesAnyStream: true))
        await #expect { try await store.migrate(to: SchemaVersion(5)) } throws: {
            if case EvstoreError.buildStopped("unified", Position(9), _, inFold: true) = $0 { true } else { false }
        }
        #expect(try store.versions.live == SchemaVersion(1))
        let report = try await store.migrate(to: SchemaVersion(5), options: MigrationOptions(onError: .quarantine))
        #expect(report.quarantined == 1 && report.events == 9)
        #expect(try store.quarantine().map(\.position) == [Position(9)])
    }

    @Test("a rollback keeps what was born at version 5, and is a replay of the older version from scratch")
    func rollback() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(4))
        _ = try await store.migrate(to: SchemaVersion(5))
        for version in 2 ... 5 { try await Self.domain.load(version, into: temporary) }
        let forward = try store.all(at: 5).map(\.json)
        for version in [4, 1] {
            try await store.rollBackAndCompare(to: version)
        }
        _ = try await store.migrate(to: SchemaVersion(5))
        #expect(try store.all(at: 5).map(\.json) == forward)
    }
}
