import Bytes
import EventLog
import EventModel
import Evstore
import EvstoreTesting
import Foundation
import LMDB
import Testing

/// Rows with right checksums that no store has written: `evstore-fuzz --stores` makes them by the thousand.
@Suite("Rows that no store has written")
struct ForeignRowsTests {
    /// A row, by the name of its table.
    struct Row: CustomTestStringConvertible, Sendable {
        let table: String
        let key, value: [UInt8]

        var testDescription: String { "\(table), \(String(decoding: key, as: UTF8.self)): \(String(decoding: value, as: UTF8.self))" }

        init(_ table: String, _ key: [UInt8], _ value: [UInt8]) { (self.table, self.key, self.value) = (table, key, value) }

        init(_ table: String, _ key: String, _ value: String) { self.init(table, Array(key.utf8), Array(value.utf8)) }
    }

    static let number = [UInt8](repeating: 0xff, count: 8)

    static func consumer(handled: String = "1", attempts: String = "0") -> String {
        #"{"number":0,"epoch":1,"position":1,"version":1,"types":null,"handled":\#(handled),"attempts":\#(attempts),"ahead":[]}"#
    }

    static let rows = [
        Row("journal", number, Array(#"{"time":"2026-01-01T00:00:00Z","what":"flip","outcome":"done"}"#.utf8)),
        Row(
            "journal", [0, 0, 0, 0, 0, 0, 0, 9],
            Array(#"{"time":"2026-01-01T00:00:00Z","what":"flip","outcome":"done","seconds":1e300}"#.utf8)),
        Row("notes", "consumer/a", consumer(handled: "18446744073709551615")),
        Row("notes", "consumer/a", consumer(attempts: "9223372036854775807")),
        Row(
            "notes", Array("consumer/a/parked/".utf8) + number,
            Array(#"{"epoch":1,"stream":"a-1","type":"A","attempts":1,"error":"","time":"2026-01-01T00:00:00Z"}"#.utf8)),
        Row("snapshots", "one", #"{"position":18446744073709551615,"epoch":1,"floor":1,"live":1,"top":1,"head":1}"#),
        Row("imports", [UInt8](repeating: 1, count: 32), number + [UInt8](repeating: 0, count: 40)),
        Row("epochs", [0xff, 0xff, 0xff, 0xff], [UInt8](repeating: 0, count: 40)),
    ]

    private func make() async throws -> TemporaryStore {
        let store = try await TemporaryStore.make(
            SchemaFiles(versions: [
                "evstore: 1\nversion: 1\nevents:\n  Noted: {stream: 'note-{/id}', required: [id], properties: {id: {type: string}}}"
            ])
            .load())
        for id in ["1", "2", "1"] { _ = try await store.store.append([.event("note-\(id)", "Noted", #"{"id":"\#(id)"}"#, at: 1)]) }
        return store
    }

    /// Puts a row as a store would, with a right checksum.
    private func put(_ row: Row, into store: EventStore) throws {
        let access = store.log.access
        let table = try #require(TableDescriptor.log.first { $0.name == row.table }.flatMap { access.tables[$0] })
        try access.environment.writeOwned { transaction in
            var transaction = transaction
            try table.put(row.key.lent, row.value.lent, &transaction)
        }
    }

    private func requireDamage(_ row: Row, of made: TemporaryStore) async throws {
        try put(row, into: made.store)
        let found = try await made.store.maintenance.verify()
        #expect(!found.ok && found.findings.contains { $0.id == "STORE022" }, "\(found.findings)")
        var backup: [UInt8] = []
        _ = try await made.store.maintenance.backUp { backup += $0 }
        let file = try made.write("", to: "backup")
        try Data(backup).write(to: URL(filePath: file))
        let error = await #expect(throws: EvstoreError.self) {
            _ = try await StoreMaintenance.restore(from: file, into: file + "-restored")
        }
        #expect(error?.details.code == "backupDamaged", "\(String(describing: error))")
        #expect(!FileManager.default.fileExists(atPath: file + "-restored"))
    }

    @Test("verify names each, and no restore takes it", arguments: rows)
    func foreign(_ row: Row) async throws { try await requireDamage(row, of: try await make()) }

    @Test(
        "verify names numbers of versions that are not there, and no restore takes them",
        arguments: [[0, 0, 0, 0], [1, 1, 1, .max], [2, 1, 1, 1]])
    func numbers(_ numbers: [UInt32]) async throws {
        let made = try await make()
        var now: [UInt8] = []
        try made.store.log.read { reader in
            try reader.access.tables[TableDescriptor.state]?.forEach(from: StateRows.numbersKey, reader.transaction) { _, value in
                now = [UInt8](copying: value)
                return false
            }
        }
        let value =
            now[..<24] + numbers.flatMap { number in (0 ..< 4).map { UInt8(truncatingIfNeeded: number >> UInt32(8 * $0)) } } + now[40...]
        let row = Row("state", StateRows.numbersKey, Array(value))
        if VersionNumbers(floor: .init(numbers[0]), live: .init(numbers[1]), top: .init(numbers[2]), head: .init(numbers[3])).isInOrder,
            numbers[3] < 1 << 20
        {
            return try await requireDamage(row, of: made)
        }
        try put(row, into: made.store)
        for ask in [{ _ = try made.store.status() }, { _ = try made.store.maintenance.journal() }] {
            let error = #expect(throws: EvstoreError.self) { try ask() }
            #expect(error?.message.contains("the row \"numbers\"") == true)
        }
    }

    @Test("indexes that are said to hold more than the log has are damage to whoever looks something up, and to who opens the store")
    func indexed() async throws {
        let made = try await make()
        try put(Row("state", Array("indexed".utf8), [9, 0, 0, 0, 0, 0, 0, 0]), into: made.store)
        let read = #expect(throws: EvstoreError.self) { _ = try made.store.read(StreamName("note-1")) }
        #expect(read?.message.contains("the log ends at 3") == true)
        await #expect(throws: EvstoreError.self) {
            _ = try await made.store.append([.event("note-1", "Noted", #"{"id":"1"}"#, at: 1)])
        }
        do { try await made.store.close() } catch {}
        let opened = await #expect(throws: EvstoreError.self) { _ = try await EventStore.open(made.path, options: .forTests) }
        #expect(opened?.message.contains("the row \"indexed\"") == true)
    }

    @Test("a head and a census of more than the log has are damage to an append and a plan")
    func indexes() async throws {
        let made = try await make()
        // The first appends after a sweep read the tables.
        for row in [
            Row("streams", Array("note-9".utf8), [1, 0, 0, 0, 0, 0, 0, 0]),
            Row("heads", [1, 0, 0, 0, 0, 0, 0, 0], Self.number + Self.number + Self.number),
            Row("census", [0, 0, 0, 1, 0, 0, 0, 1], Self.number),
        ] { try put(row, into: made.store) }
        try put(Row("state", Array("indexed".utf8), [3, 0, 0, 0, 0, 0, 0, 0]), into: made.store)
        await #expect(throws: EvstoreError.self) {
            _ = try await made.store.append([.event("note-9", "Noted", #"{"id":"9"}"#, at: 1)])
        }
        let planned = await #expect(throws: EvstoreError.self) { _ = try await made.store.plan(to: SchemaVersion(1)) }
        #expect(planned?.message.contains("census") == true)
        let found = try await made.store.maintenance.verify()
        #expect(!found.ok)
    }

    @Test("no position is too far for a restore, and no number of a run's file for a list")
    func files() async throws {
        let made = try await make()
        let backups = made.path + "-backups"
        _ = try await made.store.maintenance.backUp(into: backups)
        let beyond: [UInt64] = [.max, .max - 1, 1 << 63, 4]
        for position in beyond {
            let error = await #expect(throws: EvstoreError.self) {
                _ = try await StoreMaintenance.restore(from: backups, into: made.path + "-x", to: .position(Position(position)))
            }
            #expect(error?.details.code == "notInBackup")
        }
        let file = URL(filePath: backups + "/runs/0000000001.json")
        // Made by hand, so without the checksum.
        let text = try String(contentsOf: file, encoding: .utf8).replacing(#/,"xxh3":"[^"]*"/#, with: "")
        for bytes in ["-1000000000000", "9223372036854775807"] {
            try text.replacing(#/"bytes":\d+/#, with: "\"bytes\":" + bytes).write(to: file, atomically: true, encoding: .utf8)
            #expect(try StoreMaintenance.backups(in: backups).map { $0.damage != nil } == [true])
            #expect(StoreMaintenance.newestBackups(in: backups, limit: 2).map(\.number) == [1])
            #expect(StoreMaintenance.newestBackup(in: backups) == nil)
        }
    }
}
