internal import LMDB
internal import Synchronization

/// Runs `body` for 0 ..< count, each on a thread of its own, and returns when all have ended.
/// - Throws: what the first of them, in this order, threw.
package func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    if count == 1 { return try body(0) }
    let failures = FailureList()
    var threads: [WorkerThread] = []
    do {
        for index in 0 ..< count {
            threads.append(try WorkerThread.start("a worker of a replay") { failures.gather(index) { try body(index) } })
        }
    } catch {
        for thread in threads { thread.join() }
        throw error
    }
    for thread in threads { thread.join() }
    try failures.throwFirst()
}

private final class FailureList: Sendable {
    private let failures = Mutex<[Int: any Error]>([:])

    func gather(_ index: Int, _ body: () throws -> Void) {
        do { try body() } catch { failures.withLock { $0[index] = error } }
    }

    func throwFirst() throws {
        let first = failures.withLock { failures in failures.min { $0.key < $1.key }?.value }
        if let first { throw first }
    }
}
