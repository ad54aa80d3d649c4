import Bytes
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import TestStores
import TestSupport
import Testing

@testable import EventLog

/// A table of the tests' own: from a stream's id, and a byte, to the event that it began with.
private let births = TableDescriptor(
    "births", number: 200,
    .index(.positions { record in record.revision == .first ? sortable(record.streamID) + [7] : nil }), isInEveryStore: false)
private let log = TableDescriptor.log + [births]

@Suite("A table that is declared is taken in everywhere")
struct TableTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static func options(_ change: (inout Options) -> Void = { _ in }) -> Options {
        .small {
            ($0.sweepDueEvents, $0.sweepForcedEvents) = (4, 4)
            change(&$0)
        }
    }

    private func create(_ tables: [TableDescriptor], _ options: Options = options()) throws -> EventLog {
        try EventLog.create(at: directory.store, options: options, tables) { _ in }
    }

    private func open(_ tables: [TableDescriptor], _ options: Options = options(), readOnly: Bool = false) throws -> EventLog {
        try EventLog.open(at: directory.store, options: options, readOnly: readOnly, tables)
    }

    /// Streams s-1, s-2 … of two events each, the second ones at the end.
    private func fill(_ log: EventLog, _ range: ClosedRange<Int>) async throws {
        for _ in 0 ..< 2 { for number in range { try await log.add(event("s-\(number)", "\(number)", id: "\(UUID())")) } }
    }

    private func find(_ position: UInt64, in log: EventLog) throws -> PositionIndex.Answer {
        let index = try #require(log.access.tables.positionIndexes.first)
        return try log.read { try $0.moment.find(sortable(position) + [7], in: index, $0.transaction, log.access) }
    }

    /// How many keys its table has, beside the overlay.
    private func count(in log: EventLog) throws -> Int {
        let index = try #require(log.access.tables.positionIndexes.first)
        var count = 0
        try log.access.environment.read { transaction in
            try index.forEachPosition(transaction) { _, _ in
                count += 1
                return true
            }
        }
        return count
    }

    @Test("no two tables have one name or one number, and each catalogue has one")
    func unique() {
        #expect(Set(TableDescriptor.log.map(\.name)).count == TableDescriptor.log.count)
        let numbers = TableDescriptor.log.compactMap(\.number)
        #expect(Set(numbers).count == numbers.count)
        #expect(numbers.count == TableDescriptor.log.count - 1)
        for catalogue in Catalogue.allCases { #expect(TableDescriptor.log[named: catalogue.rawValue]?.kept != nil) }
    }

    @Test("the page on the format of files names each table, with its number")
    func documented() throws {
        let text = try DocPage("FileFormat").text
        for table in TableDescriptor.log {
            #expect(text.contains("`\(table.name)`"), "\(table.name)")
            let words = text.split { $0 == " " || $0 == "\n" || $0 == "," || $0 == "(" || $0 == ")" }
            guard let number = table.number else { continue }
            #expect(zip(words, words.dropFirst()).contains { $0 == table.name && $1 == "\(number)" }, "\(table.name)")
        }
    }

    @Test("an index is written by sweeps, found in whole, and read by who opens the store again")
    func written() async throws {
        let written = try create(log)
        try await fill(written, 1 ... 20)
        #expect(try count(in: written) > 0)
        for position in 1 ... 20 as ClosedRange<UInt64> { #expect(try find(position, in: written) == .at(Position(position))) }
        #expect(try find(21, in: written) == .nowhere)
        #expect(try written.verify(deep: true).map(\.message) == [])
        try await written.close()
        let again = try open(log, readOnly: true)
        #expect(try find(20, in: again) == .at(Position(20)))
        #expect(try find(21, in: again) == .nowhere)
        try await again.close()
    }

    @Test("a cut takes out of an index what it takes off the log")
    func cut() async throws {
        let written = try create(log)
        try await fill(written, 1 ... 20)
        try await written.update { try $0.cut(to: Position(5)) }
        #expect(try count(in: written) == 5)
        #expect(try find(5, in: written) == .at(Position(5)))
        #expect(try find(6, in: written) == .nowhere)
        try await fill(written, 30 ... 40)
        #expect(try find(6, in: written) == .at(Position(6)))
        #expect(try written.verify(deep: true).map(\.message) == [])
        try await written.close()
    }

    @Test("a cut takes the same out of the indexes, in however many parts")
    func parts() async throws {
        struct Undone: Error { var rows: [String: [[UInt8]]] }
        let written = try create(log)
        for number in 0 ..< 90 {
            try await written.add(event("s-\(number % 7)", id: "id-\(number)"), event("t-\(number / 9)", type: "seen"))
        }
        let indexes = log.filter { $0.index != nil }
        let found = try [1, 7, 1_000].map { (size: UInt64) -> [String: [[UInt8]]] in
            do {
                try written.change { transaction in
                    let end = try IndexTruncation.run(after: Position(61), &transaction, written.access, eventsAtOnce: size)
                    var rows = ["end": [bytes(end.rawValue)]]
                    for table in indexes {
                        try written.access.tables[table]?.forEach(transaction.reads) { key, value in
                            rows[table.name, default: []].append([UInt8](copying: key) + [UInt8](copying: value))
                            return true
                        }
                    }
                    throw Undone(rows: rows)
                }
            } catch let undone as Undone { return undone.rows }
            return [:]
        }
        #expect(found[0] == found[1] && found[1] == found[2] && found[0].count == indexes.count + 1)
        #expect(try written.verify(deep: true).map(\.message) == [])
        try await written.close()
    }

    @Test("a damaged index is no obstacle to a cut: it is made anew")
    func cutDamaged() async throws {
        let written = try create(log)
        try await fill(written, 1 ... 20)
        let census = try written.access.environment.table("census")
        try written.change { transaction in
            var cursor = transaction.cursor(census)
            guard try cursor.first() else { throw EvstoreError.misuse("the census has a row") }
            let key = [UInt8](copying: cursor.key)
            var row = [UInt8](copying: cursor.value)
            row[row.count - 1] ^= 1
            try transaction.put(census, key.lent, row.lent)
        }
        #expect(try !written.verify(deep: true).isEmpty)
        try await written.update { try $0.cut(to: Position(12)) }
        #expect(try written.verify(deep: true).map(\.message) == [])
        try await fill(written, 30 ... 40)
        #expect(try find(12, in: written) == .at(Position(12)) && find(13, in: written) == .at(Position(13)))
        #expect(try written.verify(deep: true).map(\.message) == [])
        try await written.close()
    }

    @Test("verify finds a row of an index that leads elsewhere, one that is missing, and one too many")
    func compared() async throws {
        let written = try create(log)
        try await fill(written, 1 ... 20)
        let rows = try #require(written.access.tables[births])
        func change(_ body: (inout WriteTransaction) throws -> Void) throws -> [String] {
            try written.change { try body(&$0) }
            return try written.verify(deep: true).map(\.id)
        }
        let key = [1] + sortable(UInt64(3)) + [7]
        #expect(try change { try rows.put(key.lent, bytes(UInt64(4)).lent, &$0) } == ["STORE005"])
        #expect(try change { try rows.delete(key.lent, &$0) } == ["STORE005"])
        #expect(try change { try rows.put(key.lent, bytes(UInt64(3)).lent, &$0) } == [])
        for extra in 50 ... 90 as ClosedRange<UInt8> {
            try written.change { try rows.put([1, extra].lent, bytes(UInt64(3)).lent, &$0) }
        }
        #expect(try written.verify(deep: true).map(\.id) == ["STORE005"])
        try await written.close()
    }

    @Test("a row that was changed is damage: to whoever opens the store, and to verify")
    func checked() async throws {
        let written = try create(log)
        try await fill(written, 1 ... 20)
        let table = try written.access.environment.table("births")
        let key = [1] + sortable(UInt64(3)) + [7]
        try written.change { transaction in
            var row: [UInt8] = []
            if let found = try transaction.get(table, key.lent) { row = [UInt8](copying: found) }
            row[0] ^= 1
            try transaction.put(table, key.lent, row.lent)
        }
        #expect(throws: EvstoreError.self) { try find(3, in: written) }
        #expect(try written.verify(deep: false).map(\.id) == ["STORE011"])
        try await written.close()
        try AnchorFile(at: directory.store).markDoubtful()
        #expect(throws: EvstoreError.self) { try open(log) }
    }

    @Test("a sealed store has codes in an index, and tells a row that somebody else has written")
    func coded() async throws {
        let options = Self.options { $0.secret = .key([UInt8](repeating: 7, count: 32)) }
        let written = try create(log, options)
        try await fill(written, 1 ... 20)
        let table = try written.access.environment.table("births")
        let key = [1] + sortable(UInt64(3)) + [7]
        let seal = try #require(RowChecksum(births, storeTag: written.storeID.tag))
        try written.change { transaction in
            // The checksum is made right, the code stays.
            var row: [UInt8] = []
            if let found = try transaction.get(table, key.lent) { row = [UInt8](copying: found).dropLast(RowChecksum.bytes) }
            row[0] ^= 1
            let sealed = row + bytes(seal.sum(key.lent, row.lent))
            try transaction.put(table, key.lent, sealed.lent)
        }
        #expect(throws: EvstoreError.self) { try find(3, in: written) }
        #expect(try written.verify(deep: false).map(\.id) == ["STORE011"])
        try await written.close()
    }

    @Test("a store that lacks an index is not one in which nothing has a key: reading says so, and writing makes it")
    func missing() async throws {
        let before = try create(TableDescriptor.log)
        try await fill(before, 1 ... 20)
        try await before.close()
        let reading = try open(log, readOnly: true)
        #expect(try find(3, in: reading) == .unknown)
        #expect(try reading.verify(deep: true).map(\.message) == [])
        try await reading.close()
        let writing = try open(log)
        #expect(try count(in: writing) > 0)
        #expect(try find(3, in: writing) == .at(Position(3)))
        #expect(try find(50, in: writing) == .nowhere)
        try await writing.close()
    }

    @Test("an index that a program without it has left behind is completed: after appends, and after a cut")
    func leftBehind() async throws {
        let first = try create(log)
        // A program that finds a file in doubt refuses tables that it does not know: one that was closed is in none.
        try await first.add(event("s-0"))
        try await first.close()
        let older = try open(TableDescriptor.log)
        try await fill(older, 1 ... 20)
        try await older.close()
        let reading = try open(log, readOnly: true)
        #expect(try find(3, in: reading) == .unknown)
        try await reading.close()
        let newer = try open(log)
        #expect(try find(3, in: newer) == .at(Position(3)))
        try await newer.add(event("s-99"))
        try await newer.close()
        let cutting = try open(TableDescriptor.log)
        try await cutting.update { try $0.cut(to: Position(2)) }
        for number in 1 ... 38 { try await cutting.add(event("other", "\(number)")) }
        try await cutting.close()
        let last = try open(log)
        #expect(try find(2, in: last) == .at(Position(2)))
        #expect(try find(4, in: last) == .nowhere)
        #expect(try last.verify(deep: true).map(\.message) == [])
        try await last.close()
    }

    @Test("a store that lacks a table of every store is damaged, and not one whose index is empty", arguments: ["streams", "ids"])
    func lost(table: String) async throws {
        try await create(TableDescriptor.log).close()
        let home = directory.store + "/log"
        try FileManager.default.removeItem(atPath: home)
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let others = TableDescriptor.log.filter { $0.name != table }
        try Environment.open(directory: home, others.configuration(.small(), readOnly: false, creating: true)).close()
        for readOnly in [false, true] {
            #expect {
                try open(TableDescriptor.log, readOnly: readOnly)
            } throws: { error in
                guard case EvstoreError.storeDamaged(_, let reason) = error else { return false }
                return reason.contains("its log is missing or incomplete")
            }
        }
    }
}
