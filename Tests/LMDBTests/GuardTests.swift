import Bytes
import EvstoreTesting
import Foundation
import Platform
import TestSupport
import Testing

@testable import LMDB

@Suite("What is asked of the system")
struct GuardTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test("a write transaction is of no use to another thread than its own")
    func thread() throws {
        let environment = try directory.environment()
        defer { environment.close() }
        let table = try environment.table("a")
        let refusal = Monitor<StorageError?>(nil)
        try environment.write { transaction in
            // Only for as long as the other thread runs, which is waited for.
            nonisolated(unsafe) let state = transaction.state
            try WorkerThread.start("other") {
                do throws(StorageError) { unsafe try state.checkUse() } catch { refusal.withLock { $0 = error } }
            }.join()
            try transaction.put(table, [1].lent, [1].lent)
        }
        let found = refusal.withLock { $0 }
        #expect(found?.isMisuse == true)
        #expect(try environment.read { try $0.count(table) } == 1)
    }

    @Test("files that were replaced or removed are written to no more", arguments: ["data.mdb", "lock.mdb"], [true, false])
    func inPlace(name: String, isReplaced: Bool) throws {
        let environment = try directory.environment()
        defer { environment.close() }
        let table = try environment.table("a")
        try environment.write { try $0.put(table, [1].lent, [1].lent) }
        let (path, aside) = (directory.path + "/" + name, directory.path + "/aside")
        try FileManager.default.moveItem(atPath: path, toPath: aside)
        // Not a copy: to read the file of locks in this process is another fault.
        if isReplaced { try Data(count: 4_096).write(to: URL(filePath: path)) }
        #expect { try environment.write { try $0.put(table, [2].lent, [2].lent) } } throws: { ($0 as? StorageError)?.isDamage == true }
        if isReplaced { try FileManager.default.removeItem(atPath: path) }
        try FileManager.default.moveItem(atPath: aside, toPath: path)
        try environment.write { try $0.put(table, [3].lent, [3].lent) }
        #expect(try environment.read { try $0.count(table) } == 2)
    }

    @Test("clearing dead readers waits for nobody: a map that grows waits for a reader, who may wait for the clearing")
    func growing() throws {
        let environment = try directory.environment()
        defer { environment.close() }
        let isDone = Monitor(false)
        let refusal = Monitor<StorageError?>(nil)
        try environment.read { _ in
            let growth = try WorkerThread.start("growth") {
                do throws(StorageError) { try environment.grow() } catch { refusal.withLock { $0 = error } }
            }
            while environment.gate.enterIfOpen() { environment.gate.leave() }
            let watch = try WorkerThread.start("watch") {
                do throws(StorageError) { try Environment.clearAllStaleReaders() } catch { refusal.withLock { $0 = error } }
                isDone.change { $0 = true }
            }
            #expect(isDone.wait(milliseconds: Patience.seconds * 1_000) { $0 }, "it waits")
            withExtendedLifetime((growth, watch)) {}
        }
        #expect(refusal.withLock { $0 } == nil)
    }

    @Test("what was left of the making of a lock file is removed at the next opening, and nothing else")
    func leftLockFiles() throws {
        try directory.environment().close()
        for name in ["lock.mdb.5f0c0123456789ab", "lock.mdb.note", "lock.mdb.", "other"] {
            _ = try File(directory.path + "/" + name, .createNew)
        }
        try directory.environment().close()
        #expect(try Directory.names(directory.path) == ["data.mdb", "lock.mdb", "lock.mdb.", "lock.mdb.note", "other"])
    }

    @Test("who reads longest is known, with the commit that he keeps")
    func oldestReader() throws {
        let environment = try directory.environment()
        defer { environment.close() }
        let table = try environment.table("a")
        #expect(try environment.oldestReader == nil)
        try environment.write { try $0.put(table, [1].lent, [1].lent) }
        try environment.read { reader in
            for value in 0 ..< UInt8(5) { try environment.write { try $0.put(table, [1].lent, [value].lent) } }
            let found = try environment.read { _ in try environment.oldestReader }
            #expect(found == Environment.Reader(process: ProcessIdentity.id, transaction: reader.id))
        }
        #expect(try environment.oldestReader == nil)
    }

    @Test("a directory is its maker's for as long as the maker lives")
    func owned() throws {
        var owned: OwnedDirectory? = try OwnedDirectory(directory.path + "/made-")
        let path = try #require(owned).path
        try Data("x".utf8).write(to: URL(filePath: path + "/file"))
        #expect(try !OwnedDirectory.removeIfAbandoned(path))
        #expect(FileManager.default.fileExists(atPath: path + "/file"))
        owned = nil
        #expect(try OwnedDirectory.removeIfAbandoned(path))
        #expect(!FileManager.default.fileExists(atPath: path))
        #expect(try !OwnedDirectory.removeIfAbandoned(path))
    }

    @Test("file systems are known by their numbers, and no others are sound")
    func fileSystems() throws {
        #expect(FileSystem(magic: 0xef53) == .persistent("ext4"))
        for (magic, name) in [(0x5846_5342 as UInt32, "xfs"), (0x9123_683e, "btrfs"), (0xf2f5_2010, "f2fs"), (0x2fc1_2fc1, "zfs")] {
            #expect(FileSystem(magic: magic) == .persistent(name))
            #expect(FileSystem(magic: magic).isCopyOnWrite == (name != "xfs"))
        }
        let ephemeral = [0x0102_1994 as UInt32, 0x794c_7630].map { FileSystem(magic: $0) }
        #expect(ephemeral.allSatisfy { if case .ephemeral = $0 { true } else { false } })
        let others =
            try [0x6969 as UInt32, 0xff53_4d42, 0x6573_5546, 0x0102_1997, 0x8584_58f6, 0x1234].map { FileSystem(magic: $0) }
            + [FileSystem.of("/proc")]
        #expect(others.allSatisfy { if case .unknown = $0 { true } else { false } })
    }
}
