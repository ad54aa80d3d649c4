import Bytes
import EventModel
import EvstoreTesting
import Platform
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LMDB

@Suite("Entries ahead of LMDB, taken from memory and from the file")
struct AheadCopiesTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// The keys and values that a transaction is given, and their note; nil where it was begun too early for them.
    private func rows(_ ahead: AheadBlocks, _ end: AheadEnd, _ transaction: borrowing ReadTransaction) throws -> [[UInt8]]? {
        switch try ahead.rows(upTo: end, transaction) {
        case .none: return []
        case .begunTooEarly: return nil
        case .rows(let view):
            var found = [view.note]
            view.forEach { found += [bytes($0), [UInt8](copying: $1)] }
            return found
        }
    }

    /// Adds the entry behind those that are known, as its writer does; nothing where there is none, or where a pass begins.
    private func take(_ ahead: AheadBlocks, behind last: Checkpoint) throws {
        guard let walk = ahead.walk(behind: last) else { return }
        let file = try File(directory.store + WriteAhead.fileName, .read)
        guard let bytes = try AheadBlocks.entry(in: file, at: walk.offset), let entry = WriteAhead.Entry(whole: bytes.lent),
            case .new = walk.step(entry, after: last.position)
        else { return }
        let head = WriteAhead.Entry.Head(
            epoch: entry.epoch, positions: entry.first ... entry.last, storeTag: entry.storeTag, pass: entry.pass, note: [])
        ahead.add(bytes.lent.slice(WriteAhead.Entry.headerBytes, entry.blocksBytes), head, at: walk.offset)
    }

    /// Where a process goes on to read or write behind a position; nil where it doesn't know.
    private func place(_ ahead: AheadBlocks, behind last: Checkpoint) -> [UInt64]? {
        ahead.walk(behind: last).map { [UInt64($0.offset), $0.pass ?? 0] }
    }

    /// An append of random size; at times a commit of LMDB or a cut.
    private func change(_ log: EventLog, _ step: Int, _ random: inout SeededGenerator) async throws {
        switch Int.random(in: 0 ..< 30, using: &random) {
        case 0: try await log.update { try $0.put(Catalogue.notes, [UInt8(truncatingIfNeeded: step)], [1]) }
        case 1:
            let last = try log.read { $0.last.position.rawValue }
            let kept = Position(last - .random(in: 0 ... min(3, last), using: &random))
            try await log.update { try $0.cut(to: kept) }
        default:
            let size = [3, 300, 5_000, 60_000][[0, 0, 0, 1, 1, 1, 2, 2, 2, 3].randomElement(using: &random) ?? 0]
            let events = try (0 ..< Int.random(in: 1 ... 3, using: &random)).map {
                try event("s-\(step % 7)", "\(step).\($0)" + String(repeating: "x", count: size))
            }
            _ = try await log.append(AppendRequest(events: events))
        }
    }

    @Test("are the same rows, whichever of them a process wrote itself, through commits of LMDB and cuts", arguments: [1, 2, 3])
    func model(seed: UInt64) async throws {
        var random = SeededGenerator(seed: seed, "rows", 0)
        let log = try makeLog(directory, .small { ($0.appendInPlaceLimit, $0.sweepForcedEvents) = (.seconds(600), 100_000) })
        let mine = try #require(log.access.ahead)
        let other = AheadBlocks(mine.words, at: directory.store, log.storeID, log.access.tables)
        // Has written some of the entries itself.
        let mixed = AheadBlocks(mine.words, at: directory.store, log.storeID, log.access.tables)
        try await log.add(event("s"))
        var (last, shown) = (try log.read { $0.last }, 0)
        for step in 0 ..< rounds(80) {
            try await change(log, step, &random)
            if Bool.random(using: &random) { try take(mixed, behind: last) }
            var found: [[[UInt8]]?] = [nil]
            // A checkpoint may come in between: then a transaction is begun again, as a reader does.
            for _ in 0 ..< 100 where found.contains(nil) {
                let end = try mine.end()
                var transaction = try log.access.environment.beginRead()
                // As it is before the rows are looked up.
                transaction.ahead = nil
                found = [try rows(mine, end, transaction), try rows(other, end, transaction), try rows(mixed, end, transaction)]
            }
            let areSame = !found.contains(nil) && found[0] == found[1] && found[0] == found[2]
            #expect(areSame, "seed \(seed), step \(step)")
            if !areSame { return }
            last = try log.read { $0.last }
            guard found[0] != [], let place = place(mine, behind: last) else { continue }
            #expect(self.place(other, behind: last) == place && self.place(mixed, behind: last) == place, "seed \(seed), step \(step)")
            shown += 1
        }
        // On a slow machine few appends follow each other quickly enough.
        #expect(shown > 0, "seed \(seed): no entry was ahead")
        try await log.close()
    }
}
