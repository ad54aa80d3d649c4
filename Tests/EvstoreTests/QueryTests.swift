import EventLog
import Evstore
import EvstoreTesting
import Foundation
import Testing

@Suite("Read models")
struct QueryTests {
    func rows(_ store: EventStore, at version: Int? = nil, prefix: String? = nil) async throws -> [String] {
        var rows: [String] = []
        try await store.query("orders", at: version.map { SchemaVersion($0) }, prefix: prefix) { row in
            rows.append("\(row.key) \(row.json)")
            return true
        }
        return rows
    }

    @Test("of many readers of a read model that was never built, of two handles, one builds it and all are given its rows")
    func cold() async throws {
        let temporary = try await Orders.store(at: 1)
        _ = try await temporary.store.append(try (0 ..< 3_000).map { try Orders.placed("\($0)", at: 1) })
        let other = try await temporary.open()
        let counts = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for reader in 0 ..< 20 {
                let store = reader % 2 == 0 ? temporary.store : other
                group.addTask { try await store.count("orders").rows }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(counts == Array(repeating: 3_000, count: 20))
        try await other.close()
    }

    @Test("who waits for a read model that another builds can be cancelled, and fails with who it is when the time is up")
    func coldWait() async throws {
        var options = Options.forTests
        options.readModelDeadline = .milliseconds(50)
        let temporary = try await Orders.store(at: 1)
        let hasty = try await EventStore.open(temporary.path, options: options)
        let held = try StoreLock.migration.acquire(at: temporary.path, what: "a test")
        await #expect(throws: EvstoreError.migrationInProgress(holder: "process \(getpid()) (a test)")) {
            try await hasty.count("orders")
        }
        let waiting = Task { try await temporary.store.count("orders").rows }
        waiting.cancel()
        await #expect(throws: EvstoreError.interrupted(again: "run it again")) { try await waiting.value }
        try held.release()
        #expect(try await temporary.store.count("orders").rows == 0)
        try await hasty.close()
    }

    @Test("a version that only the program has is not live yet, and one that nobody has is unknown")
    func ahead() async throws {
        let temporary = try await Orders.store(at: 1)
        let ahead = try await temporary.open(schemas: try Orders.schemas(2))
        await #expect(throws: EvstoreError.notLive(SchemaVersion(2), live: SchemaVersion(1))) {
            try await ahead.query("orders", at: SchemaVersion(2), key: "1")
        }
        await #expect(throws: EvstoreError.unknownVersion("v3", known: ["v1"])) {
            try await ahead.query("orders", at: SchemaVersion(3), key: "1")
        }
        _ = try await ahead.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        #expect(try await ahead.query("orders", at: SchemaVersion(2), key: "1") == nil)
        try await ahead.close()
    }

    @Test("a query builds what was never built, and then catches up with what was appended before it began")
    func catchesUp() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        _ = try await store.append([try Orders.placed("1", at: 1)])
        #expect(try await rows(store) == [#"1 {"customer":"Ann","state":"open","total":100}"#])
        _ = try await store.append([
            try Orders.placed("12", at: 1), try .event("order-1", "OrderPaid", #"{"id":"1","method":"card"}"#),
        ])
        #expect(
            try await rows(store) == [
                #"1 {"customer":"Ann","state":"paid","total":100}"#, #"12 {"customer":"Ann","state":"open","total":100}"#,
            ])
        #expect(try await rows(store, prefix: "12").count == 1)
        let (count, note) = try await store.count("orders")
        #expect(count == 2 && note.lag == 0 && note.checkpoint.position == Position(3))
        await #expect(throws: EvstoreError.unknownProjection("nothing", known: ["orders"])) { try await store.count("nothing") }
        var found: [String] = []
        try await store.query("orders", key: "1") { row in
            found.append(row.key)
            return true
        }
        try await store.query("orders", key: "3") { row in
            found.append(row.key)
            return true
        }
        #expect(found == ["1"])
    }

    @Test("a reader that may not write shows what is there and says how far behind it is")
    func readOnly() async throws {
        let temporary = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1)])
        #expect(try await rows(temporary.store).count == 1)
        _ = try await temporary.store.append([try Orders.placed("2", at: 1)])
        let reader = try await temporary.open(readOnly: true)
        let (count, note) = try await reader.count("orders")
        #expect(count == 1 && note.lag == 1 && note.reason != nil)
    }

    @Test("a program at an older version reads its own read models beside the new ones")
    func olderVersion() async throws {
        let temporary = try await Orders.store()
        let old = try await temporary.open(version: SchemaVersion(4))
        _ = try await old.append([try Orders.placed("1", at: 4)])
        _ = try await temporary.store.append([try Orders.placed("2", at: 5)])
        #expect(
            try await rows(old) == [
                #"1 {"customer":"Ann","state":"open","total":100}"#, #"2 {"customer":"Ann","state":"open","total":100}"#,
            ])
        #expect(
            try await rows(temporary.store) == [
                #"1 {"customer":"Ann","state":"open","total":"100"}"#, #"2 {"customer":"Ann","state":"open","total":"100"}"#,
            ])
        var differing: [String] = []
        try await temporary.store.diff("orders", a: SchemaVersion(4), b: SchemaVersion(5)) { difference in
            differing.append(difference.key)
            return true
        }
        #expect(differing == ["1", "2"])
        differing = []
        try await temporary.store.diff("orders", a: SchemaVersion(2), b: SchemaVersion(4)) { difference in
            differing.append(difference.key)
            return true
        }
        #expect(differing == [])
    }

    @Test("a diff compares the two rows of a key at one position, also where one version is followed meanwhile and the other is not")
    func diffMeanwhile() async throws {
        var options = Options.forTests
        options.pageEventsMax = 3
        let temporary = try await TemporaryStore.make(
            try Orders.schemas(), at: SchemaVersion(5), from: SchemaVersion(1), options: options)
        let (store, writer) = (temporary.store, try await temporary.open())
        let appending = Task {
            for number in 0 ..< 400 {
                try await writer.append([try Orders.placed("\(number)", at: 5)])
                _ = try await writer.count("orders", at: SchemaVersion(5))
            }
        }
        var compared = 0
        while compared < 2_000 {
            try await store.diff("orders", a: SchemaVersion(4), b: SchemaVersion(5)) { difference in
                // Every row differs, and each order has one at both versions.
                #expect(difference.a != nil && difference.b != nil, "\(difference.key)")
                compared += 1
                return true
            }
        }
        try await appending.value
        let ends = try await store.diff("orders", a: SchemaVersion(4), b: SchemaVersion(5)) { _ in true }
        #expect(ends.a.checkpoint == ends.b.checkpoint && ends.a.lag == 0)
    }

    @Test("status counts births and types and names the read models")
    func status() async throws {
        let temporary = try await Orders.store()
        let store = temporary.store
        _ = try await store.append([try Orders.placed("1", at: 2), try Orders.placed("2", at: 5), try Orders.placed("3", at: 5)])
        try await store.query("orders") { _ in true }
        let report = try store.status()
        #expect(report.births.map(\.version.number) == [2, 5] && report.births.map(\.count) == [1, 2])
        #expect(report.types.count == 2 && report.position == Position(3))
        #expect(report.projections.map(\.name) == ["orders"] && report.projections.map(\.rows) == [3])
        #expect(report.window && report.healthy)
    }
}
