import Bytes
import Glibc
import LMDB
import Platform

/// What becomes of an LMDB environment that is open at a fork. The process has one thread: of several, a child would have
/// their locks and not the threads.
struct ForkedEnvironment {
    let environment: Environment
    let table: Table

    private static let old = [UInt8](repeating: 1, count: 50_000)
    private static let new = [UInt8](repeating: 2, count: 50_000)

    init(in directory: String) throws {
        environment = try Self.open(directory)
        table = try environment.table("a")
    }

    private static func open(_ directory: String) throws -> Environment {
        try Environment.open(directory: directory, Environment.Configuration(tables: ["a"], mapBytes: 1 << 26, creating: true))
    }

    /// The child opens it anew, which ends its copy of the parent's, and both write.
    static func again(in directory: String) throws {
        var environment = try open(directory)
        try write(1, environment)
        let child = try Fork.child()
        if child == 0 {
            do {
                environment = try open(directory)
                for key in UInt8(2) ... 4 { try write(key, environment) }
            } catch {
                Fork.say("child: \(error)")
                _exit(1)
            }
            _exit(0)
        }
        Fork.say("child: \(Fork.wait(for: child))")
        try write(5, environment)
        let table = try environment.table("a")
        Fork.say("rows: \(try environment.read { try $0.count(table) })")
    }

    private static func write(_ key: UInt8, _ environment: Environment) throws {
        let table = try environment.table("a")
        try environment.write { try $0.put(table, [key].lent, old.lent) }
    }

    /// The child tries every use of it.
    func refused() throws {
        let uses: [() throws -> Void] = [
            { try environment.read { _ = try $0.count(table) } }, { try environment.write { try $0.removeAll(table) } },
            { _ = try environment.usage }, { try environment.sync() }, { try environment.setSyncing(false) },
            { try environment.clearStaleReaders() },
        ]
        for use in uses {
            let child = try Fork.child()
            if child == 0 { Self.exit(use) }
            Fork.say("child: \(Fork.wait(for: child))")
        }
        try environment.write { try $0.put(table, [1].lent, [1].lent) }
        Fork.say("rows: \(try environment.read { try $0.count(table) })")
    }

    /// The child ends its copy of a read transaction; the parent goes on reading while others write.
    func reading() throws {
        try environment.write { try $0.put(table, [1].lent, Self.old.lent) }
        var child: pid_t = -1
        try environment.read { reader in
            child = try Fork.child()
            if child == 0 { return }
            Fork.say("child: \(Fork.wait(for: child))")
            for _ in 0 ..< 20 { try environment.write { try $0.put(table, [1].lent, Self.new.lent) } }
            Fork.say("kept: \(try Self.value(reader, table) == Self.old)")
        }
        if child == 0 { _exit(0) }
        Fork.say("new: \(try environment.read { try Self.value($0, table) } == Self.new)")
    }

    /// The child ends its copy of a write transaction, and the parent commits its own.
    func writing() throws {
        var child: pid_t = -1
        do {
            try environment.write { transaction in
                try transaction.put(table, [1].lent, Self.old.lent)
                child = try Fork.child()
                if child == 0 { return }
                Fork.say("child: \(Fork.wait(for: child))")
                try transaction.put(table, [2].lent, Self.old.lent)
            }
        } catch { if child == 0 { Self.exit { throw error } } else { throw error } }
        if child == 0 { _exit(1) }
        Fork.say("rows: \(try environment.read { try $0.count(table) })")
        try environment.write { try $0.put(table, [3].lent, [3].lent) }
        Fork.say("rows: \(try environment.read { try $0.count(table) })")
    }

    /// What a child ends with: 0 where `body` was refused as misuse.
    private static func exit(_ body: () throws -> Void) -> Never {
        do { try body() } catch let error as StorageError { _exit(error.isMisuse ? 0 : 2) } catch { _exit(3) }
        _exit(1)
    }

    private static func value(_ reader: borrowing ReadTransaction, _ table: Table) throws -> [UInt8]? {
        guard let value = try reader.get(table, [1].lent) else { return nil }
        return [UInt8](copying: value)
    }
}
