import EventLog
import EventModel
import EvstoreTesting
import Synchronization
import TestStores
import Testing

/// What the writer's turn does with conditions that the room above judges.
@Suite("Appends with a judge")
struct JudgedAppendTests {
    /// Finds nothing, and notes what it was asked.
    private final class Judge: ConditionJudge {
        let through: Checkpoint
        let eventsInTurnMax: UInt64
        private let asked: Mutex<(pending: Int, seen: [Position])> = Mutex((0, []))

        init(through end: Checkpoint, most: UInt64 = .max) { (through, eventsInTurnMax) = (end, most) }

        var pending: Int { asked.withLock(\.pending) }
        var seen: [Position] { asked.withLock(\.seen) }

        func judge(in reader: borrowing LogReader) throws {
            var positions: [Position] = []
            try reader.blocks(from: through.position.next) { block in
                positions += block.indices.map { block.record($0).position }
                return true
            }
            let found = positions
            asked.withLock { $0.seen = found }
        }

        func judge(_ events: [StoredEvent], from first: Position) -> Bool {
            asked.withLock { $0.pending += 1 }
            return false
        }
    }

    private let directory: TemporaryDirectory
    private let log: EventLog

    init() throws {
        directory = try TemporaryDirectory()
        log = try makeLog(directory)
    }

    @Test("a commit ends before an append that can't be judged by it, which is made in the next one and sees all before it")
    func needsLog() async throws {
        let log = log
        try await log.add(event("a"))
        let end = try log.read { $0.last }
        var pending = 0
        for _ in 0 ..< 200 where pending == 0 {
            let judges = (0 ..< 8).map { _ in Judge(through: end) }
            let made = try await withThrowingTaskGroup(of: (judge: Judge, outcome: AppendOutcome)?.self) { group in
                for judge in judges {
                    group.addTask {
                        try await log.add(event("plain"))
                        return nil
                    }
                    group.addTask { (judge, try await log.append(AppendRequest(events: [event("judged")], judge: judge))) }
                }
                return try await group.reduce(into: []) { $0 += [$1].compactMap(\.self) }
            }
            for (judge, outcome) in made {
                guard case .appended(let receipt) = outcome else {
                    Issue.record("\(outcome)")
                    continue
                }
                #expect(judge.seen.map(\.rawValue) == Array((end.position.rawValue + 1) ..< receipt.positions.lowerBound))
                pending += judge.pending
            }
        }
        #expect(pending > 0, "some came behind others in a commit")
        try await log.close()
    }

    @Test("an append leaves the turn where more came than it may judge there, and nothing is made")
    func tooMuch() async throws {
        let start = try log.read { $0.last }
        for _ in 0 ..< 3 { try await log.add(event("a")) }
        let few = Judge(through: start, most: 2)
        #expect(try await log.append(AppendRequest(events: [event("b")], judge: few)) == .revalidate)
        #expect(try few.seen.isEmpty && log.read { $0.last.position } == 3)
        guard case .appended = try await log.append(AppendRequest(events: [event("b")], judge: Judge(through: start, most: 3))) else {
            Issue.record("the append was not made")
            return
        }
        try await log.close()
    }
}
