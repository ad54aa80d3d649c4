import Bytes
import Foundation
import LMDB
import Platform

extension FuzzTarget {
    private static let tables = ["a": false, "b": true]
    private static var data: String { place + "/data.mdb" }

    /// A `data.mdb` that the walk over its pages accepts can be read and written by LMDB, which believes everything, and has as many
    /// entries as the walk has counted.
    static let structure = FuzzTarget(
        name: "structure",
        seeds: {
            try ([(6, 0), (60, 1), (200, 3)] as [(UInt64, UInt64)]).map { keys, rounds in
                try removeFiles()
                let environment = try environment()
                for round in 0 ... rounds { try fill(environment, keys: keys, round) }
                environment.close()
                return [UInt8](try Data(contentsOf: URL(filePath: data)))
            }
        },
        take: { bytes in
            try removeFiles()
            try Data(bytes).write(to: URL(filePath: data))
            let report = try StructuralCheck.run(File(data, .read), tables: tables)
            let environment = try environment()
            defer { environment.close() }
            for name in tables.keys.sorted() where report.entries[name] != nil {
                let table = try environment.table(name)
                let count = try environment.read { transaction in
                    var count: UInt64 = 0
                    var cursor = transaction.cursor(table)
                    var isThere = try cursor.first()
                    while isThere {
                        count += UInt64(min(cursor.key.byteCount + cursor.value.byteCount, 1))
                        isThere = try cursor.next()
                    }
                    return count
                }
                try hold(count == report.entries[name], "the table \(name) has \(count) entries, and the walk counts another number")
                try environment.write { try $0.put(table, [UInt8](repeating: 1, count: 8).lent, [2].lent) }
            }
            try hold(isSound, "after a write the walk finds damage")
        })

    private static var isSound: Bool {
        do { return try StructuralCheck.run(File(data, .read), tables: tables).transaction > 0 } catch { return false }
    }

    private static func removeFiles() throws {
        for name in ["data.mdb", "lock.mdb"] where FileManager.default.fileExists(atPath: place + "/" + name) {
            try FileManager.default.removeItem(atPath: place + "/" + name)
        }
    }

    private static func environment() throws -> Environment {
        try Environment.open(
            directory: place,
            Environment.Configuration(
                tables: tables.keys.sorted(), integerKeyTables: ["b"], mapBytes: 1 << 26, readersMax: 8, readOnly: false, creating: true))
    }

    private static func fill(_ environment: Environment, keys: UInt64, _ round: UInt64) throws {
        let (a, b) = (try environment.table("a"), try environment.table("b"))
        try environment.write { transaction in
            for key in 0 ..< keys {
                let number = (0 ..< 8).map { UInt8(truncatingIfNeeded: (round * 1_000 + key) >> (8 * UInt64($0))) }
                try transaction.put(a, Array("key-\((key * 7_919) % 1_000)".utf8).lent, [UInt8](repeating: 1, count: Int(key % 20)).lent)
                try transaction.put(b, number.lent, [UInt8](repeating: 2, count: key % 50 == 3 ? 5_000 : 30).lent)
            }
            if round > 0 { for key in 0 ..< keys / 2 { try transaction.delete(b, ((round - 1) * 1_000 + key).littleEndianBytes.lent) } }
        }
    }
}

extension UInt64 {
    fileprivate var littleEndianBytes: [UInt8] { (0 ..< 8).map { UInt8(truncatingIfNeeded: self >> (8 * UInt64($0))) } }
}
