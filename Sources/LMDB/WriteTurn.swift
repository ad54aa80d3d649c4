internal import Glibc
package import Platform

/// One writer's turn on an environment, held until the value is released.
///
/// LMDB's own lock of writers has no deadline, and a wait for it can't be ended. So writers queue before it, and find it
/// free: within this process by a flag, among processes by a lock of the process (`fcntl(2)`) on a byte far beyond the end of
/// `lock.mdb`. The kernel frees that lock however its holder ends, and names the holder. It only orders writers: LMDB's own lock is what
/// keeps two from writing at once.
package final class WriteTurn: Sendable {
    private let environment: Environment

    fileprivate init(_ environment: Environment) { self.environment = environment }

    deinit { environment.endTurn() }
}

extension Environment {
    /// How long a write waits whose caller has no deadline of its own.
    private static let patienceSeconds = 30.0

    /// The turn; nil where another writer has it.
    package func takeTurnIfFree() throws(StorageError) -> WriteTurn? {
        try checkProcess()
        let isTaken = try isTurnTaken.withLock { (isTaken) throws(StorageError) in
            if isTaken { return false }
            isTaken = try lockFile.withLock { $0 }?.lockForWriting() ?? true
            return isTaken
        }
        return isTaken ? WriteTurn(self) : nil
    }

    fileprivate func endTurn() {
        // The flag's lock may be held by a thread that the child of a fork does not have.
        guard isOfThisProcess else { return }
        isTurnTaken.withLock { isTaken in
            // A file that can't be unlocked is one that is closed, whose locks are gone.
            do throws(StorageError) { try lockFile.withLock { $0 }?.unlockForWriting() } catch {}
            isTaken = false
        }
    }

    /// How messages name a holder that has gone meanwhile.
    package static let nobody = "no process any more"

    /// The process that has the turn, for messages; nil where none has.
    package var writer: String? {
        if isTurnTaken.withLock({ $0 }) { return "process \(ProcessIdentity.id) (writing)" }
        do throws(StorageError) {
            guard let process = try lockFile.withLock({ $0 })?.writer() else { return nil }
            return process > 0 ? "process \(process) (writing)" : "\(File.unseen) (writing)"
        } catch { return File.unseen }
    }

    /// Waits for the turn on this thread, which is one of the store's own; nil where `goesOn` returns false meanwhile.
    /// - Throws: `StorageError` with `waitedSeconds` where the time has passed.
    package func takeTurn(
        within seconds: Double? = patienceSeconds, while goesOn: () -> Bool = { true }
    ) throws(StorageError) -> WriteTurn? {
        let waiting = TurnWaiting(self, seconds)
        while goesOn() {
            if let turn = try takeTurnIfFree() { return turn }
            usleep(try waiting.pauseMicroseconds())
        }
        return nil
    }

    /// The same, suspended meanwhile.
    /// - Throws: also `CancellationError` where the task is cancelled.
    package func takeTurn(within seconds: Double, while goesOn: () -> Bool) async throws -> WriteTurn? {
        let waiting = TurnWaiting(self, seconds)
        while goesOn() {
            try Task.checkCancellation()
            if let turn = try takeTurnIfFree() { return turn }
            try await Task.sleep(for: .microseconds(max(1_000, Int(clamping: try waiting.pauseMicroseconds()))))
        }
        return nil
    }
}

/// How often a waiting writer asks for the turn, and until when.
private struct TurnWaiting {
    private let environment: Environment
    private let seconds: Double?
    private let began = ContinuousClock.now

    init(_ environment: Environment, _ seconds: Double?) { (self.environment, self.seconds) = (environment, seconds) }

    /// Short at first: most turns are as long as a sync of the disk.
    func pauseMicroseconds() throws(StorageError) -> UInt32 {
        let waited = began.duration(to: .now) / .seconds(1)
        if let seconds, waited >= seconds { throw StorageError(waited: waited, for: environment.writer ?? Environment.nobody) }
        return waited < 0.005 ? 50 : waited < 0.5 ? 500 : 5_000
    }
}

extension LockFile {
    /// Far beyond the bytes that LMDB locks.
    private static let writingByte = 1 << 40

    fileprivate func lockForWriting() throws(StorageError) -> Bool { try file.lockForProcess(byte: Self.writingByte) }

    fileprivate func unlockForWriting() throws(StorageError) { try file.unlockForProcess(byte: Self.writingByte) }

    /// The process that writes; 0 for one that this one can't see, nil where there is none.
    fileprivate func writer() throws(StorageError) -> Int32? { try file.processWithLock(byte: Self.writingByte) }
}
