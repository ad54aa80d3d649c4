import EventLog
import EventModel
import EvstoreTesting
import LMDB
import Platform
import TestStores
import TestSupport
import Testing

@Suite("Committing in place")
struct InPlaceTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func log(inPlaceMilliseconds: Double) throws -> EventLog {
        try makeLog(directory, .small { $0.appendInPlaceLimit = .milliseconds(inPlaceMilliseconds) })
    }

    /// How many times a task that makes so many appends, one after the other, was given a thread.
    private static func turns(_ log: EventLog, appends: Int) async throws -> Int {
        let executor = CountingExecutor()
        try await withTaskExecutorPreference(executor) {
            for number in 0 ..< appends { _ = try await log.add(event("s", "\(number)")) }
        }
        return executor.count
    }

    /// A task that commits in place lends its thread so often.
    private static let lendingInterval = Duration.milliseconds(5)

    @Test("a caller who is alone commits on its own thread; with 0 milliseconds, the writing thread does it for every append")
    func alone() async throws {
        let quick = try log(inPlaceMilliseconds: 600_000)
        // The first one tells how quick the disk is.
        try await quick.add(event("s", "0"))
        let began = Instant.now
        let turns = try await Self.turns(quick, appends: 20)
        let inPlace = turns - Int(began.duration(to: .now) / Self.lendingInterval)
        try await quick.close()
        let never = try EventLog.open(at: quick.path, options: .small { $0.appendInPlaceLimit = .zero })
        let handedOver = try await Self.turns(never, appends: 20)
        #expect(handedOver >= inPlace + 10, "\(inPlace) turns in place, \(handedOver) by the writing thread")
        #expect(try never.payloads("s").count == 41)
        try await never.close()
    }

    @Test("a caller who is alone does not wait on its thread for another writer: its deadline holds, and it can go on afterwards")
    func otherWriter() async throws {
        let log = try log(inPlaceMilliseconds: 600_000)
        for number in 0 ..< 3 { try await log.add(event("s", "\(number)")) }
        var turn = try log.access.environment.takeTurnIfFree()
        #expect(turn != nil)
        await #expect {
            _ = try await log.append(AppendRequest(events: [try event("s", "late")], deadline: .now + .milliseconds(50)))
        } throws: { error in
            guard case EvstoreError.deadlinePassed = error else { return false }
            return true
        }
        turn = nil
        try await log.add(event("s", "3"))
        #expect(try log.payloads("s") == ["0", "1", "2", "3"])
        try await log.close()
    }

    @Test("appends in place and appends from the queue, of many tasks that come and go, make one order without gaps")
    func mixed() async throws {
        let log = try log(inPlaceMilliseconds: 600_000)
        try await log.add(event("all", "0"))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for task in 0 ..< 6 {
                group.addTask {
                    for number in 0 ..< 40 {
                        try await log.add(event("task-\(task)", "\(number)"), event("all", "1"))
                        if number % 8 == task { try await Task.sleep(for: .milliseconds(3)) }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(try log.read { $0.last.position } == Position(481))
        for task in 0 ..< 6 { #expect(try log.payloads("task-\(task)") == (0 ..< 40).map { "\($0)" }) }
        try await log.close()
    }

    @Test("what an append in place is refused for changes nothing, and the next one is made")
    func refused() async throws {
        let log = try log(inPlaceMilliseconds: 600_000)
        try await log.add(event("s", "0"))
        let stream = try StreamName("s")
        for number in 1 ..< 4 {
            await #expect(throws: EvstoreError.expectationFailed(stream: stream, expected: .noStream, actual: Revision(UInt64(number - 1))))
            {
                try await log.add(event("s", "x"), conditions: [StreamCondition(stream, .noStream)])
            }
            try await log.add(event("s", "\(number)"))
        }
        #expect(try log.payloads("s") == ["0", "1", "2", "3"])
        try await log.close()
    }
}

/// Runs jobs on threads of the store's own, and counts them.
private final class CountingExecutor: TaskExecutor {
    private let jobs = Monitor(0)

    var count: Int { jobs.withLock { $0 } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0 += 1 }
        do throws(StorageError) {
            _ = try WorkerThread.start("counted") { unsafe job.runSynchronously(on: self.asUnownedTaskExecutor()) }
        } catch { fatalError("\(error)") }
    }
}
