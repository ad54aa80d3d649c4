import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// Passwords that must not break when the application is updated, on whatever version a user was.
@Suite("The vault domain")
struct VaultTests {
    static let domain = Domain(name: "vault")

    @Test("every write is stamped with its version")
    func stamped() async throws {
        let temporary = try await Self.domain.store(at: 1, fixtures: 1 ... 1)
        for version in 2 ... 5 {
            _ = try await temporary.store.migrate(to: SchemaVersion(version))
            try await Self.domain.load(version, into: temporary)
        }
        let births = try temporary.store.status().births.map { "\($0.version):\($0.count)" }
        #expect(births == ["v1:4", "v2:4", "v3:4", "v4:4", "v5:6"])
    }

    private static func old(_ name: String) -> String { "\(domain.path)/fixtures/v0/\(name)" }

    /// A vault at version 1 with what both platforms kept before there were versions.
    private static func oldVault() async throws -> (store: TemporaryStore, ios: ImportReport, android: ImportReport) {
        let temporary = try await TemporaryStore.make(try domain.schemas(), at: SchemaVersion(1))
        let zero = SchemaVersion(0)
        let ios = try await temporary.store.importLines(
            from: .file(old("ios.json")), as: zero, options: ImportOptions(each: "/entries"))
        let android = try await temporary.store.importLines(from: .file(old("android.jsonl")), as: zero)
        return (temporary, ios, android)
    }

    @Test("old data of both platforms is adopted: stored as it came, with what is not kept and what is made up counted")
    func adopted() async throws {
        let (temporary, ios, android) = try await Self.oldVault()
        let store = temporary.store
        let first = try #require(ios.adoption)
        #expect([first.events, first.kept, first.defaulted, first.quarantined] == [3, 11, 3, 1])
        #expect(first.notKept == ["/favourite": 1, "/icon": 1])
        let second = try #require(android.adoption)
        #expect([second.events, second.kept, second.defaulted, second.quarantined] == [3, 11, 3, 1])
        #expect(second.notKept == ["/sync_state": 2])
        let raw = try store.all(at: 0)
        #expect(raw.count == 6 && raw.allSatisfy { $0.born == SchemaVersion(0) && $0.type == "$unknown" })
        #expect(raw.map(\.stream.text) == ["entry-i1", "entry-i2", "$unknown", "entry-a1", "entry-a2", "$unknown"])
        #expect(raw[0].json.contains(#""favourite": true"#))
        let seen = try store.all(at: 1)
        #expect(seen.map(\.type) == Array(repeating: "EntrySaved", count: 4))
        #expect(seen[0].json.contains(#""createdAt":"2021-09-04T12:00:00.250Z""#))
        #expect(seen[3].json.contains(#""createdAt":"2021-09-05T12:00:00.500Z""#))
        #expect(try await store.importLines(from: .file(Self.old("android.jsonl")), as: SchemaVersion(0)).added == 0)
    }

    @Test("a user with data from before versions opens version 5, goes back, and the raw data is still there")
    func adoptedAtLaunch() async throws {
        let temporary = try await Self.oldVault().store
        let raw = try temporary.store.all(at: 0).map(\.json)
        let launched = try await temporary.open(version: SchemaVersion(5), policy: .migrate(), schemas: try Self.domain.schemas())
        #expect(try launched.versions.live == SchemaVersion(5))
        #expect(try await launched.count("entries").rows == 4)
        #expect(try await launched.row("entries", "i1")?.contains(#""categories":["private"]"#) == true)
        #expect(try launched.quarantine(projection: "entries").map(\.position) == [Position(3), Position(6)])
        #expect(try launched.digests(at: 5) == (try await launched.freshDigests(at: 5)))
        try await launched.rollBackAndCompare(to: 1)
        #expect(try launched.all(at: 0).map(\.json) == raw)
        #expect(try await launched.maintenance.verify(deep: true, laws: true).ok)
    }

