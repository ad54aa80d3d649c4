internal import Bytes
internal import Glibc
package import Platform
internal import Synchronization

/// One writer's turn on an environment, held until the value is released.
///
/// LMDB's own lock of writers has no deadline, and a wait for it can't be ended. So writers queue before they take it, and find it free:
/// within this process by a flag, among processes by a lock of the process (`fcntl(2)`) on a byte far beyond the end of `lock.mdb`. The
/// kernel frees that lock in whatever way its holder ends, and names the holder. This lock only orders writers: LMDB's own lock keeps two
/// from writing at once.
///
/// A writer that takes one turn right after the other keeps the lock in between, as a lease. The lease ends after five milliseconds, after
/// half of one if another writer asks for the turn (`TurnPage`), or when turns pause (`endLease`). Half a millisecond is a few turns on a
/// quick disk, and one on a slow one: to wake the other writer takes as long as a short turn.
package final class WriteTurn: Sendable {
    private let environment: Environment
    /// The number of this turn among those of this process.
    package let number: UInt64
    /// Whether this process has kept the lock since its last turn, so that no other process has written since.
    package let isContinued: Bool
    private let hasCheckedFiles: Atomic<Bool>

    fileprivate init(_ environment: Environment, _ number: UInt64, isContinued: Bool) {
        (self.environment, self.number, self.isContinued) = (environment, number, isContinued)
        hasCheckedFiles = Atomic(!isContinued)
    }

    /// Whether the files must be checked before a transaction. Not before the first one of a leased turn, which begins where the last turn
    /// ended.
    var needsFileCheck: Bool { hasCheckedFiles.exchange(true, ordering: .relaxed) }

    deinit { environment.endTurn() }
}

struct Turns {
    fileprivate static let pause = Duration.milliseconds(1)
    private static let leaseMax = Duration.milliseconds(5)
    private static let wantedLeaseMax = Duration.microseconds(500)

    /// Whether a thread has the turn, and whether the turn's end may leave a lease.
    fileprivate(set) var isTaken = false
    fileprivate var mayLease = false
    /// False while no thread would end a lease.
    fileprivate var isLeasing = true
    fileprivate var number: UInt64 = 0
    fileprivate var ended: Instant?
    /// The lock that is kept from turn to turn: since when, and the number under which this process took it.
    fileprivate var lease: (since: Instant, taking: UInt32)?
    /// When the lock was handed to a writer of another process that had asked for it, and how often it had been taken by then: that writer
    /// goes first.
    fileprivate var handedOver: (at: Instant, taking: UInt32)?
    /// How many threads of this process wait for a turn.
    fileprivate var waiting = 0

    /// Whether turns follow each other fast enough for a lease to pay.
    fileprivate func follows(_ now: Instant) -> Bool { ended.map { $0.duration(to: now) < Self.pause } ?? false }

    fileprivate func keeps(_ now: Instant, isWanted: Bool) -> Bool {
        mayLease && isLeasing && lease.map { $0.since.duration(to: now) < (isWanted ? Self.wantedLeaseMax : Self.leaseMax) } ?? false
    }
}

extension Environment {
    /// How long a write waits if its caller has no deadline.
    private static let patience = Duration.seconds(30)

    /// Checks that the files are those that were opened, at the first use of a turn that does not continue a lease.
    package func checkFiles(_ turn: WriteTurn) throws(StorageError) { if turn.needsFileCheck { try checkInPlace() } }

    /// The turn; nil where another writer has it or goes first.
    /// - Parameter leasing: whether the turn's end may leave a lease, in an environment that leases turns.
    package func takeTurnIfFree(leasing: Bool = false) throws(StorageError) -> WriteTurn? { try takeTurn(leasing, waiting: false) }

    private func takeTurn(_ leasing: Bool, waiting: Bool) throws(StorageError) -> WriteTurn? {
        try checkProcess()
        let taken = try turns.withLock { (turns) throws(StorageError) -> (UInt64, Bool)? in
            if turns.isTaken { return nil }
            let now = Instant.now
            if let handed = turns.handedOver {
                let isOver = turnPage?.lastTaken != handed.taking || handed.at.duration(to: now) >= Turns.pause
                if isOver || waiting { turns.handedOver = nil }
                if !isOver { return nil }
            }
            let isContinued = turns.lease.map { $0.taking == turnPage?.lastTaken } ?? false
            if !isContinued {
                guard try lockFile.withLock({ $0 })?.lockForWriting() ?? true else { return nil }
                turns.lease = turnPage.map { (now, $0.count()) }
            }
            // This writer has what it asked for; others that still wait ask again.
            if waiting { turnPage?.withdrawRequest() }
            turns.isTaken = true
            turns.mayLease = leasing && turns.follows(now)
            turns.number += 1
            return (turns.number, isContinued)
        }
        return taken.map { WriteTurn(self, $0.0, isContinued: $0.1) }
    }

