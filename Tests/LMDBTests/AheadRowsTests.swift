import Bytes
import EvstoreTesting
import Platform
import TestSupport
import Testing

@testable import LMDB

/// Shows the same rows behind those of a table to every transaction.
private final class Rows: AheadSource {
    private let view: AheadView?

    init(_ view: AheadView?) { self.view = view }

    func end() -> AheadEnd { AheadEnd(epoch: 1, last: 1) }

    func rows(upTo end: AheadEnd, _ transaction: borrowing ReadTransaction) throws(StorageError) -> AheadAnswer {
        view.map { .rows($0) } ?? .none
    }
}

private func integer(_ value: UInt64) -> [UInt8] { (0 ..< 8).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) } }

@Suite("Rows that follow those of a table")
struct AheadRowsTests {
    @Test("a cursor goes through the rows of the file and those behind them as through one table", arguments: 0 ..< 40 as Range<UInt64>)
    func walk(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed, "ahead", 0)
        let directory = try TemporaryDirectory()
        var configuration = Environment.Configuration(tables: ["a", "b"], mapBytes: 1 << 20, creating: true)
        configuration.integerKeyTables = ["a"]
        let environment = try Environment.open(directory: directory.path, configuration)
        defer { environment.close() }
        let (table, other) = (try environment.table("a"), try environment.table("b"))
        var keys: [UInt64] = []
        func grow(_ count: Int) -> [UInt64] {
            let new = (0 ..< count).map { _ in
                keys.append((keys.last ?? 0) + .random(in: 1 ... 3, using: &random))
                return keys[keys.count - 1]
            }
            return new
        }
        let inFile = grow(.random(in: 0 ... 5, using: &random))
        try environment.write { transaction in
            for key in inFile { try transaction.put(table, integer(key).lent, [UInt8(key)].lent) }
            try transaction.put(other, [1].lent, [1].lent)
        }
        let rows = AheadRows(bytesMax: 64, rowsMax: 16)
        // Those before the view are the file's.
        for key in inFile { rows.append(key, [UInt8(key)].lent) }
        let behind = grow(.random(in: 0 ... 5, using: &random))
        for key in behind { rows.append(key, [UInt8(key)].lent) }
        let view = AheadView(rows, inFile.count ..< rows.count, of: table, note: [7])
        let source = environment.joinAhead { Rows(behind.isEmpty ? nil : view) }
        #expect(environment.joinAhead { Rows(nil) } === source, "the first source stays")
        try environment.read { transaction in
            #expect(transaction.ahead?.note == (behind.isEmpty ? nil : [7]))
            var cursor = transaction.cursor(table)
            var place: Int?
            for _ in 0 ..< 60 {
                var wanted: Int?
                var isThere: Bool
                switch Int.random(in: 0 ... 4, using: &random) {
                case 0: (wanted, isThere) = (keys.isEmpty ? nil : 0, try cursor.first())
                case 1: (wanted, isThere) = (keys.isEmpty ? nil : keys.count - 1, try cursor.last())
                case 2:
                    let key = UInt64.random(in: 0 ... (keys.last ?? 0) + 2, using: &random)
                    wanted = keys.firstIndex { $0 >= key }
                    isThere = try Bool.random(using: &random) ? cursor.seek(key) : cursor.seek(integer(key).lent)
                case 3:
                    guard let at = place else { continue }
                    (wanted, isThere) = (at + 1 < keys.count ? at + 1 : nil, try cursor.next())
                default:
                    guard let at = place else { continue }
                    (wanted, isThere) = (at > 0 ? at - 1 : nil, try cursor.previous())
                }
                place = wanted
                #expect(isThere == (wanted != nil), "seed \(seed)")
                guard let wanted, isThere else { continue }
                #expect(
                    cursor.key.load(UInt64.self, at: 0) == keys[wanted] && cursor.value.byte(at: 0) == UInt8(keys[wanted]), "seed \(seed)")
            }
            var unlike = transaction.cursor(other)
            #expect(try unlike.last() && unlike.key.byteCount == 1, "another table has none")
        }
        try environment.write { transaction in
            var cursor = transaction.cursor(table)
            let isThere = try cursor.last()
            #expect(isThere == !inFile.isEmpty, "a write transaction sees the file alone")
        }
    }

    @Test("rows are added as long as they fit in, and what was shown of them stays while more come")
    func room() {
        let rows = AheadRows(bytesMax: 10, rowsMax: 3)
        #expect(rows.hasRoom(3, 10) && !rows.hasRoom(4, 10) && !rows.hasRoom(1, 11))
        rows.append(5, [1, 2, 3, 4].lent)
        let view = AheadView(rows, 0 ..< 1, of: Table(name: "a", handle: 2), note: [])
        rows.append(9, [5, 6, 7, 8, 9, 10].lent)
        #expect(!rows.hasRoom(1, 1) && rows.hasRoom(1, 0) && rows.index(of: 6, 2) == 1 && rows.index(of: 10, 2) == 2)
        var seen: [[UInt8]] = []
        view.forEach { seen.append([UInt8(truncatingIfNeeded: $0)] + [UInt8](copying: $1)) }
        #expect(seen == [[5, 1, 2, 3, 4]])
    }
}
