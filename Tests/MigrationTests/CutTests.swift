import Bytes
import EventLog
import EventModel
import Foundation
import JSONText
import TestStores
import Testing

@testable import Migration

@Suite("Rollback to a snapshot")
struct CutTests {
    private func migrated() async throws -> OrdersStore {
        let store = try OrdersStore(at: 4)
        try await store.place(1, born: 4)
        try await store.pay(1, born: 4)
        _ = try await store.migrate(to: 4)
        _ = try await store.migrate(to: 5)
        try await store.place(2, born: 5)
        try await store.pay(2, born: 5)
        try await store.void(1, born: 5)
        return store
    }

    @Test("the log is cut, the numbers are the snapshot's, and the tail is an export in the archive")
    func cut() async throws {
        let store = try await migrated()
        let report = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: true))
        #expect(report.tail == 3)
        #expect(report.differing.isEmpty)
        #expect(try store.last == Position(2))
        #expect(try store.numbers == [4, 4, 4, 5])
        #expect(try store.state.epoch == Epoch(2))
        #expect(try store.row("1", of: "orders") == #"{"amount":100,"name":"ada","state":"paid"}"#)
        #expect(try store.row("2", of: "orders") == nil)
        #expect(try await store.freshDigests(at: 4) == store.liveDigests())
        #expect(try Set(store.state.generations.values) == Set(store.generations))

        let archive = try String(contentsOfFile: try #require(report.archive), encoding: .utf8)
        let lines = archive.split(separator: "\n").map(String.init)
        #expect(lines.count == 3)
        let first = try JSONValue(parsing: Array(lines[0].utf8).lent)
        #expect(first.member("type") == .string("OrderPlaced") && first.member("version") == .number("5"))
        #expect(first.member("position") == .number("3") && first.member("stream") == .string("order-2"))
    }

    @Test("without consent nothing is cut, and the events are counted")
    func consent() async throws {
        let store = try await migrated()
        do {
            _ = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: false))
            Issue.record("the log was cut")
        } catch {
            #expect(error.code == "consentNeeded")
        }
        #expect(try store.last == Position(5))
        #expect(try store.numbers == [4, 5, 5, 5])
    }

    @Test("a finalize is undone only with consent, also where no event came after the snapshot")
    func finalized() async throws {
        let store = try OrdersStore(at: 4)
        try await store.place(1, born: 4)
        _ = try await store.migrate(to: 4)
        _ = try await store.migrate(to: 5)
        _ = try await Finalize.run(store.context(), SchemaVersion(5))
        do {
            _ = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: false))
            Issue.record("the finalize was undone")
        } catch {
            #expect(error.code == "consentNeeded" && error.message.contains("the floor would go back from v5 to v4"), "\(error)")
        }
        #expect(try store.numbers == [5, 5, 5, 5])
        let report = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: true))
        #expect(report.floor == SchemaVersion(4) && report.tail == 0 && report.archive == nil)
        #expect(try store.numbers == [4, 4, 4, 5])
    }

    @Test("cutting again does nothing more")
    func again() async throws {
        let store = try await migrated()
        _ = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: true))
        let state = try store.state
        let report = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: true))
        #expect(report.tail == 0 && report.archive == nil)
        #expect(try store.state == state)
    }

    @Test("after a cut the store goes on: it appends, replays and rolls back")
    func goesOn() async throws {
        let store = try await migrated()
        _ = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: true))
        try await store.place(3, name: "eve", born: 4)
        #expect(try store.last == Position(3))
        _ = try await store.migrate(to: 5)
        #expect(try await store.freshDigests(at: 5) == store.liveDigests())
        _ = try await store.rollback()
        #expect(try await store.freshDigests(at: 4) == store.liveDigests())
    }

    @Test("a snapshot beyond an earlier cut is refused")
    func beyond() async throws {
        let store = try await migrated()
        _ = try await Snapshot.take(store.context(), name: "late")
        _ = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: true))
        do {
            _ = try await CutRollback.run(store.context(), toSnapshot: "late", TailConsent(discardTail: true))
            Issue.record("the snapshot's events are gone")
        } catch {
            #expect(error.code == "epochChanged")
        }
    }

    @Test("a store that was cut opens again, with what was appended since")
    func reopened() async throws {
        let store = try await migrated()
        _ = try await CutRollback.run(store.context(), toSnapshot: "before-v5", TailConsent(discardTail: true))
        try await store.log.close()
        let reopened = try EventLog.open(at: store.log.path, options: store.log.options)
        #expect(try reopened.read { $0.last } == Checkpoint(epoch: Epoch(2), position: Position(2)))
        try await reopened.close()
    }
}
