package import EventModel
internal import LMDB
internal import Platform

/// The store's own locks, on bytes of `evstore.lock`. They are open-file-description locks, which end with the process that holds them, in
/// whatever way it ends.
package struct StoreLock: Sendable {
    /// Determines the lock's byte, and the line about its holder.
    package let number: Int

    package static let migration = StoreLock(number: 1)
    /// Held shared by every process that has the store open; exclusively by one that needs it alone.
    package static let presence = StoreLock(number: 2)
    /// Held exclusively while one process recovers the store after a crash.
    package static let opening = StoreLock(number: 3)
    /// One import at a time: from reading the marks until its appends and marks are written.
    package static let importing = StoreLock(number: 4)
    /// One process at a time brings a replica forward.
    package static let following = StoreLock(number: 5)
    /// One holder of a consumer's name at a time; consumers are numbered from 0.
    package static func consumer(_ number: Int) -> StoreLock { StoreLock(number: 16 + number) }

    package static let fileName = "/evstore.lock"

    /// Takes the lock or fails at once.
    /// - Parameter what: what the holder is doing, for processes that find the lock held.
    /// - Throws: `EvstoreError.locked`, naming the holder.
    package func acquire(at store: String, shared: Bool = false, what: String) throws -> HeldLock {
        do {
            let held = HeldLock(self, try Self.open(store, shared: shared), store)
            try held.take(shared: shared, what: what)
            return held
        } catch { throw storeError(error, store, doing: "locking \(store)") }
    }

    /// Takes the lock; nil where another process holds it.
    package func acquireIfFree(at store: String, shared: Bool = false, what: String) throws -> HeldLock? {
        let held = HeldLock(self, try Self.open(store, shared: shared), store)
        return try held.takeIfFree(shared: shared, what: what) ? held : nil
    }

    /// The process that holds the lock, and what for; nil where it is free.
    package func holder(at store: String) throws -> String? {
        let file = try Self.open(store, shared: true)
        return try file.isLocked(byte: byte) ? HolderHint(file, slot: number).holder(ofLockOn: byte) : nil
    }

    /// What the lock's holder does, and the progress that it has noted; nil where the lock is free.
    package func work(at store: String) throws -> HeldWork? {
        let file = try Self.open(store, shared: true)
        let hint = HolderHint(file, slot: number)
        return try file.isLocked(byte: byte) ? hint.work(holder: hint.holder(ofLockOn: byte)) : nil
    }

    /// The process that holds the lock, if it can be seen from here.
    func holderProcess(at store: String) throws -> LockHolder? {
        let file = try Self.open(store, shared: true)
        return try HolderHint(file, slot: number).process(withLockOn: byte)
    }

    /// For a shared lock a file that can only be read is enough.
    private static func open(_ store: String, shared: Bool) throws -> File {
        do throws(StorageError) { return try File(store + fileName, .write) } catch {
            if error.isNotFound, try Directory.status("\(store)/\(Manifest.name)") != nil {
                throw EvstoreError.ioFailure(
                    doing: "opening \(store)",
                    reason: "evstore.lock is missing, as in a copy that leaves out such names: make an empty file of this name there, of "
                        + "the store's user, while no program has the store open")
            }
            if !shared || !error.isReadOnly { throw error }
            return try File(store + fileName, .read)
        }
    }

    // The locked bytes lie beyond the file's end, where nothing is ever written.
    var byte: Int { 1 << 32 + number }
}

/// Finds out whether the holder of a lock is stopped, and for how long.
struct StoppedHolder {
    private let lock: StoreLock
    private let store: String
    private let patience: Duration
    private var since: (holder: LockHolder, time: Instant)?
    private var next = Instant.now + .seconds(1)
    private var pause = Duration.seconds(1)

    init(of lock: StoreLock, at store: String, for patience: Duration) {
        (self.lock, self.store, self.patience) = (lock, store, patience)
    }

    /// Looks at most once a second, and less and less often while no holder can be seen. Returns the holder, in words for messages, once it
    /// was found stopped at each look for as long as `patience`.
    mutating func look() throws -> String? {
        let now = Instant.now
        if now < next { return nil }
        let holder = try lock.holderProcess(at: store)
        // Each look reads the open files of all processes.
        pause = holder == nil ? min(pause * 2, .seconds(30)) : .seconds(1)
        next = now + pause
        guard let holder, holder.isStopped || holder.isFrozen else {
            since = nil
            return nil
        }
        guard let since, since.holder == holder else {
            self.since = (holder, now)
            return nil
        }
        guard since.time.duration(to: now) >= patience, let name = try lock.holder(at: store) else { return nil }
        if holder.isStopped { return "\(name), which was stopped: let it go on (kill -CONT \(holder.process)) or end it" }
        return "\(name), whose container or unit is frozen: let it go on (docker unpause, systemctl thaw) or end it"
    }
}

