import Evstore
import EvstoreTesting
import TestSupport
import Testing

/// A store whose floor is 2, live at 4, and a program that knows five versions.
@Suite("Opening at another version than the live one")
struct PolicyTests {
    static func store() async throws -> TemporaryStore {
        let temporary = try await TemporaryStore.make(
            try Orders.schemas(4), from: SchemaVersion(2),
            events: [try Orders.placed("1", at: 2), try Orders.placed("1", at: 4)])
        #expect(try temporary.store.versions == StoreVersions(floor: 2, live: 4, top: 4, head: 4))
        return temporary
    }

    func code(_ temporary: TemporaryStore, _ version: Int, _ policy: Policy) async throws -> String? {
        do {
            let store = try await temporary.open(version: SchemaVersion(version), policy: policy, schemas: try Orders.schemas(5))
            try await store.close()
            return nil
        } catch let error as EvstoreError { return error.code }
    }

    @Test("require opens from floor to top and refuses the rest with what to do")
    func require() async throws {
        let temporary = try await Self.store()
        #expect(try await code(temporary, 1, .require) == "policyRefused")
        #expect(try await code(temporary, 2, .require) == nil)
        #expect(try await code(temporary, 4, .require) == nil)
        #expect(try await code(temporary, 5, .require) == "policyRefused")
        #expect(try await code(temporary, 1, .migrate()) == "policyRefused")
    }

    @Test("observe below the floor reads what goes down and stores appends as they were born")
    func observeBelow() async throws {
        let temporary = try await Self.store()
        let store = try await temporary.open(version: SchemaVersion(1), policy: .observe, schemas: try Orders.schemas(1))
        #expect(try store.workingVersion == SchemaVersion(1))
        let stream = try StreamName("order-1")
        #expect(try store.read(stream).allSatisfy { $0.json.contains("\"total\":100") })
        _ = try await store.append([try Orders.placed("1", at: 1)])
        #expect(try store.event(position: Position(3))?.born == SchemaVersion(1))
    }

    @Test("observe above the top reads through the program's own chain and appends at the live version")
    func observeAbove() async throws {
        let temporary = try await Self.store()
        let store = try await temporary.open(version: SchemaVersion(5), policy: .observe, schemas: try Orders.schemas(5))
        let stream = try StreamName("order-1")
        #expect(try store.read(stream).allSatisfy { $0.json.contains("\"cents\":\"100\"") && $0.version == SchemaVersion(5) })
        _ = try await store.append([try Orders.placed("1", at: 5)])
        let stored = try #require(try store.event(position: Position(3)))
        #expect(stored.born == SchemaVersion(4) && stored.json.contains("\"cents\":100"))
        await #expect {
            try await store.append([try .event("order-1", "PaymentCaptured", #"{"id":"1","method":"coins"}"#, at: 5)])
        } throws: { ($0 as? EvstoreError)?.code == "noImage" }
        #expect(try store.versions.head == SchemaVersion(4))
    }

    @Test("migrate replays to the program's version, where its condition holds")
    func migrate() async throws {
        let temporary = try await Self.store()
        #expect(try await code(temporary, 5, .migrate(when: .atMost(events: 1))) == "policyRefused")
        #expect(try temporary.store.versions.live == SchemaVersion(4))
        #expect(try await code(temporary, 5, .migrate(keepWindow: .releases(1))) == nil)
        #expect(try temporary.store.versions == StoreVersions(floor: 4, live: 5, top: 5, head: 5))
    }

    @Test("a replay at opening that fails closes no window")
    func failedKeepsWindow() async throws {
        let temporary = try await Self.store()
        let id = String(repeating: "k", count: 600)
        let payload = #"{"id":"\#(id)","customer":"Ann","cents":100,"currency":"USD"}"#
        let file = try temporary.write(#"{"stream":"order-k","type":"OrderPlaced","data":\#(payload)}"# + "\n", to: "long-key.jsonl")
        _ = try await temporary.store.importLines(from: .file(file), as: SchemaVersion(4), options: ImportOptions(takesAnyStream: true))
        let failed = try await code(temporary, 5, .migrate(keepWindow: .releases(1)))
        #expect(failed == "buildStopped")
        #expect(try temporary.store.versions == StoreVersions(floor: 2, live: 4, top: 4, head: 5))
    }

    @Test("a version whose file differs from the registered one is refused")
    func differingFile() async throws {
        let temporary = try await Self.store()
        let other = try SchemaFiles(ShopHistory.released[0].replacing("minimum: 0", with: "minimum: 1")).load()
        await #expect {
            try await temporary.open(version: SchemaVersion(2), schemas: other)
        } throws: { ($0 as? EvstoreError)?.code == "versionDiffers" }
    }
}

extension StoreVersions {
    init(floor: Int, live: Int, top: Int, head: Int) {
        self.init(
            floor: SchemaVersion(floor), live: SchemaVersion(live), top: SchemaVersion(top), head: SchemaVersion(head), epoch: .first)
    }
}
