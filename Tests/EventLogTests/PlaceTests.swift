import EventModel
import EvstoreTesting
import Foundation
import LMDB
import Platform
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("The place of a store")
struct PlaceTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    private func closedStore() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a"))
        try await log.close()
        for name in ["generations/ab-1", "drills", "archive", "scratch"] {
            try FileManager.default.createDirectory(
                atPath: directory.store + "/" + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        for name in [
            "generations/ab-1/data.mdb", "drills/one.json", "archive/one.jsonl", "ballast", "keys", "subjects", "cluster",
            "unconfirmed.jsonl",
        ] {
            try File(directory.store + "/" + name, .createNew).write([1])
        }
    }

    private func isRefused() throws -> Bool { try refusal() != nil }

    private func refusal() throws -> String? {
        do { _ = try EventLog.open(at: directory.store, options: .small()) } catch EvstoreError.unsafePermissions(_, let reason) {
            return reason
        }
        return nil
    }

    private static let names = [
        "", "evstore.json", "evstore.lock", "anchor", "ballast", "keys", "subjects", "log", "log/data.mdb", "log/lock.mdb", "log/turn",
        "generations",
        "generations/ab-1", "generations/ab-1/data.mdb", "drills/one.json", "archive/one.jsonl", "scratch", "cluster", "unconfirmed.jsonl",
    ]

    @Test("those are all the names that a store has")
    func complete() async throws {
        try await closedStore()
        let there = try Set(FileManager.default.contentsOfDirectory(atPath: directory.store))
        #expect(there.subtracting(StoreFiles.names) == [] && there.isSubset(of: Self.names + ["drills", "archive"]))
    }

    @Test("a store is refused where any name in it is a pipe or a device, which nobody waits for")
    func kinds() async throws {
        try await closedStore()
        let device = getuid() == 0 ? [S_IFCHR] : []
        for name in Self.names.dropFirst() {
            let (path, aside) = (directory.store + "/" + name, directory.path + "/aside")
            try FileManager.default.moveItem(atPath: path, toPath: aside)
            for kind in [S_IFIFO] + device {
                let code = unsafe mknod(path, kind | 0o600, 0x103)
                if code != 0 { continue }
                // The manifest is read before anything else, and so is the log where a crash may have left something.
                #expect(throws: EvstoreError.self, "\(name) \(kind)") { try EventLog.open(at: directory.store, options: .small()) }
                #expect(throws: EvstoreError.self, "\(name) \(kind)") { try EventLog.peek(at: directory.store) }
                try FileManager.default.removeItem(atPath: path)
            }
            try FileManager.default.moveItem(atPath: aside, toPath: path)
        }
        try await EventLog.open(at: directory.store, options: .small()).close()
    }

    @Test("what is made in a store's directory is not made behind a link, nor where others may write")
    func directories() async throws {
        try await makeLog(directory).close()
        let elsewhere = directory.path + "/elsewhere"
        try FileManager.default.createDirectory(atPath: elsewhere, withIntermediateDirectories: true)
        for name in ["scratch", "drills", "archive", "generations"] {
            let path = directory.store + "/" + name
            #expect(try StoreFiles.directory(name, of: directory.store) == path && Directory.status(path)?.isDirectory == true)
            try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: path)
            #expect(throws: EvstoreError.self) { try StoreFiles.directory(name, of: directory.store) }
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: elsewhere)
            #expect(throws: EvstoreError.self) { try StoreFiles.directory(name, of: directory.store) }
            try FileManager.default.removeItem(atPath: path)
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: elsewhere) == [])
    }

    @Test("a store is refused where other users can write to any of its files")
    func permissions() async throws {
        try await closedStore()
        for name in Self.names {
            let path = directory.store + "/" + name
            let mode = try #require(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int)
            for open in [0o020, 0o002] {
                try FileManager.default.setAttributes([.posixPermissions: mode | open], ofItemAtPath: path)
                #expect(try isRefused(), "\(name) \(open)")
            }
            try FileManager.default.setAttributes([.posixPermissions: mode], ofItemAtPath: path)
        }
        try await EventLog.open(at: directory.store, options: .small()).close()
    }

    @Test("a copy without evstore.lock is refused in words that say what to make, and opens once that is there")
    func withoutLock() async throws {
        try await closedStore()
        let path = directory.store + "/evstore.lock"
        try FileManager.default.removeItem(atPath: path)
        do {
            _ = try EventLog.open(at: directory.store, options: .small())
            Issue.record("a store without its locks was opened")
        } catch {
            guard case EvstoreError.ioFailure(_, let reason) = error else { throw error }
            #expect(reason.contains("evstore.lock is missing") && reason.contains("make an empty file"))
        }
        try File(path, .createNew).write([])
        try await EventLog.open(at: directory.store, options: .small()).close()
    }

    @Test("a directory that its owner can't enter is named by the error", .enabled(if: getuid() != 0, "root may enter all"))
    func barred() async throws {
        try await closedStore()
        let path = directory.store + "/generations"
        try FileManager.default.setAttributes([.posixPermissions: 0], ofItemAtPath: path)
        #expect(throws: EvstoreError.readOnly(path: path)) { try EventLog.open(at: directory.store, options: .small()) }
        try FileManager.default.setAttributes([.posixPermissions: 0o700], ofItemAtPath: path)
        try await EventLog.open(at: directory.store, options: .small()).close()
    }

    @Test("a store is refused where any of its files is a link or a pipe; its own directory may be a link")
    func links() async throws {
        try await closedStore()
        for name in Self.names.dropFirst() {
            let (path, aside) = (directory.store + "/" + name, directory.path + "/aside")
            try FileManager.default.moveItem(atPath: path, toPath: aside)
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: aside)
            // The manifest is read before anything else.
            if name == "evstore.json" {
                #expect(throws: EvstoreError.self) { try EventLog.open(at: directory.store, options: .small()) }
            } else {
                #expect(try refusal()?.hasPrefix("\(path) is a symbolic link") == true, "\(name)")
            }
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.moveItem(atPath: aside, toPath: path)
        }
        try FileManager.default.removeItem(atPath: directory.store + "/ballast")
        let code = unsafe mkfifo(directory.store + "/ballast", 0o600)
        #expect(code == 0)
        #expect(try isRefused())
        try FileManager.default.removeItem(atPath: directory.store + "/ballast")
        let link = directory.path + "/link"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: directory.store)
        try await EventLog.open(at: link, options: .small()).close()
    }

    @Test("a store is refused where any of its files is another user's", .enabled(if: getuid() == 0, "only root can give a file away"))
    func owners() async throws {
        try await closedStore()
        for name in Self.names.dropFirst() {
            let path = directory.store + "/" + name
            try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: path)
            #expect(try isRefused(), "\(name)")
            try FileManager.default.setAttributes([.ownerAccountID: 0], ofItemAtPath: path)
        }
        // Root looks after a store of another user's.
        for name in Self.names {
            try FileManager.default.setAttributes([.ownerAccountID: 65_534], ofItemAtPath: directory.store + "/" + name)
        }
        try FileManager.default.removeItem(atPath: directory.store + "/ballast")
        let before = Set(FileManager.default.enumerator(atPath: directory.store)?.compactMap { $0 as? String } ?? [])
        let log = try EventLog.open(at: directory.store, options: .small { $0.ballastBytes = 1 << 16 })
        for number in 0 ..< 50 { try await log.add(event("a", "\(number)")) }
        try await log.close()
        // What root has made there locks nobody out.
        let all = FileManager.default.enumerator(atPath: directory.store)?.compactMap { $0 as? String } ?? []
        #expect(all.contains("log/ahead") && all.contains("ballast"))
        for name in all where !before.contains(name) {
            #expect(try Directory.ownStatus(directory.store + "/" + name)?.owner == 65_534, "\(name)")
        }
    }

    @Test("a log whose file was replaced while it was open refuses to write, and leaves no mark of a closed file")
    func replaced() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a", "1"))
        let (data, aside) = (directory.store + "/log/data.mdb", directory.path + "/aside")
        try FileManager.default.moveItem(atPath: data, toPath: aside)
        try FileManager.default.copyItem(atPath: aside, toPath: data)
        let replaced = EvstoreError.replaced(path: directory.store)
        await #expect(throws: replaced) { try await log.add(event("a", "2")) }
        // What looks like damage then comes of reading files of two stores.
        #expect(throws: replaced) { try log.read { _ in throw EvstoreError.corruptBlock(position: Position(1), reason: "r") } }
        #expect(throws: EvstoreError.unknownSnapshot("s", known: [])) {
            try log.read { _ in throw EvstoreError.unknownSnapshot("s", known: []) }
        }
        try await log.close()
        #expect(try LogFile.isDoubtful(at: directory.store))
        let again = try EventLog.open(at: directory.store, options: .small())
        #expect(try again.payloads("a") == ["1"])
        try await again.close()
    }

    @Test("a ballast that was copied as holes is filled again at the next opening")
    func holes() async throws {
        let options = Options.small { $0.ballastBytes = 1 << 20 }
        try await makeLog(directory, options).close()
        func room() throws -> Int { try File(directory.store + "/ballast", .read).status().bytesOnDisk }
        #expect(try room() >= 1 << 20)
        let file = try File(directory.store + "/ballast", .write)
        try file.truncate(to: 0)
        try file.truncate(to: 1 << 20)
        #expect(try room() == 0)
        try await EventLog.open(at: directory.store, options: options).close()
        #expect(try room() >= 1 << 20)
    }

    @Test("files that are written through a map, and that were copied as holes or cut short, have all their blocks while the log is open")
    func mappedHoles() async throws {
        try await makeLog(directory).close()
        let paths = ["lock.mdb", "turn"].map { directory.store + "/log/" + $0 }
        for left in [Int.max, 64, 0] {
            for path in paths {
                let file = try File(path, .write)
                let bytes = try file.status().bytes
                try file.truncate(to: 0)
                try file.truncate(to: min(bytes, left))
                #expect(try file.status().bytesOnDisk == 0)
            }
            let log = try EventLog.open(at: directory.store, options: .small())
            try await log.add(event("a"))
            // Closing a file of its own would drop LMDB's locks: only the names are asked.
            for path in paths {
                let status = try #require(try Directory.status(path))
                #expect(status.bytes >= SharedPage.bytes && status.bytesOnDisk >= status.bytes, "\(path), of which \(left) bytes were left")
            }
            try await log.close()
        }
    }

    @Test("a full disk is told of the store for its own files, else of the file, or of the nearest directory where it was to be made")
    func fullDisk() throws {
        let (store, backups) = (directory.store, directory.path + "/backups")
        try Directory.create(backups)
        func told(of path: String?) throws -> String {
            let error = storeError(StorageError(ENOSPC, "writing", at: path), store, doing: "d")
            guard case .diskFull(let path, let free, nil, nil, isOverQuota: false) = error else { throw error }
            #expect(free > 0)
            return path
        }
        // The store itself is not there: it is being made.
        for path in [nil, store, store + "/log/ahead", store + ".new-0123456789abcdef/log/data.mdb"] {
            #expect(try told(of: path) == store, "\(path ?? "nil")")
        }
        #expect(try told(of: backups) == backups && told(of: backups + "/blocks/1.new") == backups)
        #expect(try told(of: store + "2") == directory.path)
    }

    @Test("a quota that is used up is told as one, with advice that does not send anybody to look at the disk")
    func quota() {
        let error = storeError(StorageError(EDQUOT, "writing", at: directory.path), directory.path, doing: "d")
        guard case .diskFull(directory.path, let free, nil, nil, isOverQuota: true) = error else {
            Issue.record(error)
            return
        }
        #expect(free > 0 && error.message.contains("the quota for files under \(directory.path) is used up, though the disk has \(free)"))
        #expect(error.fix?.contains("quota") == true && Ballast.isFullDisk(error))
    }

    @Test("the ballast is made with the store and filled again at an opening, but not where too little room is left beside it")
    func ballast() async throws {
        let options = Options.small { $0.ballastBytes = 1 << 20 }
        func bytes() throws -> Int? { try Directory.status(directory.store + "/ballast")?.bytes }
        try await makeLog(directory, options).close()
        #expect(try bytes() == 1 << 20)
        #expect(try Ballast(directory.store, options).lend() == 1 << 20 && bytes() == 0)
        #expect(try Ballast(directory.store, options).lend() == nil)
        // Where the locks need room, a part is lent.
        try Ballast(directory.store, options).fill()
        #expect(try Ballast(directory.store, options).lend(part: 1 << 16) != nil && bytes() == (1 << 20) - (1 << 16))
        #expect(try Ballast(directory.store, options).lend(part: 1 << 20) != nil && bytes() == 0)
        var full = options
        full.freeDiskFloorBytes = 1 << 60
        try await EventLog.open(at: directory.store, options: full).close()
        try await EventLog.open(at: directory.store, options: options, readOnly: true).close()
        #expect(try bytes() == 0)
        try await EventLog.open(at: directory.store, options: options).close()
        #expect(try bytes() == 1 << 20)
    }

    @Test("what the ballast has lent comes back where the second try finds no room either", arguments: [1 << 16, Int.max])
    func lentInVain(part: Int) async throws {
        let options = Options.small { $0.ballastBytes = 1 << 20 }
        let log = try makeLog(directory, options)
        func status() throws -> FileStatus { try #require(try Directory.status(directory.store + "/ballast")) }
        let full = EvstoreError.diskFull(path: directory.store, freeBytes: 0)
        var left: [Int] = []
        #expect(throws: full) {
            try Ballast(directory.store, options).lent(part: part) {
                left.append(try status().bytes)
                throw full
            }
        }
        #expect(try left == [1 << 20, max((1 << 20) - part, 0)] && status().bytes == 1 << 20 && status().bytesOnDisk >= 1 << 20)
        var thrown: EvstoreError?
        do throws(EvstoreError) { try await log.withBallast { () async throws(EvstoreError) in throw full } } catch { thrown = error }
        #expect(thrown == full)
        #expect(try status().bytes == 1 << 20 && status().bytesOnDisk >= 1 << 20)
        // What the second try needed stays lent.
        var tries = 0
        try Ballast(directory.store, options).lent(part: 1 << 16) {
            tries += 1
            if tries == 1 { throw full }
        }
        #expect(try status().bytes == (1 << 20) - (1 << 16))
        try await log.close()
    }

    @Test("opening removes what an interrupted creation left, and leaves a creation that is under way")
    func leftovers() async throws {
        let alive = try OwnedDirectory(directory.store + ".new-")
        let left = directory.store + ".new-10c0ffee10c0ffee"
        // Stores that somebody called so.
        let others = ["test", "1", "20261122", "10c0ffee10c0ffee-2", "10C0FFEE10C0FFEE"].map { directory.store + ".new-" + $0 }
        for path in others + [left] { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        try await makeLog(directory).close()
        let isThere = { (path: String) in FileManager.default.fileExists(atPath: path) }
        #expect(isThere(alive.path) && !isThere(left) && others.allSatisfy(isThere))
    }
}