/// A lock of the store, held until `release()` or until the value is released.
package final class HeldLock: Sendable {
    private let lock: StoreLock
    private let file: File
    private let store: String

    init(_ lock: StoreLock, _ file: File, _ store: String) { (self.lock, self.file, self.store) = (lock, file, store) }

    /// Takes the lock, or changes a shared lock into an exclusive one, or back.
    func take(shared: Bool, what: String) throws {
        if try takeIfFree(shared: shared, what: what) { return }
        throw EvstoreError.locked(path: store, holder: try HolderHint(file, slot: lock.number).holder(ofLockOn: lock.byte))
    }

    /// Takes or changes the lock; false where another process holds it, and the lock stays as it is.
    func takeIfFree(shared: Bool, what: String) throws -> Bool {
        guard try file.lock(byte: lock.byte, shared: shared) else { return false }
        if shared { return true }
        // The hint is only for messages: a full disk must not keep a process from the lock.
        do { try HolderHint(file, slot: lock.number).write(what) } catch  where Ballast.isFullDisk(error) {}
        return true
    }

    /// Tells other processes how far the work is that the lock was taken for. Errors are ignored, since they must not end the work.
    package func tell(_ event: ProgressEvent, of what: String) {
        do { try HolderHint(file, slot: lock.number).write(what, event) } catch {}
    }

    package func release() throws { try file.unlock(byte: lock.byte) }
}

package struct HeldWork: Hashable, Sendable {
    /// The process and its work, such as `process 42 (replay to v5)`.
    package var holder: String
    /// Nil until the holder has noted any.
    package var progress: ProgressEvent?
}

/// A line in `evstore.lock` that says which process holds a lock and why: for messages, never a proof.
struct HolderHint: Sendable {
    private static let bytes = 128
    private let file: File
    private let offset: Int

    init(_ file: File, slot: Int) { (self.file, offset) = (file, slot * Self.bytes) }

    /// A zero ends the line; the progress follows it, such as `120 400 build`.
    func write(_ what: String, _ progress: ProgressEvent? = nil) throws {
        let far = progress.map { Array("\($0.done) \($0.total) \($0.step)".utf8.prefix(Self.bytes / 2 - 1)) } ?? []
        let line = Array("\(ProcessIdentity.id) \(what)".utf8.prefix(Self.bytes - far.count - 2)) + [0] + far
        try file.write(line + [UInt8](repeating: 0, count: Self.bytes - line.count), at: offset)
    }

    func work(holder: String) throws -> HeldWork {
        let parts = try file.read(Self.bytes, at: offset).split(separator: 0, omittingEmptySubsequences: false)
        let words = parts.dropFirst().first.map { String(decoding: $0, as: UTF8.self).split(separator: " ", maxSplits: 2) } ?? []
        guard words.count == 3, let done = UInt64(words[0]), let total = UInt64(words[1]) else { return HeldWork(holder: holder) }
        return HeldWork(holder: holder, progress: ProgressEvent(step: String(words[2]), done: done, total: total))
    }

    /// The process that has the lock on a byte, and what for, as far as is known.
    func holder(ofLockOn byte: Int) throws -> String {
        let hinted = try read()
        let holder = try file.lockHolder(byte: byte, expecting: hinted?.process)
        // The holder of a shared lock leaves no hint.
        if let holder, holder.isShared { return "process \(holder.process) (has it open)" }
        if let hinted, holder == nil || holder?.process == hinted.process { return "process \(hinted.process) (\(hinted.what))" }
        // The holder had not written its hint yet when it was stopped.
        return holder.map { "process \($0.process)" } ?? File.unknownHolder
    }

    func process(withLockOn byte: Int) throws -> LockHolder? { try file.lockHolder(byte: byte, expecting: try read()?.process) }

    private func read() throws -> (process: Int32, what: Substring)? {
        let line = String(decoding: try file.read(Self.bytes, at: offset).prefix { $0 != 0 }, as: UTF8.self)
        guard let space = line.firstIndex(of: " "), let process = Int32(line[..<space]) else { return nil }
        return (process, line[line.index(after: space)...])
    }
}

/// Acquires the presence lock of a store. First recovers a log that a crash has left, and checks the pages of a file that may be damaged,
/// since LMDB would follow damaged ones.
enum StoreOpening {
    /// How long to wait for another process that recovers the store: checking the pages of a large log takes some seconds.
    private static let waitSeconds = 600
    /// How long that process may be stopped (`SIGSTOP`, a debugger) before the wait for it ends.
    private static let stoppedSeconds = 5

    /// Acquires the presence lock; recovers the log and checks its pages first where that is needed.
    /// - Throws: `EvstoreError`: locked, storeDamaged, ioFailure.
    static func enter(_ store: String, _ storeID: StoreID, _ options: Options) throws -> HeldLock {
        while true {
            if let presence = try recoverIfNeeded(store, storeID, options) { return presence }
            let presence = try shareInTurn(store, storeID)
            // Other processes may have opened the store and crashed since it was checked, and a recovery may have failed half way.
            if try !AheadRecovery.isDue(at: store, storeID) { return presence }
            try presence.release()
        }
    }

    private static func isDoubtful(_ store: String, _ storeID: StoreID) throws -> Bool {
        try AheadRecovery.isDue(at: store, storeID) || LogFile.isDoubtful(at: store)
    }

