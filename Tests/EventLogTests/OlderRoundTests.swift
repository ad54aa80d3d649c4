import Bytes
import EventModel
import EvstoreTesting
import Foundation
import Hashing
import LMDB
import Platform
import TestStores
import TestSupport
import Testing

@testable import EventLog

/// A store of format 4 as a program of that format leaves it where the power goes within a round.
private struct OldStore {
    let path: String
    /// What it must have once it is put right.
    let events: [String]
    private let base: MetaPage
    private let blocks: [[UInt8]]
    private let storeID: StoreID

    init(_ directory: TemporaryDirectory) async throws {
        path = directory.store
        let log = try makeLog(directory)
        storeID = log.storeID
        for number in 0 ..< 20 { try await log.add(event("s-\(number % 3)", "\(number)")) }
        // The round's commit keeps its pages.
        try await log.update { try $0.put(Catalogue.notes, [1], [1]) }
        var pin = try log.access.environment.pin()
        let transaction = try #require(pin?.transaction)
        let data = try File(path + "/log/data.mdb", .read)
        base = try MetaPage(data.read(MetaPage.size, at: Int(transaction & 1) * 4_096), number: UInt64(transaction & 1), in: data.path)
        let last = try log.read { $0.last.position }
        for number in 20 ..< 30 { try await log.add(event("s-\(number % 3)", "\(number)")) }
        try await log.update { try $0.put(Catalogue.notes, [2], [2]) }
        events = try log.everything()
        blocks = try log.read { reader in
            var blocks: [[UInt8]] = []
            try Blocks.forEach(after: last, reader.transaction, reader.access) { block in
                blocks.append([UInt8](copying: block.bytes))
                return true
            }
            return blocks
        }
        // Order: before the environment is closed.
        pin = nil
        try await log.close()
        let manifest = path + "/evstore.json"
        let text = try String(contentsOfFile: manifest, encoding: .utf8)
        try text.replacing(#""format" : 9"#, with: #""format" : 4"#).replacing("  \"layout\" : 4,\n", with: "")
            .write(toFile: manifest, atomically: false, encoding: .utf8)
    }

    /// The pages of the round's own commits are lost, and `log/ahead` has their blocks, each as an entry.
    func breakOff() throws {
        let data = try File(path + "/log/data.mdb", .write)
        let (size, start) = (try data.status().bytes, (Int(base.lastPage) + 1) * base.pageBytes)
        if size > start { try data.write([UInt8](repeating: 0, count: size - start), at: start) }
        var file = [UInt8](repeating: 0, count: WriteAhead.fileBytes)
        func put(_ bytes: [UInt8], at offset: Int) { file.replaceSubrange(offset ..< offset + bytes.count, with: bytes) }
        put(roundHeader(storeID, base: base.bytes), at: WriteAhead.pageBytes)
        var offset = WriteAhead.entriesStart
        for block in blocks {
            let first = block.lent.load(UInt64.self, at: BlockLayout.Header.first)
            let count = UInt64(block.lent.load(UInt32.self, at: BlockLayout.Header.count))
            var entry = bytes(UInt32(0x01_65_76_65)) + bytes(UInt32(block.count)) + bytes(UInt64(7)) + bytes(first)
            entry += bytes(first + count - 1) + block
            entry += bytes(checksum(entry.lent))
            put(entry, at: offset)
            offset += (entry.count + WriteAhead.pageBytes - 1) / WriteAhead.pageBytes * WriteAhead.pageBytes
        }
        try File(path + WriteAhead.fileName, .create).write(file)
        let anchor = path + "/anchor"
        if try Directory.status(anchor) != nil { try FileManager.default.removeItem(atPath: anchor) }
    }
}

/// The header of a round that was not ended, of a boot before this one.
private func roundHeader(_ storeID: StoreID, base: [UInt8]) -> [UInt8] {
    var header: [UInt8] = bytes(UInt32(0x01_77_76_65)) + bytes(UInt32(1)) + bytes(UInt64(7)) + storeID.bytes
    header += bytes(WriteAhead.Header.bootDigest &+ 1) + base
    return header + bytes(checksum(header.lent))
}

@Suite("What a program of an older format has left")
struct OlderRoundTests {
    @Test("a round that was not ended is put right, whatever the power cut has left of its commits, and the store has the new format then")
    func powerCut() async throws {
        let directory = try TemporaryDirectory()
        let old = try await OldStore(directory)
        try old.breakOff()
        for _ in 0 ..< 2 {
            let log = try EventLog.open(at: old.path, options: .small())
            #expect(try log.everything() == old.events && log.verify(deep: true).isEmpty)
            try await log.close()
        }
        let log = try EventLog.open(at: old.path, options: .small())
        try await log.add(event("s-1", "new"))
        #expect(try log.everything().count == old.events.count + 1)
        try await log.close()
        #expect(try Manifest.isFormatCurrent(at: old.path) && Manifest.identity(at: old.path).format == 4)
    }

    @Test("a header of an older program counts for nothing in a store that such a program can't open")
    func forged() async throws {
        let directory = try TemporaryDirectory()
        let log = try makeLog(directory)
        try await log.add(event("a"))
        let everything = try log.everything()
        try await log.close()
        let data = try File(directory.store + "/log/data.mdb", .read)
        var base = try data.read(MetaPage.size)
        for number in [0, 1, 7] as [UInt64] {
            base.replaceSubrange(144 ..< 152, with: bytes(number))
            let ahead = try File(directory.store + WriteAhead.fileName, .create)
            try ahead.write(roundHeader(log.storeID, base: base), at: WriteAhead.pageBytes)
            let again = try EventLog.open(at: directory.store, options: .small())
            #expect(try again.everything() == everything && again.verify(deep: true).isEmpty)
            try await again.close()
        }
    }

    @Test("a store of an older format is raised by whoever has it alone, and by one of several that start at once")
    func raised() async throws {
        let directory = try TemporaryDirectory()
        let old = try await OldStore(directory)
        let held = try StoreLock.presence.acquire(at: old.path, shared: true, what: "has it open")
        #expect { try EventLog.open(at: old.path, options: .small()) } throws: { ($0 as? EvstoreError)?.code == "locked" }
        let reader = try EventLog.open(at: old.path, options: .small(), readOnly: true)
        #expect(try reader.everything() == old.events)
        try await reader.close()
        try held.release()
        #expect(try !Manifest.isFormatCurrent(at: old.path))
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0 ..< 4 {
                group.addTask {
                    let log = try EventLog.open(at: old.path, options: .small())
                    try await log.add(event("more"))
                    try await log.close()
                }
            }
            try await group.waitForAll()
        }
        let log = try EventLog.open(at: old.path, options: .small())
        #expect(try log.everything().count == old.events.count + 4 && log.verify(deep: true).isEmpty)
        try await log.close()
    }
}
