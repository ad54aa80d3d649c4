import Bytes
import EventLog
import EventModel
import Foundation
import LMDB
import TestStores
import Testing

@testable import Migration
@testable import Projections

@Suite("Replay")
struct ReplayTests {
    @Test("a replay makes the version live, with read models built along its steps")
    func makesLive() async throws {
        // Given a store at version 1 with three events.
        let store = try OrdersStore()
        try await store.place(1, amount: "250", born: 1)
        try await store.pay(1, born: 1)
        try await store.place(2, born: 1)
        // When it is taken to version 5.
        let report = try await store.migrate(to: 5)
        // Then 5 is live, and the rows are those of version 5.
        #expect(try store.numbers == [1, 5, 5, 5])
        #expect(report.rebuilt == ["methods", "names", "orders"])
        #expect(report.carried.isEmpty)
        #expect((report.from, report.to) == (SchemaVersion(1), SchemaVersion(5)))
        #expect((report.events, report.upcast, report.quarantined) == (3, 3, 0))
        #expect(report.position == Position(3))
        #expect(try store.row("1", of: "orders") == #"{"amount":250,"name":"ada","state":"paid"}"#)
        #expect(try store.row("card", of: "methods") == #"{"payments":1}"#)
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
        #expect(report.flipPause != nil)
    }

    @Test("a read model that no step on the way touches is carried over")
    func carries() async throws {
        let store = try OrdersStore(at: 3)
        try await store.place(1, born: 3)
        _ = try await store.migrate(to: 4)
        let before = try store.state.generations
        let report = try await store.migrate(to: 5)
        #expect(report.carried == ["names"])
        #expect(report.rebuilt == ["methods", "orders"])
        let state = try store.state
        #expect(before.allSatisfy { state.generations[$0.key] == $0.value })
    }