    fileprivate func endTurn() {
        // In the child of a fork, the flag's lock may be held by a thread that exists only in the parent.
        guard isOfThisProcess else { return }
        turns.withLock { turns in
            let now = Instant.now
            (turns.isTaken, turns.ended) = (false, now)
            if !turns.keeps(now, isWanted: turnPage?.isWanted ?? false) { unlock(&turns, now) }
        }
    }

    private func unlock(_ turns: inout Turns, _ now: Instant) {
        turns.lease = nil
        let taken = turnPage?.lastTaken ?? 0
        // Unlocking fails only for a closed file, whose locks are gone already.
        do throws(StorageError) { try lockFile.withLock { $0 }?.unlockForWriting() } catch {}
        if turnPage?.handOver() == true, turns.waiting == 0 { turns.handedOver = (now, taken) }
    }

    /// Ends a lease that no turn has used for a millisecond, or at once. Returns whether a lease is left.
    package func endLease(atOnce: Bool) -> Bool {
        guard isOfThisProcess else { return false }
        return turns.withLock { turns in
            if turns.isTaken { return true }
            if turns.lease == nil { return false }
            let now = Instant.now
            if !atOnce, turnPage?.isWanted == false, turns.follows(now) { return true }
            unlock(&turns, now)
            return false
        }
    }

    /// Runs `body` while no turn leaves a lease: for the thread that ends leases, when other work may keep it for long.
    package func withoutLeases(_ body: () throws -> Void) rethrows {
        turns.withLock { $0.isLeasing = false }
        defer { turns.withLock { $0.isLeasing = true } }
        _ = endLease(atOnce: true)
        try body()
    }

    /// Whether the lock is kept between two turns: then `endLease` has to be called.
    package var isLeased: Bool { isOfThisProcess && turns.withLock { !$0.isTaken && $0.lease != nil } }

    /// How messages name a holder that has ended meanwhile.
    package static let nobody = "no process any more"

    /// The process that has the turn, for messages; nil where none has it.
    package var writer: String? {
        if turns.withLock({ $0.isTaken }) { return "process \(ProcessIdentity.id) (writing)" }
        do throws(StorageError) {
            guard let process = try lockFile.withLock({ $0 })?.writer() else { return nil }
            return process > 0 ? "process \(process) (writing)" : "\(File.unknownHolder) (writing)"
        } catch { return File.unknownHolder }
    }

    /// Waits for the turn on the calling thread; nil where `goesOn` returns false meanwhile, which is asked twice a millisecond.
    /// - Throws: `StorageError` with `waited` where the time has passed.
    package func takeTurn(
        within limit: Duration? = patience, leasing: Bool = false, while goesOn: () -> Bool = { true }
    ) throws(StorageError) -> WriteTurn? {
        if goesOn(), let turn = try takeTurnIfFree(leasing: leasing) { return turn }
        turns.withLock { $0.waiting += 1 }
        defer { if isOfThisProcess { turns.withLock { $0.waiting -= 1 } } }
        let waiting = TurnWaiting(self, limit)
        while goesOn() {
            // Order: checked first, since the child of a fork lacks the page.
            try checkProcess()
            let seen = turnPage?.handed ?? 0
            turnPage?.ask()
            if let turn = try takeTurn(leasing, waiting: true) { return turn }
            let pause = try waiting.pauseMicroseconds()
            if let turnPage { turnPage.sleep(after: seen, microseconds: Int(pause)) } else { usleep(pause) }
        }
        return nil
    }

    /// Waits for the turn, with the task suspended meanwhile.
    /// - Throws: also `CancellationError` where the task is cancelled.
    package func takeTurn(within limit: Duration, while goesOn: () -> Bool) async throws -> WriteTurn? {
        turns.withLock { $0.waiting += 1 }
        defer { if isOfThisProcess { turns.withLock { $0.waiting -= 1 } } }
        let waiting = TurnWaiting(self, limit)
        while goesOn() {
            try Task.checkCancellation()
            try checkProcess()
            turnPage?.ask()
            if let turn = try takeTurn(false, waiting: true) { return turn }
            try await Task.sleep(for: .microseconds(max(1_000, Int(clamping: try waiting.pauseMicroseconds()))))
        }
        return nil
    }
}

/// How often a waiting writer tries to take the turn, and until when.
private struct TurnWaiting {
    private let environment: Environment
    private let limit: Duration?
    private let began = Instant.now

    init(_ environment: Environment, _ limit: Duration?) { (self.environment, self.limit) = (environment, limit) }

    /// Short at first: most turns are as long as a sync of the disk.
    func pauseMicroseconds() throws(StorageError) -> UInt32 {
        let waited = began.duration(to: .now)
        if let limit, waited >= limit { throw StorageError(waited: waited, for: environment.writer ?? Environment.nobody) }
        // Where there is a page, the process that has the turn wakes the waiting writers.
        return waited < .milliseconds(5) && environment.turnPage == nil ? 50 : waited < .milliseconds(500) ? 500 : 5_000
    }
}

extension LockFile {
    /// Far beyond the bytes that LMDB locks.
    private static let writingByte = 1 << 40

    fileprivate func lockForWriting() throws(StorageError) -> Bool { try file.lockForProcess(byte: Self.writingByte) }

