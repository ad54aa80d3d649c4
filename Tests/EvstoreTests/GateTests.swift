import Evstore
import EvstoreTesting
import Testing

@Suite("The gate")
struct GateTests {
    @Test("an event without an image at a promised version is refused; at one that no version promises it is taken")
    func refused() async throws {
        let temporary = try await Orders.store()
        let coins = try NewEvent.event("order-1", "PaymentCaptured", #"{"id":"1","method":"coins"}"#, at: 5)
        await #expect {
            try await temporary.store.append([coins])
        } throws: { error in
            guard case .noImage(let failure)? = error as? EvstoreError else { return false }
            return failure.born == SchemaVersion(5) && failure.target < SchemaVersion(5)
        }
        #expect(try temporary.store.last().position == .start)
        _ = try await temporary.store.finalize(SchemaVersion(5))
        #expect(try await temporary.store.append([coins]).position == Position(1))
        await #expect {
            try await temporary.store.append([try Orders.placed("1", at: 4)])
        } throws: { ($0 as? EvstoreError)?.code == "versionNotAllowed" }
    }

    @Test("an event that an older version declares hidden is accepted")
    func hidden() async throws {
        let temporary = try await Orders.store()
        _ = try await temporary.store.append([try .event("order-1", "OrderVoided", #"{"id":"1"}"#, at: 4)])
        #expect(try temporary.store.read(try StreamName("order-1"), at: SchemaVersion(1)) == [])
    }

    @Test("after a rollback the gate still asks for every version up to the event's own")
    func afterRollback() async throws {
        let temporary = try await Orders.store()
        let store = temporary.store
        _ = try await store.append([try Orders.placed("1", at: 5)])
        _ = try await store.rollback(to: SchemaVersion(3))
        #expect(try store.versions == StoreVersions(floor: 1, live: 3, top: 5, head: 5))
        _ = try await store.append([try Orders.placed("1", at: 5)])
        #expect(try store.read(try StreamName("order-1")).count == 2)
        await #expect {
            try await store.append([try .event("order-1", "PaymentCaptured", #"{"id":"1","method":"coins"}"#, at: 5)])
        } throws: { ($0 as? EvstoreError)?.code == "noImage" }
    }

    @Test("a handle that was opened before a flip goes on appending and reading at its own version")
    func acrossFlip() async throws {
        let temporary = try await TemporaryStore.make(try Orders.schemas(4), from: SchemaVersion(1))
        let old = try await temporary.open(version: SchemaVersion(4))
        let retried = try Orders.placed("1", at: 4, eventID: "r-1")
        let first = try await old.append([retried])
        let new = try await temporary.open(version: SchemaVersion(5), policy: .migrate(), schemas: try Orders.schemas(5))
        #expect(try new.versions.live == SchemaVersion(5))
        #expect(try old.workingVersion == SchemaVersion(4))
        #expect(try await old.append([retried]).positions == first.positions)
        #expect(try await new.append([try Orders.placed("1", at: 5, eventID: "r-1")]).duplicate)
        _ = try await old.append([try Orders.placed("2", at: 4)])
        _ = try await new.append([try Orders.placed("2", at: 5)])
        #expect(try old.read(try StreamName("order-2")).allSatisfy { $0.json.contains("\"cents\":100") })
        #expect(try new.read(try StreamName("order-2")).allSatisfy { $0.json.contains("\"cents\":\"100\"") })
        _ = try await new.finalize(SchemaVersion(5))
        #expect(try await old.append([retried]).duplicate)
        await #expect {
            try await old.append([try Orders.placed("3", at: 4)])
        } throws: { ($0 as? EvstoreError)?.code == "versionNotAllowed" }
    }
}