    @Test("a replay from events builds what would be kept, so that a row is again what its events say, and the way back stays")
    func fromEvents() async throws {
        let store = try OrdersStore()
        try await store.place(1, amount: "250", born: 1)
        try await store.migrate(to: 5)
        let row = try store.row("1", of: "orders")
        // Given a row that somebody has changed behind the store's back.
        let generationSet = try GenerationSet.registered(store.context(), at: SchemaVersion(5), try store.state)
        let entry = try #require(generationSet.entries.first { $0.name == "orders" })
        let generation = try generationSet.open(try #require(entry.directory))
        try generation.environment.write { transaction in
            try generation.rows.put(Array("1".utf8).lent, Array(#"{"amount":1}"#.utf8).lent, &transaction)
        }
        #expect(try store.row("1", of: "orders") != row)
        #expect(try await store.migrate(to: 5).rebuilt.isEmpty)
        // When all is built from the events again.
        let report = try await store.migrate(to: 5, MigrationOptions(fromEvents: true))
        // Then the row is right, of another directory, and the version before is still one that a rollback leads to.
        #expect(report.rebuilt == ["methods", "names", "orders"] && report.flipPause != nil)
        #expect(try store.row("1", of: "orders") == row)
        #expect(try store.state.generations[entry.fingerprint] != entry.directory)
        #expect(try store.numbers == [1, 5, 5, 5])
        #expect(try await store.rollback().to == SchemaVersion(1))
        await #expect(throws: EvstoreError.self) { try await store.migrate(to: 5, MigrationOptions(only: "orders", fromEvents: true)) }
    }

    @Test("a read model is built anew where the older version sees a new event as a type that it consumes")
    func seenOtherwise() async throws {
        for first in [1, 2] {
            let store = try OrdersStore(knowing: 1) { files in
                files["v1.yaml"] = "evstore: 1\nversion: 1\nevents:\n  Changed: {required: [id], properties: {id: {type: string}}}\n"
                files["v2.yaml"] = """
                    evstore: 1
                    version: 2
                    upcast: [{add-event: {type: Both, down: {as: [{type: Changed, pick: [/id]}, {type: Changed, pick: [/id]}]}}}]
                    events:
                      Changed: {required: [id], properties: {id: {type: string}}}
                      Both: {required: [id], properties: {id: {type: string}}}
                    """
                for version in 3 ... 5 { files["v\(version).yaml"] = nil }
                files["projections.yaml"] =
                    "evstore: 1\nprojections: {seen: [{since: 1, key: /id, on: {Changed: {add: {/n: {value: 1}}}}}]}\n"
            }
            try await store.append("Changed", #"{"id":"a"}"#, born: 1, to: "s")
            _ = try await store.migrate(to: 1)
            let report = try await store.migrate(to: 2)
            #expect(report.carried.isEmpty && report.rebuilt == ["seen"])
            try await store.append("Both", #"{"id":"a"}"#, born: 2, to: "s")
            if first == 2 { #expect(try store.row("a", of: "seen") == #"{"n":1}"#) }
            _ = try await store.rollback(to: 1)
            #expect(try store.row("a", of: "seen") == #"{"n":3}"#)
            _ = try await store.migrate(to: 2)
            #expect(try store.row("a", of: "seen") == #"{"n":1}"#)
        }
    }

    @Test("a read model whose build a crash ended counts as missing and is built")
    func leftHalfBuilt() async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        // Given a generation under the name that the next one gets, with nothing in it.
        let definition = try store.evolving.current().definition(named: "orders", at: SchemaVersion(1))
        _ = try Generation.create(for: definition, in: store.directory + "/store", of: store.log)
        // When what is missing is built.
        try await MissingGenerations.build(store.context(), at: SchemaVersion(1))
        // Then the rows are there.
        #expect(try store.row("1", of: "orders")?.isEmpty == false)
    }

    @Test("finalize removes the directory of a read model whose deletion a crash ended")
    func leftHalfDeleted() async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        _ = try await store.migrate(to: 5)
        // Given a directory that has lost its file and not yet its name.
        let left = store.directory + "/store/generations/0123456789abcdef-1"
        try FileManager.default.createDirectory(atPath: left, withIntermediateDirectories: true)
        // When the window is closed, then it goes.
        _ = try await Finalize.run(store.context(), SchemaVersion(5))
        #expect(!FileManager.default.fileExists(atPath: left))
    }

    @Test("a replay to where the store is already does nothing")
    func alreadyThere() async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        _ = try await store.migrate(to: 5)
        let (state, generations, journal) = (try store.state, store.generations, try Journal.list(store.log).count)
        let report = try await store.migrate(to: 5)
        #expect(report.rebuilt.isEmpty)
        #expect(report.carried == ["methods", "names", "orders"])
        #expect(report.flipPause == nil)
        #expect(try store.state == state)
        #expect(store.generations == generations)
        #expect(try Journal.list(store.log).count == journal)
    }

    @Test("a strict replay stops at an event without an image and changes nothing that is read")
    func strict() async throws {
        // Given an amount that is not a number, which version 3 makes one.
        let store = try OrdersStore(at: 2)
        try await store.place(1, born: 2)
        _ = try await store.migrate(to: 2)
        try await store.place(2, amount: "many", born: 2)
        let (state, generations) = (try store.state, store.generations)
        // When it is replayed to 3, then the position is named.
        do {
            _ = try await store.migrate(to: 3)
            Issue.record("the replay went on")
        } catch let error as EvstoreError {
            guard case .buildStopped(_, let position, _, _) = error else { throw error }
            #expect(position == Position(2))
        }
        #expect(try store.numbers == [2, 2, 2, 3])
        #expect(try store.state.generations == state.generations)
        #expect(store.generations == generations)
        #expect(try Journal.list(store.log).last?.outcome.hasPrefix("buildStopped") == true)
    }

    @Test("with quarantine such an event is listed and the rest goes on")
    func quarantine() async throws {
        let store = try OrdersStore(at: 2)
        try await store.place(1, born: 2)
        try await store.place(2, amount: "many", born: 2)
        let report = try await store.migrate(to: 3, MigrationOptions(onError: .quarantine))
        #expect(try store.numbers == [2, 3, 3, 3])
        // Two read models lack the one event.
        #expect(report.quarantined == 1)
        let rows = try Quarantine.list(store.context(), at: SchemaVersion(3))
        #expect(rows.map(\.projection) == ["names", "orders"])
        #expect(rows.allSatisfy { $0.position == Position(2) && $0.type == "OrderPlaced" && !$0.error.isEmpty })
        #expect(try store.row("1", of: "orders") != nil)
        #expect(try store.row("2", of: "orders") == nil)
    }

    @Test("a dry run computes the same digests and changes nothing")
    func dryRun() async throws {
        let store = try OrdersStore()
        for order in 1 ... 20 { try await store.place(order, name: "n\(order % 3)", born: 1) }
        let (state, generations) = (try store.state, store.generations)
        let dry = try await store.migrate(to: 5, MigrationOptions(dryRun: true))
        #expect(try store.state == state)
        #expect(store.generations == generations)
        #expect(try Journal.list(store.log).isEmpty)
        #expect(try Snapshot.list(store.log).isEmpty)
        #expect(dry.rebuilt == ["methods", "names", "orders"])
        #expect(dry.flipPause == nil)
        let real = try await store.migrate(to: 5)
        #expect(dry.digests == real.digests && real.digests.count == 3)
    }

    @Test("building one projection does not flip, and the replay that follows uses what was built")
    func only() async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        let first = try await store.migrate(to: 5, MigrationOptions(only: "orders"))
        #expect(first.rebuilt == ["orders"])
        #expect(try store.numbers == [1, 1, 1, 5])
        try await store.place(2, born: 1)
        let second = try await store.migrate(to: 5)
        #expect(second.carried == ["orders"])
        #expect(second.rebuilt == ["methods", "names"])
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
    }

    @Test("a cancelled replay says what to run again, and running it again finishes")
    func cancelled() async throws {
        let store = try OrdersStore()
        try await store.place(1, born: 1)
        let job = Job("replay")
        job.cancel()
        await #expect(throws: EvstoreError.interrupted(again: "replay again")) {
            try await store.migrate(to: 5, .init(), job)
        }
        #expect(try store.state.live == SchemaVersion(1))
        _ = try await store.migrate(to: 5)
        #expect(try store.numbers == [1, 5, 5, 5])
    }

    @Test("events that are appended while the read models are built are in them")
    func appendedMeanwhile() async throws {
        let store = try OrdersStore()
        for order in 1 ... 200 { try await store.place(order, born: 1) }
        let log = store.log
        let writer = Task {
            for order in 201 ... 400 {
                let payload = "{\"id\":\"\(order)\",\"customer\":\"bob\",\"total\":1,\"code\":\"5\"}"
                let event = StoredEvent(
                    stream: try StreamName("order-\(order)"), type: "OrderPlaced", born: SchemaVersion(1), payload: Array(payload.utf8),
                    time: .now)
                _ = try await log.append(AppendRequest(events: [event]))
            }
        }
        let report = try await store.migrate(to: 5)
        try await writer.value
        #expect(report.position.rawValue >= 200)
        #expect(try store.last == Position(400))
        #expect(try store.row("400", of: "orders") == #"{"amount":5,"name":"bob","state":"open"}"#)
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
    }

    @Test("going down by a replay is refused and names the rollback")
    func down() async throws {
        let store = try OrdersStore(at: 4)
        await #expect(throws: EvstoreError.self) { try await store.migrate(to: 3) }
        #expect(try store.numbers == [4, 4, 4, 4])
    }

    @Test("a second migration is refused while one holds the lock")
    func locked() async throws {
        let store = try OrdersStore()
        let lock = try MigrationLock.take(store.context())
        do {
            _ = try await store.migrate(to: 5)
            Issue.record("two migrations at once")
        } catch let error as EvstoreError {
            #expect(error.code == "migrationInProgress")
        }
        lock.release()
        _ = try await store.migrate(to: 5)
    }
}
