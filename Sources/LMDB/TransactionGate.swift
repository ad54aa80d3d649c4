internal import Platform

/// Counts the transactions of this process, so that operations that LMDB allows only without any (moving the map, closing) wait until there
/// are none.
///
/// A thread that is inside may enter again even while another one waits for exclusive access: otherwise the two would wait for each other.
final class TransactionGate: Sendable {
    private struct State {
        /// The threads that are inside, and how often each entered: few at a time, so that a search is quicker than a hash.
        var inside: [(thread: UInt, count: Int)] = []
        var excluding = false
        var writers: [UInt] = []
        var isClosed = false

        func isInside(_ thread: UInt) -> Bool { inside.contains { $0.thread == thread } }

        mutating func enter(_ thread: UInt) {
            if let index = inside.firstIndex(where: { $0.thread == thread }) {
                inside[index].count += 1
            } else {
                inside.append((thread, 1))
            }
        }

        mutating func leave(_ thread: UInt) {
            guard let index = inside.firstIndex(where: { $0.thread == thread }) else { return }
            inside[index].count -= 1
            if inside[index].count == 0 { inside.remove(at: index) }
        }
    }

    private let state = Monitor(State())

    func enter() throws(StorageError) {
        let thread = WorkerThread.currentID
        try state.wait(until: { !$0.excluding || $0.isInside(thread) }) { (state) throws(StorageError) in
            if state.isClosed { throw StorageError(misuse: "the environment has been closed") }
            state.enter(thread)
        }
    }

    /// Enters without waiting: false where the environment is closed, or a thread has exclusive access or waits for it.
    func enterIfOpen() -> Bool {
        let thread = WorkerThread.currentID
        return state.withLock { state in
            if state.isClosed || state.excluding { return false }
            state.enter(thread)
            return true
        }
    }

    func leave() {
        let thread = WorkerThread.currentID
        state.change { $0.leave(thread) }
    }

    /// Runs `body` while no transaction of this process is open, including those of the calling thread.
    func exclusively(_ body: () throws(StorageError) -> Void) throws(StorageError) {
        let thread = WorkerThread.currentID
        let isAllowed = state.wait(until: { !$0.excluding || $0.isInside(thread) }) { state in
            if state.isInside(thread) { return false }
            state.excluding = true
            return true
        }
        guard isAllowed else { throw StorageError(misuse: "the map can't move while this thread holds another transaction on it") }
        state.wait(until: { $0.inside.isEmpty }, { _ in })
        defer { state.change { $0.excluding = false } }
        try body()
    }

    /// Allows one write transaction for each thread: a second one on it would wait for the first.
    func startWriting() throws(StorageError) {
        let thread = WorkerThread.currentID
        let isNew = state.withLock { state in
            if state.writers.contains(thread) { return false }
            state.writers.append(thread)
            return true
        }
        if !isNew, Guard.reentry.isOn { throw StorageError(misuse: "a write transaction was started inside another one") }
    }

    func stopWriting() {
        let thread = WorkerThread.currentID
        state.withLock { $0.writers.removeAll { $0 == thread } }
    }

    /// Waits until all transactions have ended and lets none begin again.
    /// - Throws: where the calling thread is inside, and so would wait for itself.
    func close() throws(StorageError) {
        let thread = WorkerThread.currentID
        let isAllowed = state.wait(until: { !$0.excluding && $0.inside.isEmpty || $0.isInside(thread) }) { state in
            if state.isInside(thread) { return false }
            state.isClosed = true
            return true
        }
        if !isAllowed { throw StorageError(misuse: "the environment can't be closed while this thread holds a transaction on it") }
    }
}