    fileprivate func unlockForWriting() throws(StorageError) { try file.unlockForProcess(byte: Self.writingByte) }

    /// The process that writes; 0 where it can't be seen from here, nil where none writes.
    fileprivate func writer() throws(StorageError) -> Int32? { try file.processWithLock(byte: Self.writingByte) }
}

/// `turn`, beside `lock.mdb`: a page that all writers of an environment map. It only makes turns quicker. The lock on `lock.mdb` alone says
/// who has the turn, and the kernel frees it in whatever way its holder ends. Everything is as safe without the page, or beside a program
/// that does not know it.
///
///     0     u32  1 where a writer waits for the turn that a process keeps leased
///     4     u32  how often a turn was handed over, on which waiting writers sleep (futex(2))
///     8     u32  how often a process has taken the lock
///     64         words of the environment's owner (`page`)
///     1024       what the environment's owner keeps there (`note`)
package final class TurnPage: Sendable {
    static let name = "turn"
    package static let noteOffset = 1_024
    private static let (wanted, handed, taken) = (0, 4, 8)
    package let page: SharedPage

    /// Nil where the page is missing and can't be made.
    init?(_ directory: String) throws(StorageError) {
        let path = directory + "/" + Self.name
        // On a full disk, touching a page without a block would raise a signal: the file gets its blocks first.
        let isThere = try Environment.makeOnce(Self.name, in: directory) { (file) throws(StorageError) in try Self.fill(file, from: 0) }
        guard isThere else { return nil }
        let file = try File(path, .write)
        let bytes = try file.status().bytes
        if bytes < SharedPage.bytes { try Self.fill(file, from: bytes) }
        page = try SharedPage(file)
    }

    /// The page, mapped for reading only; nil where it is missing.
    package static func lookOnly(_ directory: String) throws(StorageError) -> SharedPage? {
        let path = directory + "/" + name
        if try Directory.status(path) == nil { return nil }
        let file = try File(path, .read)
        let status = try file.status()
        if status.bytes < SharedPage.bytes { return nil }
        // On tmpfs even reading a hole through a map takes a block. A page of holes says nothing: nobody has it mapped.
        if status.bytesOnDisk < SharedPage.bytes, case .ephemeral("tmpfs", _) = try FileSystem.of(path) { return nil }
        return try SharedPage(file, isWritable: false)
    }

    private static func fill(_ file: File, from start: Int) throws(StorageError) {
        try file.reserve(SharedPage.bytes)
        try file.write([UInt8](repeating: 0, count: SharedPage.bytes - start), at: start)
    }

    var isWanted: Bool { page.word(Self.wanted) { $0.load(ordering: .acquiring) } != 0 }

    /// Asks the process that has leased the turn to hand it over.
    func ask() { page.word(Self.wanted) { $0.store(1, ordering: .sequentiallyConsistent) } }

    /// Withdraws the request, once this process has the turn.
    func withdrawRequest() { page.word(Self.wanted) { $0.store(0, ordering: .sequentiallyConsistent) } }

    /// The counter that `sleep` compares with: read before the turn is tried.
    var handed: UInt32 { page.word(Self.handed) { $0.load(ordering: .sequentiallyConsistent) } }

    /// Sleeps until the turn is handed over; may return early.
    func sleep(after seen: UInt32, microseconds: Int) { page.sleep(while: seen, at: Self.handed, microseconds: microseconds) }

    /// Wakes the waiting writers, once the lock is free; false where none waits.
    func handOver() -> Bool {
        guard isWanted, page.word(Self.wanted, { $0.exchange(0, ordering: .sequentiallyConsistent) }) != 0 else { return false }
        _ = page.word(Self.handed) { $0.wrappingAdd(1, ordering: .sequentiallyConsistent) }
        page.wake(at: Self.handed)
        return true
    }

    /// Counts that a process has taken the lock: if another process does so during a lease, the lease has ended.
    func count() -> UInt32 { page.word(Self.taken) { $0.wrappingAdd(1, ordering: .sequentiallyConsistent).newValue } }

    var lastTaken: UInt32 { page.word(Self.taken) { $0.load(ordering: .sequentiallyConsistent) } }

    /// Keeps bytes in the page until others are written; only the process that has the turn may do so. They outlive the process. After the
    /// machine has stopped, they may be those of any earlier moment, or parts of them.
    package func note(_ bytes: RawSpan) { page.put(bytes, at: Self.noteOffset) }

    /// Clears the noted bytes if they begin with `start`.
    package func forget(_ start: RawSpan) {
        if page.bytes(start.byteCount, at: Self.noteOffset).lent.equals(start) {
            page.put([UInt8](repeating: 0, count: SharedPage.bytes - Self.noteOffset).lent, at: Self.noteOffset)
        }
    }

    /// The first bytes that were noted in an environment's directory; fewer where there is no page.
    package static func noted(_ count: Int, in directory: String) throws(StorageError) -> [UInt8] {
        let path = directory + "/" + name
        guard try Directory.status(path) != nil else { return [] }
        return try File(path, .read).read(count, at: noteOffset)
    }
}
