import EventModel
import EvstoreTesting
import Foundation
import LMDB
import Platform
import TestStores
import TestSupport
import Testing

@testable import EventLog

@Suite("Opening a store")
struct StoreOpeningTests {
    let directory: TemporaryDirectory
    private var data: String { directory.store + "/log/data.mdb" }

    init() throws { directory = try TemporaryDirectory() }

    /// Changes a byte of the newest meta page: where the main tree's entries are counted, which LMDB never looks at.
    private func spoil(_ path: String) throws {
        let file = try File(path, .write)
        func transaction(_ page: Int) throws -> [UInt8] { try file.read(8, at: page + 144).reversed() }
        let newest = try transaction(0).lexicographicallyPrecedes(transaction(4_096)) ? 4_096 : 0
        let offset = newest + 88 + 32
        try file.write([try file.read(1, at: offset)[0] + 1], at: offset)
    }

    @Test("a copied store's pages are checked at the opening, which succeeds where they are sound")
    func copied() async throws {
        let log = try makeLog(directory)
        _ = try await log.append(AppendRequest(events: [event("a")]))
        try await log.close()
        let copy = directory.path + "/copy"
        try FileManager.default.copyItem(atPath: directory.store, toPath: copy)
        #expect(try LogFile.isDoubtful(at: copy) && !LogFile.isDoubtful(at: directory.store))
        try await EventLog.open(at: copy, options: .small()).close()
        #expect(try !LogFile.isDoubtful(at: copy))
        let broken = directory.path + "/broken"
        try FileManager.default.copyItem(atPath: directory.store, toPath: broken)
        try spoil(broken + "/log/data.mdb")
        #expect { try EventLog.open(at: broken, options: .small()) } throws: { error in
            guard case EvstoreError.storeDamaged(_, let reason) = error else { return false }
            return reason.contains("page ") && reason.contains("rule 23")
        }
    }

    @Test("a file's time may be of another century")
    func otherCentury() async throws {
        try await makeLog(directory).close()
        let time = Date(timeIntervalSince1970: 10_413_792_000)
        for name in ["evstore.json", "anchor", "log/data.mdb", "log"] {
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: directory.store + "/" + name)
        }
        let log = try EventLog.open(at: directory.store, options: .small())
        _ = try await log.append(AppendRequest(events: [event("a")]))
        try await log.close()
    }

    @Test("what an interrupted promotion or departure has left is made up for at the next opening")
    func layout() async throws {
        try await makeLog(directory).close()
        try Manifest.set(isOrderedElsewhere: true, at: directory.store)
        try await EventLog.open(at: directory.store, options: .small(), readOnly: true).close()
        #expect(try Manifest.identity(at: directory.store).isOrderedElsewhere)
        try await EventLog.open(at: directory.store, options: .small()).close()
        #expect(try !Manifest.identity(at: directory.store).isOrderedElsewhere)
    }

    @Test("a change of a file by another program is found by verify, or at an opening by the file's time")
    func vouched() async throws {
        let log = try makeLog(directory)
        _ = try await log.append(AppendRequest(events: [event("a")]))
        try spoil(data)
        let found = try log.verify(deep: false)
        #expect(found.map(\.id) == ["STORE007"])
        try await log.close()
        // The change is older than the mark.
        try await EventLog.open(at: directory.store, options: .small(), readOnly: true).close()
        try FileManager.default.setAttributes([.modificationDate: Date()], ofItemAtPath: data)
        #expect(throws: EvstoreError.self) { try EventLog.open(at: directory.store, options: .small()) }
    }

    @Test("a process that closes the store while others have it open, or after its disk has failed, does not mark it as closed")
    func closing() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a"))
        let other = try EventLog.open(at: directory.store, options: .small(), readOnly: true)
        // Two handles of one process share its locks as two processes do.
        try await log.close()
        #expect(try Anchor.read(at: directory.store)?.mark.isClosed == false)
        try await other.close()
        let last = try EventLog.open(at: directory.store, options: .small())
        try await last.close()
        #expect(try Anchor.read(at: directory.store)?.mark.isClosed == true)
        let next = try EventLog.open(at: directory.store, options: .small())
        #expect(try Anchor.read(at: directory.store)?.mark.isClosed == true)
        try await next.add(event("a"))
        #expect(try Anchor.read(at: directory.store)?.mark.isClosed == false)
        try await next.close()
    }

    @Test("a file marked as doubtful by a process whose disk failed stays so, whichever process writes, until all pages were checked")
    func disowned() async throws {
        let log = try makeLog(directory)
        let other = try EventLog.open(at: directory.store, options: .small())
        try await log.add(event("a"))
        try AnchorFile(at: directory.store).markDoubtful()
        func isMarkedDoubtful() throws -> Bool { try Anchor.read(at: directory.store)?.mark.matchesNothing == true }
        try await log.add(event("a"))
        #expect(try isMarkedDoubtful(), "a commit notes the log's end alone")
        try await other.add(event("a"))
        #expect(try isMarkedDoubtful(), "so does a process with its first commit")
        for one in [log, other] { try await one.close() }
        #expect(try Anchor.read(at: directory.store)?.last == Position(3))
        #expect(try isMarkedDoubtful() && LogFile.isDoubtful(at: directory.store))
        try await EventLog.open(at: directory.store, options: .small()).close()
        #expect(try !LogFile.isDoubtful(at: directory.store))
    }

    @Test("a mark as doubtful is kept while other processes note their commits")
    func disownedMeanwhile() async throws {
        let log = try makeLog(directory)
        for round in 0 ..< 20 {
            try await log.add(event("a"))
            async let appended: Void = { for _ in 0 ..< 20 { try await log.add(event("a")) } }()
            try AnchorFile(at: directory.store).markDoubtful()
            try await appended
            #expect(try Anchor.read(at: directory.store)?.mark.matchesNothing == true, "round \(round)")
            try LogFile.markChecked(at: directory.store)
        }
        try await log.close()
    }

    @Test("an opening that makes a table which the store lacks leaves what is ahead of the log as it is")
    func tables() async throws {
        let log = try makeLog(directory)
        var configuration = TableDescriptor.log.configuration(.small(), readOnly: false)
        configuration.tables.append("more")
        var count = 0
        // On a slow machine appends may not follow each other quickly enough to be written ahead.
        while count < 200 {
            try await log.add(event("a"))
            count += 1
            if try log.access.environment.read({ $0.ahead != nil }) { break }
        }
        let environment = try Environment.open(directory: directory.store + "/log", configuration)
        #expect(environment.find("more") != nil)
        environment.close()
        #expect(try log.everything().count == count)
        try await log.add(event("a"))
        try await log.close()
        let again = try EventLog.open(at: directory.store, options: .small())
        #expect(try again.everything().count == count + 1)
        try await again.close()
    }

    @Test("many processes can open a copied store at once")
    func atOnce() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a"))
        try await log.close()
        for round in 0 ..< 5 {
            let copy = directory.path + "/copy-\(round)"
            try FileManager.default.copyItem(atPath: directory.store, toPath: copy)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0 ..< 8 {
                    group.addTask {
                        let log = try EventLog.open(at: copy, options: .small(), readOnly: round % 2 == 0)
                        #expect(try log.everything().count == 1)
                        try await log.close()
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("a copied store that can't be written can still be read", .enabled(if: getuid() != 0))
    func readOnly() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a"))
        try await log.close()
        let copy = directory.path + "/copy"
        try FileManager.default.copyItem(atPath: directory.store, toPath: copy)
        for name in ["evstore.lock", "log/data.mdb"] {
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: copy + "/" + name)
        }
        let read = try EventLog.open(at: copy, options: .small(), readOnly: true)
        #expect(try read.everything().count == 1)
        try await read.close()
    }

    @Test("a mark matches only its own file: as it was closed, or in use on this boot")
    func marks() throws {
        let (one, other) = (directory.path + "/one", directory.path + "/other")
        for path in [one, other] { try File(path, .createNew).write([1, 2, 3]) }
        let (status, otherStatus) = (try File(one, .read).status(), try File(other, .read).status())
        for isClosed in [true, false] {
            let mark = FileMark(status, isClosed: isClosed)
            #expect(mark.matches(status) && !mark.matches(otherStatus))
            try File(one, .write).write([4, 5, 6, 7])
            #expect(try mark.matches(File(one, .read).status()) == !isClosed)
            #expect(mark.isClosed == isClosed)
            try File(one, .write).write([1])
        }
    }
}
