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
@testable import LogKeeping

/// Blocks that somebody else has made: whole, with right checksums and links, and wrong in what they say.
@Suite("Blocks of which one value is wrong though their checksum holds")
struct ForeignBlockTests {
    /// Where things lie in the one block of the store.
    struct Places {
        let names: Int
        /// Of the records.
        let starts: [Int]
        let end: Int
    }

    struct Change: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let make: @Sendable (inout ByteBuffer, Places) -> Void

        init(_ what: String, _ make: @escaping @Sendable (inout ByteBuffer, Places) -> Void) { (testDescription, self.make) = (what, make) }

        /// A number of a record.
        static func record(_ index: Int, _ offset: Int, _ value: UInt64, _ what: String) -> Change {
            Change(what) { $0.store(littleEndian: value, at: $1.starts[index] + offset) }
        }

        /// A byte of a record behind its head.
        static func text(_ index: Int, _ offset: Int, _ byte: UInt8, _ what: String) -> Change {
            Change(what) { $0.store(littleEndian: byte, at: $1.starts[index] + BlockLayout.recordBytes + offset) }
        }
    }

    static let changes: [Change] = [
        .text(0, 16, 0x1b, "a stream's name has an escape"), .text(0, 16, 0x20, "a stream's name has a space"),
        .text(0, 16, 0xff, "a stream's name is no ASCII"), .text(1, 0, 0x00, "an id has a zero byte"),
        .text(1, 0, 0xff, "an id is no UTF-8"),
        Change("a type's name is no UTF-8") { $0.store(littleEndian: 0xff as UInt8, at: $1.names + 5) },
        Change("types come twice") { $0.store(littleEndian: 2 as UInt32, at: $1.names) },
        Change("a type is number 0") { $0.store(littleEndian: 0 as UInt32, at: $1.names) },
        Change("types fall") { $0.store(littleEndian: 9 as UInt32, at: $1.names) },
        Change("the mask says nothing") { block, _ in block.store(littleEndian: 0 as UInt64, at: BlockLayout.Header.mask) },
        Change("the mask says too much") { block, _ in block.store(littleEndian: UInt64.max, at: BlockLayout.Header.mask) },
        Change("a record has a type without a name") { $0.store(littleEndian: 7 as UInt32, at: $1.starts[2] + BlockLayout.Record.type) },
        .record(0, BlockLayout.Record.stream, 3, "a stream begins elsewhere"),
        .record(0, BlockLayout.Record.previous, 1, "a first event has one before it"),
        .record(2, BlockLayout.Record.previous, 3, "an event comes before itself"),
        .record(2, BlockLayout.Record.previous, 9, "an event comes before one that follows"),
        .record(2, BlockLayout.Record.previous, 0, "an event comes after nothing"),
        .record(2, BlockLayout.Record.jump, 3, "a jump leads nowhere"), .record(2, BlockLayout.Record.jump, 0, "a jump leads before all"),
        .record(2, BlockLayout.Record.jump, .max, "a jump leads beyond all"),
        .record(2, BlockLayout.Record.stream, 0, "an event has no stream"),
        .record(2, BlockLayout.Record.stream, 2, "an event's stream begins after the one before it"),
        .record(2, BlockLayout.Record.revision, .max, "a revision is the last of all"),
        .record(2, BlockLayout.Record.revision, 2, "a revision has no room"),
    ]

    /// A closed store with one block of three events, changed with checksums and link made right again.
    private func store(_ directory: TemporaryDirectory, _ change: Change) async throws {
        let log = try makeLog(directory, .small { ($0.sweepDueEvents, $0.sweepForcedEvents) = (1, 1) })
        try await log.add(event("a", "1", type: "one"), event("b", "2", type: "two", id: "given"), event("a", "3", type: "one"))
        try await log.close()
        let file = try File(directory.store + "/log/data.mdb", .write)
        let bytes = try file.read(file.status().bytes)
        for offset in stride(from: 0, to: bytes.count - 4, by: 2) where bytes.lent.load(UInt32.self, at: offset) == BlockLayout.magic {
            var block = ByteBuffer()
            block.append(bytes.lent.slice(offset, Int(bytes.lent.load(UInt32.self, at: offset + BlockLayout.Header.bytes))))
            let end = block.count - BlockLayout.checksumBytes
            let table = Int(block.bytes.load(UInt32.self, at: BlockLayout.Header.offsets))
            let starts = (0 ..< 3).map { Int(block.bytes.load(UInt32.self, at: table + 8 * $0)) }
            change.make(&block, Places(names: BlockLayout.headerBytes, starts: starts, end: end))
            for (index, start) in starts.enumerated() {
                let sum = checksum(block.bytes.slice(start, (index < 2 ? starts[index + 1] : end) - start))
                let place = BlockLayout.place(log.storeID.tag, .first, Position(UInt64(index + 1)))
                block.store(littleEndian: UInt32(truncatingIfNeeded: sum) ^ place, at: table + 8 * index + 4)
            }
            let link = BlockDraft.link(after: Epochs.genesis(log.storeID), block.bytes.slice(0, end))
            block.overwrite(link.bytes.lent, at: BlockLayout.Header.link)
            let sum = checksum(block.bytes.slice(0, end))
            block.store(littleEndian: sum, at: end)
            try file.write(block.array(), at: offset)
        }
    }

    private func isCorrupt(_ body: () throws -> Void) throws -> Bool {
        do { try body() } catch EvstoreError.corruptBlock { return true }
        return false
    }

    @Test("are refused by reads, verification, backups and salvages", arguments: changes)
    func refused(_ change: Change) async throws {
        let directory = try TemporaryDirectory()
        try await store(directory, change)
        // The anchor knows the block by its link.
        try FileManager.default.removeItem(atPath: directory.store + "/anchor")
        let log = try EventLog.open(at: directory.store, options: .small(), readOnly: true)
        #expect(try isCorrupt { _ = try log.everything() })
        #expect(try isCorrupt { _ = try log.backUp { _, _ in } })
        #expect(try log.verify(deep: true).map(\.id).contains("STORE001"))
        for stream in ["a", "b"] {
            do { _ = try log.payloads(stream) } catch EvstoreError.corruptBlock {}
            do { _ = try log.payloads(stream, backwards: true) } catch EvstoreError.corruptBlock {}
        }
        try await log.close()
        await #expect { _ = try await Salvaged(directory.store, into: directory.path + "/new") } throws: {
            ($0 as? EvstoreError)?.code == "nothingToSalvage"
        }
    }

    @Test("are accepted where no value is wrong")
    func taken() async throws {
        let directory = try TemporaryDirectory()
        try await store(directory, Change("nothing") { _, _ in })
        let log = try EventLog.open(at: directory.store, options: .small(), readOnly: true)
        #expect(try log.everything().count == 3 && log.verify(deep: true).isEmpty)
        try await log.close()
    }

    @Test("are found by a verification where they give a type another name than other blocks do")
    func otherNames() async throws {
        let directory = try TemporaryDirectory()
        try await store(directory, Change("another name") { $0.store(littleEndian: UInt8(ascii: "x"), at: $1.names + 5) })
        try FileManager.default.removeItem(atPath: directory.store + "/anchor")
        let log = try EventLog.open(at: directory.store, options: .small(), readOnly: true)
        #expect(try log.verify(deep: true).map(\.id) == ["STORE005"])
        try await log.close()
    }
}