    /// Recovers the log under the opening lock; nil where no recovery is needed.
    private static func recoverIfNeeded(_ store: String, _ storeID: StoreID, _ options: Options) throws -> HeldLock? {
        while try isDoubtful(store, storeID) {
            // Order: processes that see that a recovery is due take the opening lock one after the other, and the presence lock before the
            // next one looks. So a process that gets the presence lock exclusively knows that no other one has the store open, and one that
            // does not get it knows that the log is whole.
            guard let opening = try wait(for: store, storeID) else {
                if try LogFile.isDoubtful(at: store) { try LogFile.check(at: store, isShared: true) }
                return try shareSoon(store)
            }
            defer { withExtendedLifetime(opening) {} }
            guard try isDoubtful(store, storeID) else { continue }
            guard let presence = try StoreLock.presence.acquireIfFree(at: store, what: "looks at the log after a crash") else {
                return try shareSoon(store)
            }
            guard try AheadRecovery.isDue(at: store, storeID) else {
                try LogFile.check(at: store)
                // Order: the presence lock is shared before others see that no recovery is due any more.
                try presence.take(shared: true, what: "")
                try LogFile.markChecked(at: store)
                return presence
            }
            // Order: everything is durable before other processes open the store, since their appends build on it.
            try AheadRecovery.run(at: store, storeID, options)
            try presence.take(shared: true, what: "")
            return presence
        }
        return nil
    }

    /// Upgrades a store of an older format to this program's. Older programs must not have it open.
    /// - Throws: `EvstoreError.locked` where another process has it open.
    static func upgradeFormat(_ store: String, _ storeID: StoreID, _ options: Options) throws {
        if try Manifest.isFormatCurrent(at: store) { return }
        // Order: under the opening lock. If several programs start at once, one upgrades the store and the others find it upgraded.
        guard let opening = try wait(for: store, storeID) else { throw EvstoreError.readOnly(path: store) }
        defer { withExtendedLifetime(opening) {} }
        if try Manifest.isFormatCurrent(at: store) { return }
        // Waits for a process that has closed the store, or only reads its numbers.
        let presence = try takeSoon(store, shared: false, what: "brings it to the format of this program")
        defer { withExtendedLifetime(presence) {} }
        // Order: recovered first, so that no header of an older program is left.
        try AheadRecovery.run(at: store, storeID, options)
        try Manifest.upgradeFormat(at: store)
    }

    /// Acquires the presence lock, and tries again for a second.
    private static func takeSoon(_ store: String, shared: Bool, what: String) throws -> HeldLock {
        for _ in 0 ..< 50 {
            if let presence = try StoreLock.presence.acquireIfFree(at: store, shared: shared, what: what) { return presence }
            try checkCancellation(store)
            _ = Monitor(false).wait(milliseconds: 20) { $0 }
        }
        return try StoreLock.presence.acquire(at: store, shared: shared, what: what)
    }

    /// Acquires the presence lock where no recovery is needed; waits while another process recovers the store, or removes an empty one.
    private static func shareInTurn(_ store: String, _ storeID: StoreID) throws -> HeldLock {
        do { return try StoreLock.presence.acquire(at: store, shared: true, what: openWork) } catch let error as EvstoreError {
            guard case .locked = error else { throw error }
            let opening = try wait(for: store, storeID)
            defer { withExtendedLifetime(opening) {} }
            return try shareSoon(store)
        }
    }

    /// Acquires the presence lock, and tries again for a second: a process that has the store alone may be about to leave it, and a process
    /// that can't write the store can't take the opening lock.
    private static func shareSoon(_ store: String) throws -> HeldLock { try takeSoon(store, shared: true, what: openWork) }

    private static let openWork = "has it open"

    private static func checkCancellation(_ store: String) throws {
        if Task.isCancelled { throw EvstoreError.interrupted(again: "open \(store) again") }
    }

    /// Waits for the opening lock; nil where the store can't be written and no recovery is needed.
    private static func wait(for store: String, _ storeID: StoreID) throws -> HeldLock? {
        let end = Instant.now + .seconds(waitSeconds)
        var watch = StoppedHolder(of: .opening, at: store, for: .seconds(stoppedSeconds))
        while true {
            do {
                if let held = try StoreLock.opening.acquireIfFree(at: store, what: "opens it after a crash") { return held }
            } catch let error as StorageError where error.isReadOnly {
                if try !AheadRecovery.isDue(at: store, storeID) || AheadRecovery.isOfThisBoot(at: store, storeID) { return nil }
                throw EvstoreError.ioFailure(
                    doing: "opening \(store)",
                    reason: "the machine stopped while events were appended, and what it left must be put right: open the store once "
                        + "where it can be written")
            }
            try checkCancellation(store)
            if let holder = try watch.look() { throw EvstoreError.locked(path: store, holder: holder) }
            if Instant.now > end { return try StoreLock.opening.acquire(at: store, what: "opens it after a crash") }
            _ = Monitor(false).wait(milliseconds: 5) { $0 }
        }
    }
}
