import Bytes
import EventLog
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import Sealing
import Testing

@testable import Projections

@Suite("Checksums of a read model's rows")
struct RowChecksumTests {
    private static func table(format: Int, in directory: String) throws -> (environment: Environment, rows: CheckedTable) {
        let environment = try Environment.open(
            directory: directory, Environment.Configuration(tables: ["rows"], mapBytes: 1 << 20, creating: true))
        let keys = format > 2 ? ModelKeys(try #require(SecretKey(Array(1 ... 32))), .make(), "a") : nil
        return (environment, try CheckedTable(.rows, of: environment, format: format, keys, DamageNote(directory)))
    }

    private static func copy(_ bytes: RawSpan?) -> [UInt8]? {
        guard let bytes else { return nil }
        return [UInt8](copying: bytes)
    }

    @Test(
        "a change of any byte of a row is damage, and the generation is noted as damaged for every process", arguments: [2, 3, 4])
    func anyByte(format: Int) throws {
        let directory = try TemporaryDirectory()
        let (environment, rows) = try Self.table(format: format, in: directory.path)
        defer { environment.close() }
        let raw = try environment.table("rows")
        let key = Array("key".utf8)
        try environment.write { try rows.put(key.lent, Array(#"{"a":1}"#.utf8).lent, &$0) }
        let text = try environment.read { try rows.get(key.lent, $0) { [UInt8](copying: $0) } }
        #expect(text == Array(#"{"a":1}"#.utf8))
        let value = try #require(try environment.read { Self.copy(try $0.get(raw, key.lent)) })
        #expect(value.count == (format == 2 ? 7 + 5 : 7 + 5 + 32) && value[0] == format - 2)
        try DamageNote(directory.path).check()
        func isSound(_ key: [UInt8], _ other: [UInt8]) throws -> Bool {
            let check = try #require(CheckedTable.checks()["rows"])
            return check(key.lent, value.lent) && check(key.lent, other.lent)
        }
        #expect(try isSound(key, value))
        for index in value.indices {
            var changed = value
            changed[index] ^= 0x10
            try environment.write { try $0.put(raw, key.lent, changed.lent) }
            #expect(throws: EvstoreError.self, "byte \(index)") { try environment.read { try rows.get(key.lent, $0) { _ in } } }
            #expect(try !isSound(key, changed), "the walk has no keys: byte \(index)")
            #expect(throws: EvstoreError.self) { try environment.read { try rows.forEach($0) { _, _ in true } } }
        }
        #expect(throws: EvstoreError.self) { try DamageNote(directory.path).check() }
    }

    @Test("a generation of format 1 is read and written in format 1")
    func older() throws {
        let directory = try TemporaryDirectory()
        let (environment, rows) = try Self.table(format: 1, in: directory.path)
        defer { environment.close() }
        let raw = try environment.table("rows")
        try environment.write { try rows.put([1].lent, Array("{}".utf8).lent, &$0) }
        let value = try environment.read { Self.copy(try $0.get(raw, [1].lent)) }
        let text = try environment.read { try rows.get([1].lent, $0) { [UInt8](copying: $0) } }
        #expect(value == Array("{}".utf8) && text == value)
    }
}