    @Test("a corrupted record of old data is kept and listed, and ends neither a replay nor a read; what is newer has no way down to 0")
    func adoptedCorrupted() throws {
        let store = try ScratchStore(schemas: Self.domain.path)
        let ios = try store.attempt("import", Self.old("ios.json"), "--as", "0", "--each", "/entries")
        #expect(ios.exit == 8)
        #expect(ios.output.contains("3 events of version 0: kept 11 members, defaulted 3, not kept 2: /favourite (1), /icon (1)"))
        let plan = try store.run("plan", "--to", "v5")
        #expect(plan.output.contains("adopted as EntrySaved") && plan.output.contains("kept 11 members"))
        #expect(try store.attempt("replay", "--to", "v5").exit == 8)
        #expect(try store.run("quarantine", "list").output.contains("$unknown"))
        #expect(try store.run("read", "--json").lines.count == 2)
        #expect(try store.run("read", "--at", "v0", "--json").lines.count == 3)
        #expect(try store.run("export", "--at", "born").lines.count == 3)
        try store.run("import", "-", "--as", "v1", input: Self.domain.fixtures(1))
        let refused = try store.attempt("read", "entry-mail1", "--at", "v0")
        #expect(refused.exit == 3 && refused.errors.contains("born at v1"))
        let again = try ScratchStore(schemas: Self.domain.path)
        try #expect(again.attempt("import", "-", "--as", "v1", input: store.run("export", "--at", "born").output).exit == 8)
        #expect(try again.run("export", "--at", "v1").lines.count == store.run("export", "--at", "v1").lines.count)
    }

    @Test("a user at version 1 who opens version 5 gets all four steps in one go, the same as one by one")
    func skipped() async throws {
        let skipping = try await Self.domain.store()
        let launched = try await skipping.open(version: SchemaVersion(5), policy: .migrate(), schemas: try Self.domain.schemas())
        let stepping = try await Self.domain.store()
        for version in 2 ... 5 { _ = try await stepping.store.migrate(to: SchemaVersion(version)) }
        #expect(try launched.versions.live == SchemaVersion(5))
        #expect(try launched.all().map(\.json) == stepping.store.all().map(\.json))
        #expect(try launched.digests(at: 5) == stepping.store.digests(at: 5))
        #expect(try launched.maintenance.journal().contains { $0.kind == .flip && $0.to == SchemaVersion(5) })
    }

