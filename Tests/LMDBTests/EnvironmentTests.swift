import Bytes
import EvstoreTesting
import Foundation
import LMDB
import Platform
import Testing

@Suite("An environment")
struct EnvironmentTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test("what a write has put is read back, in the order of keys")
    func roundTrip() throws {
        let environment = try directory.environment()
        defer { environment.close() }
        let table = try environment.table("a")
        try environment.write { transaction in
            for key in ["b", "a", "c"] { try transaction.put(table, Array(key.utf8).lent, Array("value \(key)".utf8).lent) }
        }
        #expect(try environment.rows(table) == ["a: value a", "b: value b", "c: value c"])
        #expect(try environment.read { try $0.count(table) } == 3)
    }

    @Test("a write whose body throws leaves nothing behind")
    func undone() throws {
        struct Stop: Error {}
        let environment = try directory.environment()
        defer { environment.close() }
        let table = try environment.table("a")
        #expect(throws: Stop.self) {
            try environment.write { transaction in
                try transaction.put(table, [1].lent, [2].lent)
                throw Stop()
            }
        }
        #expect(try environment.rows(table).isEmpty)
    }

    @Test("a map of one megabyte grows by itself under a write of many")
    func growth() throws {
        let environment = try directory.environment(mapBytes: 1 << 20)
        defer { environment.close() }
        let table = try environment.table("a")
        let value = [UInt8](repeating: 7, count: 10_000)
        var runs = 0
        try environment.write { transaction in
            runs += 1
            for key in 0 ..< UInt8(200) { for more in 0 ..< UInt8(4) { try transaction.put(table, [key, more].lent, value.lent) } }
        }
        #expect(runs > 1)
        #expect(try environment.read { try $0.count(table) } == 800)
        #expect(try environment.usage.mapBytes > 8 << 20)
    }

    @Test("a thread that closes what it reads itself is told so, and goes on; the files are closed when it asks again")
    func closedWithin() throws {
        let said = Monitor<[String]>([])
        let environment = try directory.environment { $0.notice = { text in said.withLock { $0.append(text) } } }
        let table = try environment.table("a")
        try environment.write { try $0.put(table, [1].lent, [2].lent) }
        let count = try environment.read { transaction in
            environment.close()
            return try transaction.count(table)
        }
        #expect(count == 1)
        #expect(said.withLock { $0 }.first?.contains("while this thread holds a transaction") == true, "\(said.withLock { $0 })")
        environment.close()
        #expect(throws: StorageError.self) { try environment.read { _ in } }
    }

    @Test("growing waits for readers of this process and does not disturb them")
    func growthBesideReaders() async throws {
        let environment = try directory.environment(mapBytes: 1 << 20)
        defer { environment.close() }
        let table = try environment.table("a")
        let value = [UInt8](repeating: 7, count: 10_000)
        try environment.write { try $0.put(table, [0].lent, value.lent) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0 ..< 3 {
                group.addTask {
                    for _ in 0 ..< 200 {
                        try environment.read { outer in
                            let size = try environment.read { try $0.get(table, [0].lent)?.byteCount }
                            #expect(try outer.get(table, [0].lent)?.byteCount == size)
                        }
                    }
                }
            }
            group.addTask {
                for key in 1 ..< UInt8(200) {
                    try environment.write { for more in 0 ..< UInt8(4) { try $0.put(table, [key, more].lent, value.lent) } }
                }
            }
            try await group.waitForAll()
        }
        #expect(try environment.read { try $0.count(table) } == 797)
    }

    @Test("readers that are used again see what was committed since, in a map that has grown, and keep no pages")
    func usedAgain() throws {
        let environment = try directory.environment(mapBytes: 1 << 20)
        let table = try environment.table("a")
        let value = [UInt8](repeating: 7, count: 10_000)
        func readThrice() throws -> [Int] {
            let a = try environment.beginRead()
            let b = try environment.beginRead()
            let c = try environment.beginRead()
            return [try a.count(table), try b.count(table), try c.count(table)]
        }
        #expect(try readThrice() == [0, 0, 0])
        for key in 0 ..< UInt8(200) { try environment.write { try $0.put(table, [key].lent, value.lent) } }
        #expect(try readThrice() == [200, 200, 200])
        let pages = try environment.usage.pages
        for _ in 0 ..< 300 { try environment.write { try $0.put(table, [1].lent, value.lent) } }
        #expect(try environment.usage.pages < pages + 60)
        environment.close()
        let again = try directory.environment()
        #expect(try again.read { try $0.count(table) } == 200)
        again.close()
    }

    @Test("opened twice, a file is one environment, open until the second close")
    func registry() throws {
        let first = try directory.environment()
        let second = try directory.environment()
        #expect(first === second)
        first.close()
        let table = try second.table("a")
        try second.write { try $0.put(table, [1].lent, [1].lent) }
        second.close()
        #expect(throws: StorageError(misuse: "the environment has been closed")) { try second.read { try $0.count(table) } }
    }

    @Test("a write inside a write is an error and spoils nothing")
    func reentry() throws {
        let environment = try directory.environment()
        defer { environment.close() }
        let table = try environment.table("a")
        try environment.write { transaction in
            try transaction.put(table, [1].lent, [1].lent)
            #expect(throws: StorageError(misuse: "a write transaction was started inside another one")) {
                try environment.write { try $0.put(table, [2].lent, [2].lent) }
            }
        }
        #expect(try environment.read { try $0.count(table) } == 1)
    }

    @Test("a reader sees its moment, whatever is written meanwhile")
    func isolation() throws {
        let environment = try directory.environment()
        defer { environment.close() }
        let table = try environment.table("a")
        try environment.read { reader in
            try environment.write { try $0.put(table, [1].lent, [1].lent) }
            #expect(try reader.count(table) == 0)
        }
        #expect(try environment.read { try $0.count(table) } == 1)
    }

    @Test("an environment opened for reading refuses to write")
    func readOnly() throws {
        try directory.environment().close()
        let environment = try directory.environment { $0.readOnly = true }
        defer { environment.close() }
        #expect { try environment.write { _ in } } throws: { ($0 as? StorageError)?.isReadOnly == true }
    }

    @Test("files are private to their owner")
    func permissions() throws {
        try directory.environment().close()
        for name in ["data.mdb", "lock.mdb"] {
            #expect(try Directory.status(directory.path + "/" + name)?.mode == 0o600)
        }
    }
}

