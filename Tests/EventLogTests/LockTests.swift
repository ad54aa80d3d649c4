import EventLog
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import Platform
import Synchronization
import TestStores
import TestSupport
import Testing

@Suite("Locks of the store")
struct LockTests {
    let directory: TemporaryDirectory
    let log: EventLog

    init() throws {
        directory = try TemporaryDirectory()
        log = try makeLog(directory)
    }

    @Test("only one migration runs at a time; the error of the second names the holder and its task")
    func migration() async throws {
        let held = try StoreLock.migration.acquire(at: directory.store, what: "replay to v5")
        #expect {
            try StoreLock.migration.acquire(at: directory.store, what: "another")
        } throws: { error in
            guard case EvstoreError.locked(_, let holder) = error else { return false }
            return holder.contains("replay to v5") && holder.contains("process")
        }
        try held.release()
        try StoreLock.migration.acquire(at: directory.store, what: "another").release()
        try await log.close()
    }

    @Test("a holder that was stopped before it wrote its hint is named, and not the holder before it")
    func withoutHint() async throws {
        let lock = StoreLock.importing
        let file = try File(directory.store + "/evstore.lock", .write)
        try file.write(Array("1 imports a".utf8), at: lock.number * 128)
        #expect(try file.lock(byte: 1 << 32 + lock.number, shared: false))
        #expect {
            try lock.acquire(at: directory.store, what: "imports b")
        } throws: { if case EvstoreError.locked(_, let holder) = $0 { holder == "process \(getpid())" } else { false } }
        try await log.close()
    }

    @Test("a log that is closed while it has the store for itself lets go of it for good")
    func closedAlone() async throws {
        try log.acquireExclusively(what: "cuts")
        try await log.close()
        log.shareAgain()
        let other = try StoreLock.presence.acquireIfFree(at: directory.store, what: "is alone")
        #expect(other != nil)
    }

    @Test("a process can lock a store for itself only while no other has it open")
    func alone() async throws {
        let second = try EventLog.open(at: directory.store, options: .small())
        #expect(throws: EvstoreError.self) { try log.acquireExclusively(what: "cut") }
        try await second.close()
        try log.acquireExclusively(what: "cut")
        #expect {
            try EventLog.open(at: directory.store, options: .small())
        } throws: { if case EvstoreError.locked(_, let holder) = $0 { holder.contains("cut") } else { false } }
        log.shareAgain()
        try await EventLog.open(at: directory.store, options: .small()).close()
        try await log.close()
    }

    @Test("a process that locks a store for itself waits for one that is closing it")
    func leaving() async throws {
        // On a busy machine a guest may leave later than anybody waits for it.
        var isAwaited = false
        for _ in 0 ..< 50 where !isAwaited { isAwaited = try isLeavingAwaited() }
        #expect(isAwaited)
        log.shareAgain()
        try await log.close()
    }

    /// Locks the store while somebody leaves it; false where that took too long.
    private func isLeavingAwaited() throws -> Bool {
        let guest = try Guest(of: directory.store)
        let leaving = try WorkerThread.start("leaving") {
            usleep(100_000)
            guest.leave()
        }
        defer { leaving.join() }
        do { try log.acquireExclusively(what: "cut") } catch EvstoreError.locked { return false }
        return true
    }
}

/// One who has a store open, as its lock says, until told to leave.
private final class Guest: Sendable {
    private let file: Mutex<File?>

    init(of store: String) throws {
        let file = try File(store + "/evstore.lock", .write)
        #expect(try file.lock(byte: 1 << 32 + StoreLock.presence.number, shared: true))
        self.file = Mutex(file)
    }

    func leave() { file.withLock { $0 = nil } }
}
