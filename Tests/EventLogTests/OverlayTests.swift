import EventModel
import EvstoreTesting
import LMDB
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("What a writer keeps of the events that it has just added")
struct OverlayTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A random append: to new streams and old ones, with ids that are new, given before or none, of several types and births. Some have a
    /// condition that may not hold.
    private func request(_ random: inout SeededGenerator, _ step: Int) throws -> AppendRequest {
        let events = try (0 ..< Int.random(in: 1 ... 12, using: &random)).map { number in
            let stream = Bool.random(using: &random) ? "s-\(Int.random(in: 0 ..< 12, using: &random))" : "new-\(step)-\(number % 3)"
            let ids = [
                nil, nil, nil, "\(step)-\(number)", "00000000-0000-7000-8000-\(100_000_000_000 + step * 100 + number)",
                Int.random(in: 0 ..< 8, using: &random) == 0 ? "\(Int.random(in: 0 ... step, using: &random))-0" : nil,
            ]
            return try event(
                stream, type: "type-\(Int.random(in: 0 ... step / 20, using: &random))", born: .random(in: 1 ... 3, using: &random),
                id: ids.randomElement(using: &random) ?? nil)
        }
        let isCertain = Int.random(in: 0 ..< 4, using: &random) > 0
        let stream = try StreamName("s-\(Int.random(in: 0 ..< 12, using: &random))")
        let condition = StreamCondition(stream, Bool.random(using: &random) ? .exists : .noStream)
        return AppendRequest(events: events, conditions: isCertain ? [] : [condition])
    }

    /// Compares the entries in memory with those that are read from the blocks now. Returns whether the former came from the appends alone.
    private func compare(_ log: EventLog, _ comment: Comment) throws -> Bool {
        try log.access.environment.read { transaction in
            let moment = try #require(try LogSnapshot(transaction, log.access, log.overlays))
            let known = try moment.overlay.look(asOf: .start, transaction, log.access) { _ in }.through
            let isMerged = known == moment.last && moment.last > moment.overlay.base
            let (kept, _) = try moment.overlay.look(asOf: moment.last, transaction, log.access) { $0 }
            let new = Overlay(epoch: moment.epoch, base: moment.numbers.indexed)
            let (read, through) = try new.look(asOf: moment.last, transaction, log.access) { $0 }
            #expect(through == moment.last && kept.events == moment.last.events(after: moment.overlay.base), comment)
            func heads(_ entries: IndexEntries) -> [UInt64: StreamHead?] {
                Dictionary(uniqueKeysWithValues: entries.heads.ids.map { ($0, entries.heads[$0]) })
            }
            #expect(heads(kept) == heads(read) && kept.heads.count == read.heads.count, comment)
            #expect(kept.streams == read.streams, comment)
            #expect(kept.ids == read.ids, comment)
            #expect(kept.census == read.census && kept.events == read.events, comment)
            return isMerged
        }
    }

    @Test("is what reading the blocks gives, through refused appends, several at a time, sweeps and cuts", arguments: [1, 2, 3])
    func model(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed, "overlay", 0)
        let log = try makeLog(directory, .small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (200, 500, 64) })
        var merged = 0
        for step in 0 ..< rounds(100) {
            let requests = try (0 ..< (step % 3 == 0 ? 4 : 1)).map { try request(&random, step * 4 + $0) }
            await withTaskGroup(of: Void.self) { group in
                for request in requests {
                    group.addTask { do { _ = try await log.append(request) } catch { #expect(error is EvstoreError) } }
                }
            }
            if try compare(log, "seed \(seed), step \(step)") { merged += 1 }
            guard Int.random(in: 0 ..< 40, using: &random) == 0 else { continue }
            let last = try log.read { $0.last.position.rawValue }
            let kept = Position(.random(in: last - min(last, 30) ... last, using: &random))
            try await log.update { try $0.cut(to: kept) }
        }
        #expect(merged > rounds(25), "seed \(seed): \(merged) of \(rounds(100)) comparisons were with entries of appends")
        #expect(try log.verify(deep: true).isEmpty, "seed \(seed)")
        try await log.close()
    }
}
