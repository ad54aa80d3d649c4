import Bytes
import EventModel
import EvstoreTesting
import LMDB
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("Rows of indexes that somebody changed")
struct IndexRowsTests {
    private typealias Row = (key: [UInt8], value: [UInt8])

    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    /// A log of streams of different lengths, with given ids and several types, whose newest events are in no index yet.
    private func log(_ random: inout SeededGenerator) async throws -> EventLog {
        let options = Options.small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (20, 60, 16) }
        let first = try makeLog(directory, options)
        func fill(_ log: EventLog, _ numbers: Range<Int>) async throws {
            for number in numbers {
                let stream = "s-\(Int.random(in: 0 ... number / 3, using: &random))"
                let id = Bool.random(using: &random) ? "id-\(number)" : nil
                try await log.add(event(stream, type: "t-\(Int.random(in: 0 ..< 4, using: &random))", id: id))
            }
        }
        try await fill(first, 0 ..< 150)
        try await first.close()
        let again = try EventLog.open(at: directory.store, options: .small())
        try await fill(again, 150 ..< 165)
        let (indexed, last) = try again.read { (try $0.state.indexed, $0.last.position) }
        #expect(indexed > .start && indexed < last)
        return again
    }

    private func rows(_ table: RowTable, _ log: EventLog) throws -> [Row] {
        var rows: [Row] = []
        try log.access.environment.read { transaction in
            try table.forEach(transaction) { key, value in
                rows.append(([UInt8](copying: key), [UInt8](copying: value)))
                return true
            }
        }
        return rows
    }

    private func write(_ table: RowTable, _ log: EventLog, _ row: Row?, removing key: [UInt8]? = nil) throws {
        try log.change { transaction in
            if let key { try table.delete(key.lent, &transaction) }
            if let row { try table.put(row.key.lent, row.value.lent, &transaction) }
        }
    }

    @Test(
        "verify names a row that was taken away, changed or added, with the right checksum",
        arguments: [TableDescriptor.streams, .heads, .ids, .census, .types].map(\.name))
    func named(table name: String) async throws {
        var random = SeededGenerator.announced()
        let log = try await log(&random)
        let descriptor = try #require(TableDescriptor.log[named: name])
        let table = try #require(log.access.tables[descriptor])
        #expect(try log.verify(deep: false).map(\.message) == [] && log.verify(deep: true).map(\.message) == [])
        for round in 0 ..< 24 {
            let before = try rows(table, log)
            let row = before[Int.random(in: 0 ..< before.count, using: &random)]
            var changed = row
            switch round % 4 {
            case 0: try write(table, log, nil, removing: row.key)
            case 1:
                changed.value[Int.random(in: 0 ..< row.value.count, using: &random)] ^= UInt8.random(in: 1 ... .max, using: &random)
                try write(table, log, changed)
            case 2:
                changed.key[Int.random(in: 0 ..< row.key.count, using: &random)] ^= UInt8.random(in: 1 ... 31, using: &random)
                if before.contains(where: { $0.key == changed.key }) { continue }
                try write(table, log, changed, removing: row.key)
            default:
                changed.key[row.key.count - 1] ^= UInt8.random(in: 1 ... 31, using: &random)
                if before.contains(where: { $0.key == changed.key }) { continue }
                try write(table, log, changed)
            }
            for isDeep in [false, true] {
                let found = try log.verify(deep: isDeep)
                #expect(found.contains { ["STORE005", "STORE006"].contains($0.id) }, "round \(round): \(row) became \(changed)")
            }
            try write(table, log, row, removing: round % 4 > 1 ? changed.key : nil)
            #expect(try log.verify(deep: false).map(\.message) == [])
        }
        try await log.close()
    }

    @Test("where the row of a stream is gone, nobody is told that there is none, and no second stream of the name begins")
    func secondStream() async throws {
        var random = SeededGenerator.announced()
        let log = try await log(&random)
        let streams = log.access.tables.streams
        let row = try #require(try rows(streams, log).randomElement(using: &random))
        try write(streams, log, nil, removing: row.key)
        try await log.close()
        let again = try EventLog.open(at: directory.store, options: .small())
        let name = String(decoding: row.key, as: UTF8.self)
        func isRefused(_ error: any Error) -> Bool { if case EvstoreError.corruptBlock = error { true } else { false } }
        await #expect { try await again.add(event(name)) } throws: { isRefused($0) }
        await #expect { try await again.add(event("of-its-own")) } throws: { isRefused($0) }
        #expect { try again.payloads(name) } throws: { isRefused($0) }
        #expect { try again.read { try $0.head(of: StreamName(name)) } } throws: { isRefused($0) }
        // Streams that are found go on.
        let other = try #require(try rows(streams, again).first)
        try await again.add(event(String(decoding: other.key, as: UTF8.self)))
        try await again.close()
    }
}
