import EventLog
import EventModel
import EvstoreTesting
import Foundation
import Platform
import TestStores
import TestSupport
import Testing

@Suite("Cutting the log")
struct CutTests {
    let directory: TemporaryDirectory
    let log: EventLog

    init() throws {
        directory = try TemporaryDirectory()
        log = try makeLog(directory, .small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (5, 10, 4) })
    }

    /// Ten events in one block, then ten in blocks of their own.
    private func fill() async throws {
        _ = try await log.append(AppendRequest(events: try (1 ... 10).map { try event("s-\($0 % 3)", "\($0)", id: "id-\($0)") }))
        for number in 11 ... 20 {
            let mark = AttachedRow(.imports, key: [UInt8(number)], value: [1, 2])
            _ = try await log.append(AppendRequest(events: [try event("s-\(number % 3)", "\(number)")], rows: [mark]))
        }
    }

    @Test("removes exactly the events beyond the position, within a block and at its end", arguments: [0, 1, 4, 10, 11, 19, 20])
    func cut(position: UInt64) async throws {
        try await fill()
        try await log.update { try $0.cut(to: Position(position)) }
        #expect(try log.everything().count == Int(position))
        #expect(try log.read { $0.last } == Checkpoint(epoch: Epoch(2), position: Position(position)))
        #expect(try log.read { try $0.cuts() } == [Checkpoint(epoch: Epoch(2), position: Position(position))])
        #expect(try log.read { try $0.rows(.imports).count } == max(0, Int(position) - 10))
        #expect(try log.payloads("s-1") == (1 ... 20).filter { $0 % 3 == 1 && $0 <= position }.map { "\($0)" })
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
    }

    @Test("the indexes stay those of the log, however far a sweep has come as it is cut")
    func indexes() async throws {
        let seed = ProcessInfo.processInfo.environment["EVSTORE_SEED"].flatMap(UInt64.init) ?? .random(in: 0 ... .max)
        print("indexes behind cuts: seed \(seed)")
        var chance = SeededGenerator(seed: seed)
        for round in 0 ..< 60 {
            for append in 0 ..< Int.random(in: 1 ... 12, using: &chance) {
                let events = try (0 ..< Int.random(in: 1 ... 9, using: &chance)).map { number in
                    try event(
                        "s-\(Int.random(in: 0 ..< 12, using: &chance))", type: Bool.random(using: &chance) ? "seen" : "noted",
                        id: Bool.random(using: &chance) ? "\(round)-\(append)-\(number)" : nil)
                }
                _ = try await log.append(AppendRequest(events: events))
            }
            let last = try log.read { $0.last.position }
            let kept = Position(.random(in: last.rawValue / 2 ... last.rawValue, using: &chance))
            try await log.update { try $0.cut(to: kept) }
            // It walks the log and compares every index with it: what leads elsewhere, what is missing, and what is too much.
            #expect(try log.verify(deep: true).map(\.message) == [], "cut to \(kept) of \(last), round \(round), seed \(seed)")
        }
        try await log.close()
    }

    @Test("positions and ids return in a new epoch, and the log goes on, also after a reopen")
    func goesOn() async throws {
        try await fill()
        try await log.update { try $0.cut(to: Position(4)) }
        guard case .appended(let receipt) = try await log.add(event("s-0", "new", id: "id-7")) else {
            Issue.record("the id should be free again")
            return
        }
        #expect(receipt.positions == 5 ... 5)
        #expect(receipt.epoch == Epoch(2))
        #expect(try await log.add(event("s-0", "3", id: "id-3")) == .known(Position(3)))
        try await log.update { try $0.cut(to: Position(2)) }
        try await log.add(event("fresh", "newer"))
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
        let reopened = try EventLog.open(at: directory.store, options: .small())
        #expect(try reopened.read { $0.last } == Checkpoint(epoch: Epoch(3), position: Position(3)))
        #expect(try reopened.everything().last == "3 3 0 noted newer")
        #expect(try reopened.verify(deep: true).isEmpty)
        try await reopened.close()
    }

    @Test("a log that ends at its cut opens again", arguments: [0, 4, 20])
    func reopened(position: UInt64) async throws {
        try await fill()
        try await log.update { try $0.cut(to: Position(position)) }
        try await log.close()
        let reopened = try EventLog.open(at: directory.store, options: .small())
        #expect(try reopened.read { $0.last } == Checkpoint(epoch: Epoch(2), position: Position(position)))
        try await reopened.add(event("s-0", "new"))
        try await reopened.close()
        try await EventLog.open(at: directory.store, options: .small()).close()
    }

    @Test("a scan whose events a cut removed fails")
    func scanned() async throws {
        try await fill()
        let log = log
        let options = Options.small { $0.readSliceBytes = 1 }
        try await log.close()
        let slow = try EventLog.open(at: directory.store, options: options)
        let cut = Checkpoint(epoch: Epoch(2), position: Position(10))
        var isFirst = true
        #expect(throws: EvstoreError.epochChanged(seen: Checkpoint(epoch: .first, position: Position(12)), cut: cut)) {
            try slow.scan(after: Position(11)) { block, _ in
                if isFirst { try self.cutFromBeside(slow, to: Position(10)) }
                isFirst = false
                return true
            }
        }
        try await slow.close()
    }

    private func cutFromBeside(_ log: EventLog, to position: Position) throws {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            defer { done.signal() }
            try await log.update { try $0.cut(to: position) }
        }
        done.wait()
    }

    @Test("an error thrown in an update undoes its cut")
    func undone() async throws {
        struct Stop: Error {}
        try await fill()
        await #expect(throws: EvstoreError.self) {
            try await log.update { update in
                try update.cut(to: Position(3))
                throw EvstoreError.misuse("stop")
            }
        }
        #expect(try log.everything().count == 20)
        #expect(try log.read { $0.last.epoch } == .first)
        try await log.close()
    }
}

@Suite("Waiting")
struct WaitTests {
    let directory: TemporaryDirectory
    let log: EventLog

    init() throws {
        directory = try TemporaryDirectory()
        log = try makeLog(directory)
    }

    @Test("returns when an event comes, at once if it has come")
    func comes() async throws {
        let log = log
        let waiting = Task { try await log.wait(after: .start, deadline: nil) }
        try await log.add(event("a"))
        #expect(try await waiting.value == Position(1))
        #expect(try await log.wait(after: .start, deadline: nil) == Position(1))
        try await log.close()
    }

    @Test("returns the last position when the deadline passes")
    func deadline() async throws {
        try await log.add(event("a"))
        #expect(try await log.wait(after: Position(1), deadline: .now + .milliseconds(30)) == Position(1))
        try await log.close()
    }

    @Test("ends with an error when it is cancelled, or the store is closed")
    func ends() async throws {
        let log = log
        let cancelled = Task { try await log.wait(after: .start, deadline: nil) }
        cancelled.cancel()
        await #expect(throws: CancellationError.self) { try await cancelled.value }
        let closed = Task { try await log.wait(after: .start, deadline: nil) }
        try await Task.sleep(for: .milliseconds(20))
        try await log.close()
        await #expect(throws: EvstoreError.self) { try await closed.value }
    }
}
