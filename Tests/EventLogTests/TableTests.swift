import Bytes
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("The tables of a log")
struct TableTests {
    private let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private static func options() -> Options { .small { ($0.sweepDueEvents, $0.sweepForcedEvents) = (4, 4) } }

    /// Streams s-1, s-2 … of two events each, the second ones at the end.
    private func fill(_ log: EventLog, _ range: ClosedRange<Int>) async throws {
        for _ in 0 ..< 2 { for number in range { try await log.add(event("s-\(number)", "\(number)", id: "\(UUID())")) } }
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

    @Test("a cut takes the same out of the indexes, in however many parts")
    func parts() async throws {
        struct Undone: Error { var rows: [String: [[UInt8]]] }
        let written = try EventLog.create(at: directory.store, options: Self.options()) { _ in }
        for number in 0 ..< 90 {
            try await written.add(event("s-\(number % 7)", id: "id-\(number)"), event("t-\(number / 9)", type: "seen"))
        }
        let indexes = TableDescriptor.log.filter(\.isIndex)
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
        let written = try EventLog.create(at: directory.store, options: Self.options()) { _ in }
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
        #expect(try written.verify(deep: true).map(\.message) == [])
        try await written.close()
    }

    @Test("a store that lacks a table of every store is damaged, and not one whose index is empty", arguments: ["streams", "ids"])
    func lost(table: String) async throws {
        try await EventLog.create(at: directory.store, options: Self.options()) { _ in }.close()
        let home = directory.store + "/log"
        try FileManager.default.removeItem(atPath: home)
        try FileManager.default.createDirectory(atPath: home, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let others = TableDescriptor.log.filter { $0.name != table }
        try Environment.open(directory: home, others.configuration(.small(), readOnly: false, creating: true)).close()
        for readOnly in [false, true] {
            #expect {
                try EventLog.open(at: directory.store, options: Self.options(), readOnly: readOnly)
            } throws: { error in
                guard case EvstoreError.storeDamaged(_, let reason) = error else { return false }
                return reason.contains("its log is missing or incomplete")
            }
        }
    }
}