    @Test("a new field is empty, a category becomes a list, and no category becomes an empty one")
    func fields() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(5))
        func entry(_ id: String) throws -> String { try #require(try store.read(try StreamName("entry-\(id)")).first).json }
        #expect(try entry("mail1").contains(#""categories":["private"]"#))
        #expect(try entry("bank1").contains(#""categories":[]"#))
        #expect(try entry("mail1").contains(#""tags":[]"#))
        let before = try store.read(try StreamName("entry-bank1"), at: SchemaVersion(1)).first
        #expect(before?.json.contains(#""category":"""#) == true && before?.json.contains("tags") == false)
    }

    @Test("a migration that fails at launch loses nothing and crashes nothing: the vault opens as it was, or with one set aside")
    func failed() async throws {
        let temporary = try await Self.domain.store()
        let id = String(repeating: "i", count: 600)
        let line =
            #"{"stream":"entry-i","type":"EntrySaved","data":{"id":"\#(id)","title":"","account":"","secret":"","category":"","notes":"","createdAt":"2026-01-01T00:00:00Z"}}"#
        let file = try temporary.write(line + "\n", to: "odd.jsonl")
        _ = try await temporary.store.importLines(from: .file(file), as: SchemaVersion(1), options: ImportOptions(takesAnyStream: true))
        let before = try temporary.store.all(at: 1).map(\.json)
        let schemas = try Self.domain.schemas()
        await #expect { try await temporary.open(version: SchemaVersion(5), policy: .migrate(), schemas: schemas) } throws: {
            ($0 as? EvstoreError)?.code == "buildStopped"
        }
        let anyway = try await temporary.open(version: SchemaVersion(5), policy: .migrate(onError: .openAnyway), schemas: schemas)
        #expect(try anyway.versions.live == SchemaVersion(1))
        #expect(try anyway.all(at: 1).map(\.json) == before)
        let aside = try await temporary.open(version: SchemaVersion(5), policy: .migrate(onError: .quarantine), schemas: schemas)
        #expect(try aside.versions.live == SchemaVersion(5))
        #expect(try aside.quarantine(projection: "entries").map(\.position) == [Position(5)])
        #expect(try await aside.count("entries").rows == 2)
    }

    @Test("an empty vault migrates, rolls back and migrates again")
    func empty() async throws {
        let temporary = try await TemporaryStore.make(try Self.domain.schemas(), at: SchemaVersion(1))
        let store = temporary.store
        #expect(try await store.migrate(to: SchemaVersion(5)).events == 0)
        try await store.rollBackAndCompare(to: 1)
        #expect(try await store.migrate(to: SchemaVersion(5)).to == SchemaVersion(5))
    }

    @Test("a record whose bytes were changed on the disk is found, and never shown")
    func corrupted() throws {
        let store = try ScratchStore(schemas: Self.domain.path)
        try store.run("import", "-", "--as", "v1", input: Self.domain.fixtures(1))
        let file = store.directory.url("store/log/data.mdb")
        var bytes = try Data(contentsOf: file)
        let place = try #require(bytes.range(of: Data("bank1@example.org".utf8)))
        bytes[place.lowerBound] = UInt8(ascii: "B")
        try bytes.write(to: file)
        #expect(try store.attempt("verify").exit == 7)
        let read = try store.attempt("export")
        #expect(read.exit == 7 && !read.output.contains("Bank1@example.org"))
    }

    @Test("one record that is no entry is listed with its line and reason, and the others are there")
    func refused() throws {
        let store = try ScratchStore(schemas: Self.domain.path)
        let good = try Self.domain.fixtures(1)
        let bad = #"{"stream":"entry-x","type":"EntrySaved","data":{"id":"x","title":7}}"#
        let outcome = try store.attempt("import", "-", "--as", "v1", "--on-error", "quarantine", input: bad + "\n" + good)
        #expect(outcome.exit == 8)
        #expect((outcome.output + outcome.errors).contains("standard input:1: refused"))
        #expect(try store.run("export").lines.count == 4)
    }

    @Test("thousands of entries: every secret opens with its key after the migration, after the rollback, and forward again")
    func secrets() async throws {
        // A debug build takes minutes for the 100,000 of a long run: EVSTORE_VAULT_ENTRIES=100000.
        let count = ProcessInfo.processInfo.environment["EVSTORE_VAULT_ENTRIES"].flatMap(Int.init) ?? 3_000
        let secrets = VaultSecrets(count: count)
        let temporary = try await TemporaryStore.make(try Self.domain.schemas(), at: SchemaVersion(1))
        let store = temporary.store
        try await secrets.load(into: temporary)
        _ = try await store.migrate(to: SchemaVersion(5))
        #expect(try await secrets.opened(in: store) == count)
        let forward = try store.digests(at: 5)
        _ = try await store.rollback(to: SchemaVersion(1))
        #expect(try await secrets.opened(in: store) == count)
        _ = try await store.migrate(to: SchemaVersion(5))
        #expect(try store.digests(at: 5) == forward)
    }

    @Test("a view of an entry that was deleted makes no ghost of it")
    func lateView() async throws {
        let temporary = try await Self.domain.store(at: 5, fixtures: 5 ... 5)
        #expect(try await temporary.store.row("entries", "shop5") == nil)
        #expect(try await temporary.store.row("entries", "mail5")?.contains(#""views":1"#) == true)
    }

    @Test("a rollback keeps what was born at version 5, and is a replay of the older version from scratch")
    func rollback() async throws {
        let temporary = try await Self.domain.store()
        let store = temporary.store
        _ = try await store.migrate(to: SchemaVersion(4))
        _ = try await store.migrate(to: SchemaVersion(5))
        for version in 2 ... 5 { try await Self.domain.load(version, into: temporary) }
        let forward = try store.all(at: 5).map(\.json)
        for version in [4, 1] { try await store.rollBackAndCompare(to: version) }
        let oldest = try await store.row("entries", "bank4")
        #expect(oldest?.contains(#""category":"a""#) == true, "version 1 knows one category")
        _ = try await store.migrate(to: SchemaVersion(5))
        #expect(try store.all(at: 5).map(\.json) == forward)
    }
}
