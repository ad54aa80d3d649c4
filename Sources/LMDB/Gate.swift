internal import Platform

/// Counts the transactions of this process, so that what LMDB only allows without any (moving the
/// map, closing) waits for its moment.
///
/// A thread that is inside may enter again even while someone waits for exclusiveness: otherwise
/// the two would wait for each other.
final class Gate: Sendable {
    private struct State {
        var inside: [UInt: Int] = [:]
        var excluding = false
        var writers: Set<UInt> = []
        var isClosed = false
    }

    private let state = Monitor(State())

    func enter() throws(StorageError) {
        let thread = WorkerThread.currentID
        try state.wait(until: { !$0.excluding || $0.inside[thread] != nil }) { (state) throws(StorageError) in
            if state.isClosed { throw StorageError(misuse: "the environment has been closed") }
            state.inside[thread, default: 0] += 1
        }
    }

    /// The same without waiting: false where a thread has the environment exclusively, or waits for that.
    func enterIfOpen() -> Bool {
        let thread = WorkerThread.currentID
        return state.withLock { state in
            if state.isClosed || state.excluding { return false }
            state.inside[thread, default: 0] += 1
            return true
        }
    }

    func leave() {
        let thread = WorkerThread.currentID
        state.change { state in
            let count = state.inside[thread, default: 1] - 1
            state.inside[thread] = count == 0 ? nil : count
        }
    }

    /// Runs `body` while no transaction of this process is open, its own thread's included.
    func exclusively(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        let thread = WorkerThread.currentID
        let isAllowed = state.wait(until: { !$0.excluding || $0.inside[thread] != nil }) { state in
            if state.inside[thread] != nil { return false }
            state.excluding = true
            return true
        }
        guard isAllowed else { throw StorageError(misuse: "the map can't move while this thread holds another transaction on it") }
        state.wait(until: { $0.inside.isEmpty }, { _ in })
        defer { state.change { $0.excluding = false } }
        try body()
    }

    /// One write transaction for one thread: a second one on it would wait for itself.
    func startWriting() throws(StorageError) {
        let thread = WorkerThread.currentID
        let isNew = state.withLock { $0.writers.insert(thread).inserted }
        if !isNew, Guard.reentry.isOn { throw StorageError(misuse: "a write transaction was started inside another one") }
    }

    func stopWriting() {
        let thread = WorkerThread.currentID
        state.withLock { _ = $0.writers.remove(thread) }
    }

    /// Waits until everyone is out and lets nobody in again.
    /// - Throws: where this thread is inside itself, and so would wait for itself.
    func close() throws(StorageError) {
        let thread = WorkerThread.currentID
        let isAllowed = state.wait(until: { !$0.excluding && $0.inside.isEmpty || $0.inside[thread] != nil }) { state in
            if state.inside[thread] != nil { return false }
            state.isClosed = true
            return true
        }
        if !isAllowed { throw StorageError(misuse: "the environment can't be closed while this thread holds a transaction on it") }
    }
}
