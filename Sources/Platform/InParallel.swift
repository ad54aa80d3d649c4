internal import Glibc

/// The processors of this machine.
package enum Processors {
    /// How many processors are online.
    package static var count: Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
    /// More threads than this only take memory, and time to start.
    package static let threadsMax = 256

    /// How many threads work: as many as were asked for, within `threadsMax`; one for each processor where nil.
    package static func threads(_ asked: Int?) -> Int { min(max(1, asked ?? count), threadsMax) }
}

/// Runs `body` for 0 ..< count, each on a thread of its own, and returns when all have ended.
/// - Throws: the error of the lowest index whose `body` threw.
package func inParallel(_ count: Int, _ body: @escaping @Sendable (Int) throws -> Void) throws {
    if count == 1 { return try body(0) }
    let failures = FailureList()
    var threads: [WorkerThread] = []
    for index in 0 ..< count {
        let work: @Sendable () -> Void = { failures.gather(index) { try body(index) } }
        // Without a new thread, this one does the work.
        do { threads.append(try WorkerThread.start("evstore-part", work)) } catch { work() }
    }
    for thread in threads { thread.join() }
    try failures.throwFirst()
}

/// Runs `side` on a thread of its own while `body` runs here; both have ended when it returns. Where no thread can be started, `side` is
/// left out.
package func alongside<R, E: Error>(_ side: @escaping @Sendable () -> Void, _ body: () throws(E) -> R) throws(E) -> R {
    let thread: WorkerThread?
    do { thread = try WorkerThread.start("evstore-beside", side) } catch { thread = nil }
    defer { thread?.join() }
    return try body()
}

private final class FailureList: Sendable {
    private let failures = Monitor<[Int: any Error]>([:])

    func gather(_ index: Int, _ body: () throws -> Void) {
        do { try body() } catch { failures.withLock { $0[index] = error } }
    }

    func throwFirst() throws {
        let first = failures.withLock { failures in failures.min { $0.key < $1.key }?.value }
        if let first { throw first }
    }
}
