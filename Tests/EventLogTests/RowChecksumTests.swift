import Bytes
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("Checksums of rows")
struct RowChecksumTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static let tables = TableDescriptor.log.filter { $0.number != nil }.map(\.name)

    /// A closed store with rows in every table.
    private func store() async throws {
        let log = try makeLog(directory, .small { ($0.sweepDueEvents, $0.sweepForcedEvents) = (4, 4) })
        for number in 0 ..< 12 {
            try await log.add(event("s-\(number % 3)", "\(number)", id: "i-\(number)"))
        }
        try await log.update { update in
            for catalogue in Catalogue.allCases {
                // Import marks begin with a position.
                let value =
                    catalogue == .imports ? bytes(UInt64(1)) + Array("mark".utf8) : Array("a value".utf8)
                try update.put(catalogue, Array("key of \(catalogue)".utf8), value)
            }
            try update.cut(to: Position(10))
        }
        try await log.close()
        let again = try EventLog.open(
            at: directory.store, options: .small { ($0.sweepDueEvents, $0.sweepForcedEvents) = (4, 4) })
        // As many as it takes to have the indexes written beyond the cut.
        for _ in 0 ..< 8 { try await again.add(event("s-9", "after")) }
        try await again.close()
    }

    /// Lets LMDB change the first row of a table, so that the file's structure is sound.
    private func change(_ table: String, _ body: ([UInt8]) -> [UInt8]?) throws {
        let environment = try Environment.open(
            directory: directory.store + "/log",
            TableDescriptor.log.filter { $0.name == table }.configuration(.small(), readOnly: false))
        defer { environment.close() }
        let rows = try environment.table(table)
        try environment.write { transaction in
            var found: (key: [UInt8], value: [UInt8])?
            do {
                var cursor = transaction.cursor(rows)
                if try cursor.first() {
                    found = ([UInt8](copying: cursor.key), [UInt8](copying: cursor.value))
                }
            }
            let row = try #require(found, "\(table) has no rows")
            if let value = body(row.value) {
                try transaction.put(rows, row.key.lent, value.lent)
            } else {
                try transaction.delete(rows, row.key.lent)
            }
        }
    }

    @Test(
        "a changed row is damage, found at an opening whose anchor does not match the file",
        arguments: tables)
    func changed(table: String) async throws {
        try await store()
        try change(table) { row in [row[0] ^ 1] + row.dropFirst() }
        #expect {
            try EventLog.open(at: directory.store, options: .small())
        } throws: { error in
            guard case EvstoreError.storeDamaged(_, let reason) = error else { return false }
            return reason.contains("in the tree \(table)") && reason.contains("rule 26")
        }
    }

    @Test(
        "a row changed while the store is open is damage to every reader and to verify")
    func read() async throws {
        try await store()
        let log = try EventLog.open(at: directory.store, options: .small())
        let key = Array("key of notes".utf8)
        #expect(try log.read { try $0.get(.notes, key) } == Array("a value".utf8))
        // Behind the checks: the row's last byte of value.
        let table = try log.access.environment.table("notes")
        try log.change { transaction in
            var row: [UInt8] = []
            if let found = try transaction.reads.get(table, key.lent) { row = [UInt8](copying: found) }
            row[6] ^= 1
            try transaction.put(table, key.lent, row.lent)
        }
        #expect(throws: EvstoreError.self) { try log.read { try $0.get(.notes, key) } }
        #expect(throws: EvstoreError.self) { try log.read { try $0.rows(.notes) } }
        #expect(try log.verify(deep: false).map(\.id) == ["STORE011"])
        try await log.close()
    }

    @Test("a stream that has lost its head's row is damage, and not a stream without events")
    func headless() async throws {
        try await store()
        let log = try EventLog.open(at: directory.store, options: .small())
        let heads = try log.access.environment.table("heads")
        try log.change { try $0.removeAll(heads) }
        #expect(throws: EvstoreError.self) { try log.payloads("s-0") }
        #expect(throws: EvstoreError.self) { try log.read { try $0.head(of: StreamName("s-0")) } }
        await #expect(throws: EvstoreError.self) { try await log.add(event("s-0", "13")) }
        try await log.close()
    }

    @Test("a checksum fits only its own table, key, value and store")
    func places() throws {
        let seal = try #require(RowChecksum(.heads, storeTag: 7))
        let (key, value) = (Array("key".utf8), Array("value".utf8))
        let sum = seal.sum(key.lent, value.lent)
        #expect(sum & 0xff == 3)
        #expect(
            seal.sum(Array("kez".utf8).lent, value.lent) != sum
                && seal.sum(key.lent, Array("valuf".utf8).lent) != sum)
        #expect(RowChecksum(.heads, storeTag: 8)?.sum(key.lent, value.lent) != sum)
        #expect(RowChecksum(.ids, storeTag: 7)?.sum(key.lent, value.lent) != sum)
        #expect(RowChecksum(.blocks, storeTag: 7) == nil)
        let row = value + bytes(sum)
        let isSealed = (0 ... row.count).map { length in
            if seal.value(key.lent, Array(row.prefix(length)).lent) == nil { return false }
            return true
        }
        #expect(isSealed == Array(repeating: false, count: row.count) + [true])
    }

    @Test("a store of format 3 keeps its rows without checksums")
    func older() async throws {
        let golden = URL(filePath: #filePath).deletingLastPathComponent().appending(
            path: "Goldens/blocks-2")
        try FileManager.default.copyItem(at: golden, to: URL(filePath: directory.store))
        let log = try EventLog.open(at: directory.store, options: .small())
        try await log.update { try $0.put(.notes, [1], [2, 3]) }
        let table = try log.access.environment.table("notes")
        let stored = try log.access.environment.read { try $0.get(table, [1].lent)?.byteCount }
        #expect(stored == 2)
        #expect(try log.read { try $0.get(.notes, [1]) } == [2, 3])
        try await log.close()
    }
}
