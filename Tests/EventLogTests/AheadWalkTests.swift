import Bytes
import EventModel
import Testing

@testable import EventLog

@Suite("Which entry ahead of LMDB follows")
struct AheadWalkTests {
    /// The header of an entry; the checksum behind it is looked at elsewhere.
    private func entry(
        _ positions: ClosedRange<UInt64>, pass: UInt64 = 7, epoch: Epoch = .first, tag: UInt64 = 1
    ) throws -> WriteAhead.Entry {
        var header = Array("eve".utf8) + [2 as UInt8] + bytes(0 as UInt32) + bytes(tag)
        header += bytes(positions.lowerBound) + bytes(positions.upperBound)
        header += bytes(epoch.rawValue) + bytes(0 as UInt32) + bytes(pass)
        header += [UInt8](repeating: 0, count: WriteAhead.Entry.headerBytes - header.count)
        let entry = WriteAhead.Entry(header.lent)
        return try #require(entry)
    }

    /// The last position of a log, and how many entries were gone past, once a reader has gone through entries that lie one behind the other.
    private func end(of entries: [WriteAhead.Entry], after last: UInt64) -> (last: UInt64, count: Int) {
        var walk = WriteAhead.Walk(1, .first)
        var (last, count) = (Position(last), 0)
        for entry in entries {
            let step = walk.step(entry, after: last)
            if case .end = step { break }
            if case .new = step { last = entry.last }
            walk.go(past: entry, step)
            count += 1
        }
        return (last.rawValue, count)
    }

    @Test("those that LMDB has are passed by, and the next begins behind its last position")
    func known() throws {
        let entries = try [entry(1 ... 2), entry(3 ... 3), entry(4 ... 6)]
        #expect(end(of: entries, after: 3) == (6, 3))
        #expect(end(of: entries, after: 6) == (6, 3))
        // LMDB has a whole entry or nothing of it; another log's file is neither.
        #expect(end(of: entries, after: 5) == (5, 2))
        #expect(end(of: entries, after: 0) == (6, 3))
    }

    @Test("a gap, an earlier position, another pass, epoch or store is the end")
    func end() throws {
        let front = try [entry(1 ... 2), entry(3 ... 3)]
        for last in try [entry(5 ... 5), entry(2 ... 3), entry(4 ... 4, pass: 6), entry(4 ... 4, epoch: Epoch(2)), entry(4 ... 4, tag: 2)] {
            #expect(end(of: front + [last, try entry(4 ... 4)], after: 0) == (3, 2))
        }
    }
}
