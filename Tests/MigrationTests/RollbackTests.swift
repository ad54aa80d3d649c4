import Bytes
import EventLog
import EventModel
import LMDB
import TestStores
import TestSupport
import Testing

@testable import Migration
@testable import Projections

@Suite("Rollback and finalize")
struct RollbackTests {
    /// At version 4, then 5, with events born at both.
    private func migrated() async throws -> OrdersStore {
        let store = try OrdersStore(at: 3)
        try await store.place(1, born: 3)
        _ = try await store.migrate(to: 4)
        try await store.pay(1, born: 4)
        _ = try await store.migrate(to: 5)
        return store
    }

    @Test("a rollback keeps the events born since, as the older version sees them")
    func keepsTail() async throws {
        // Given two events born at version 5.
        let store = try await migrated()
        try await store.place(2, born: 5)
        try await store.pay(2, by: "cash", born: 5)
        // When it goes back.
        let report = try await store.rollback()
        // Then 4 is live, 5 stays the top, and the read models are those of a replay of everything at 4.
        #expect(try store.numbers == [3, 4, 5, 5])
        #expect((report.from, report.to, report.tail) == (SchemaVersion(5), SchemaVersion(4), 2))
        #expect(report.rebuilt.isEmpty)
        #expect(try store.last == Position(4))
        #expect(try store.row("2", of: "orders") == #"{"amount":100,"name":"ada","state":"paid"}"#)
        #expect(try store.row("cash", of: "methods") == #"{"payments":1}"#)
        #expect(try await store.freshDigests(at: 4) == store.liveDigests())
    }

    @Test("a second replay after a rollback builds nothing and has all events")
    func forward() async throws {
        let store = try await migrated()
        _ = try await store.rollback()
        try await store.void(1, born: 4)
        let report = try await store.migrate(to: 5)
        #expect(report.rebuilt.isEmpty)
        #expect(report.carried == ["methods", "names", "orders"])
        #expect(try store.numbers == [3, 5, 5, 5])
        #expect(try store.row("1", of: "orders") == nil)
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
    }

    @Test("a second rollback goes one further, and then there is nothing left")
    func further() async throws {
        let store = try await migrated()
        #expect(try await store.rollback().to == SchemaVersion(4))
        #expect(try await store.rollback().to == SchemaVersion(3))
        await #expect(throws: EvstoreError.nothingToRollBackTo(live: SchemaVersion(3))) { try await store.rollback() }
        #expect(try store.numbers == [3, 3, 5, 5])
    }

    @Test("wherever the floor is below the live version, a rollback that names none leads on, however the live one was reached")
    func anyWay() async throws {
        var random = SeededGenerator.announced()
        let store = try OrdersStore(at: 1)
        try await store.place(1, born: 1)
        for _ in 0 ..< 12 {
            let versions = try store.numbers
            if Bool.random(using: &random) {
                _ = try await store.migrate(to: Int.random(in: versions[1] ... 5, using: &random))
            } else if versions[0] < versions[1] {
                let said = try Plan.back(store.context()).to
                let report = Bool.random(using: &random) ? try await store.rollback() : try await store.rollback(to: versions[0])
                #expect(report.to < report.from && said >= SchemaVersion(versions[0]) && said < report.from)
            } else {
                await #expect(throws: EvstoreError.nothingToRollBackTo(live: SchemaVersion(versions[1]))) { try await store.rollback() }
            }
        }
    }

    @Test("an event that is hidden from the older version is not in its read models, and is back when going forward")
    func hidden() async throws {
        let store = try await migrated()
        try await store.void(1, born: 5)
        _ = try await store.rollback(to: 3)
        #expect(try store.row("1", of: "orders") == #"{"amount":100,"name":"ada","state":"paid"}"#)
        _ = try await store.migrate(to: 5)
        #expect(try store.row("1", of: "orders") == nil)
    }

    @Test("a generation that is no longer on the disk is built anew by the rollback")
    func rebuilt() async throws {
        let store = try await migrated()
        try await store.place(2, born: 5)
        let generationSet = try GenerationSet.registered(store.context(), at: SchemaVersion(4), try store.state)
        let orders = try #require(generationSet.entries.first { $0.name == "orders" }?.directory)
        try Generation.remove(named: orders, in: store.log.path)
        let report = try await store.rollback()
        #expect(report.rebuilt == ["orders"])
        #expect(try await store.freshDigests(at: 4) == store.liveDigests())
    }

    @Test("a version below the floor, above the live one, or unknown is refused")
    func refused() async throws {
        let store = try await migrated()
        await #expect(throws: EvstoreError.belowFloor(SchemaVersion(2), floor: SchemaVersion(3))) { try await store.rollback(to: 2) }
        _ = try await store.rollback(to: 3)
        await #expect(throws: EvstoreError.self) { try await store.rollback(to: 4) }
        await #expect(throws: EvstoreError.self) { try await store.rollback(to: 9) }
        #expect(try store.numbers == [3, 3, 5, 5])
    }

    @Test("finalize moves floor and top to the live version, prunes the others, and closes the way back")
    func finalize() async throws {
        let store = try await migrated()
        await #expect(throws: EvstoreError.notLive(SchemaVersion(4), live: SchemaVersion(5))) {
            try await Finalize.run(store.context(), SchemaVersion(4))
        }
        let report = try await Finalize.run(store.context(), SchemaVersion(5))
        #expect(report.floor == SchemaVersion(5))
        #expect(report.pruned == 2)
        #expect(try store.numbers == [5, 5, 5, 5])
        #expect(store.generations.count == 3)
        #expect(try Set(store.state.generations.values) == Set(store.generations))
        await #expect(throws: EvstoreError.nothingToRollBackTo(live: SchemaVersion(5))) { try await store.rollback() }
        await #expect(throws: EvstoreError.belowFloor(SchemaVersion(4), floor: SchemaVersion(5))) { try await store.rollback(to: 4) }
        // Again: nothing left to do.
        #expect(try await Finalize.run(store.context(), SchemaVersion(5)).pruned == 0)
        #expect(try Journal.list(store.log).filter { $0.kind == .finalize }.count == 1)
    }

    @Test("a damaged read model is not rolled back to")
    func damaged() async throws {
        let store = try await migrated()
        let generationSet = try GenerationSet.registered(store.context(), at: SchemaVersion(4), try store.state)
        let entry = try #require(generationSet.entries.first { $0.name == "orders" })
        let generation = try generationSet.open(try #require(entry.directory))
        try generation.environment.write { transaction in
            try generation.rows.put(Array("1".utf8).lent, Array("{}".utf8).lent, &transaction)
        }
        await #expect(throws: EvstoreError.self) { try await store.rollback() }
        #expect(try store.numbers == [3, 5, 5, 5])
    }
}
