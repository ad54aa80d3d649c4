import EventModel
import Foundation
import Platform
import TestStores
import Testing

@testable import EventLog

@Suite("Appends that wait for a commit")
struct CommitQueueTests {
    private func add(_ queue: CommitQueue) throws {
        let request = AppendRequest(events: [try event("a")], conditions: [])
        #expect(queue.add(.append(.init(number: queue.number(), request: request, finish: { _ in }))))
    }

    private func taken(_ queue: CommitQueue) -> Int {
        guard case .appends(let appends) = queue.take(.small()) else { return 0 }
        return appends.count
    }

    @Test("those who come back after their answer share a commit with those who wait; nobody waits long for who does not come")
    func gathering() throws {
        let queue = CommitQueue()
        // As after a commit of two that took a second, so that the next waits for as long as it ever does.
        queue.endCommit(isHolding: false, isSingle: false, answered: 2, took: .seconds(1))
        try add(queue)
        let other = try WorkerThread.start("other") { do { try self.add(queue) } catch { Issue.record(error) } }
        #expect(queue.nextDuty() == .commit)
        other.join()
        _ = taken(queue)
        queue.endCommit(isHolding: false, isSingle: false, answered: 2, took: .seconds(1))
        // Nobody else comes, now and later.
        for _ in 0 ..< 20 {
            try add(queue)
            #expect(queue.nextDuty() == .commit && taken(queue) == 1)
            queue.endCommit(isHolding: false, isSingle: false, answered: 2, took: .seconds(1))
        }
        queue.close(.now)
        #expect(queue.nextDuty() == .end)
    }

    @Test("an append behind a commit of one begins at once, and what waits when it is closed is still done")
    func alone() throws {
        let queue = CommitQueue()
        queue.endCommit(isHolding: false, isSingle: true, answered: 1, took: .seconds(1))
        try add(queue)
        #expect(queue.nextDuty() == .commit && taken(queue) == 1)
        queue.endCommit(isHolding: false, isSingle: true, answered: 3, took: .seconds(1))
        try add(queue)
        queue.close(.now + .seconds(60))
        #expect(queue.nextDuty() == .commit && taken(queue) == 1)
        queue.endCommit(isHolding: false, isSingle: true)
        #expect(queue.nextDuty() == .end)
    }
}