@Suite("A data file that can't be one")
struct DamagedFileTests {
    let directory: TemporaryDirectory
    var data: String { directory.path + "/data.mdb" }

    init() throws {
        directory = try TemporaryDirectory()
        let environment = try directory.environment()
        let table = try environment.table("a")
        try environment.write { try $0.put(table, [1].lent, [UInt8](repeating: 1, count: 100_000).lent) }
        environment.close()
    }

    @Test("is refused before it is mapped", arguments: [0, 100, 4_096, 8_192, 50_000])
    func truncated(bytes: UInt64) throws {
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: data))
        try file.truncate(atOffset: bytes)
        try file.close()
        #expect { try directory.environment() } throws: { ($0 as? StorageError)?.isDamage == true }
    }

    @Test("is refused where a meta page is not one", arguments: [0, 10, 16, 20, 40, 4_096 + 16])
    func foreign(offset: Int) throws {
        var bytes = try [UInt8](Data(contentsOf: URL(fileURLWithPath: data)))
        bytes[offset] ^= 0xff
        try Data(bytes).write(to: URL(fileURLWithPath: data))
        #expect { try directory.environment() } throws: { ($0 as? StorageError)?.isDamage == true }
    }

    @Test("is refused where it is missing, instead of made")
    func missing() throws {
        try FileManager.default.removeItem(atPath: data)
        #expect { try directory.environment { $0.creating = false } } throws: { ($0 as? StorageError)?.isNotFound == true }
    }
}

extension TemporaryDirectory {
    @discardableResult
    func environment(
        mapBytes: Int = 1 << 26, _ change: (inout Environment.Configuration) -> Void = { _ in }
    ) throws -> Environment {
        var configuration = Environment.Configuration(tables: ["a", "b"], mapBytes: mapBytes, creating: true)
        change(&configuration)
        return try Environment.open(directory: path, configuration)
    }
}

extension Environment {
    func rows(_ table: Table) throws -> [String] {
        try read { transaction in
            var rows: [String] = []
            var cursor = transaction.cursor(table)
            var isThere = try cursor.first()
            while isThere {
                rows.append("\(String(utf8: cursor.key) ?? "?"): \(String(utf8: cursor.value) ?? "?")")
                isThere = try cursor.next()
            }
            return rows
        }
    }
}
