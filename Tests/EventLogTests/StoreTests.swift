import Bytes
import EventLog
import EventModel
import EvstoreTesting
import Foundation
import LMDB
import TestStores
import TestSupport
import Testing

@Suite("A store on disk")
struct StoreTests {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    @Test("a reopened store has all events and can be appended to")
    func reopen() async throws {
        let first = try makeLog(directory)
        try await first.add(event("a", "1", id: "x"))
        let id = first.storeID
        try await first.close()
        let second = try EventLog.open(at: directory.store, options: .small())
        try await second.add(event("a", "2"))
        #expect(second.storeID == id)
        #expect(try second.payloads("a") == ["1", "2"])
        #expect(try await second.add(event("a", "1", id: "x")) == .known(Position(1)))
        try await second.close()
    }

    @Test("a copy made without a close opens with everything that was durable")
    func uncleanEnd() async throws {
        let log = try makeLog(directory, .small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (10, 20, 4) })
        for number in 0 ..< 50 { try await log.add(event("s-\(number % 5)", "\(number)", id: "id-\(number)")) }
        let copy = directory.path + "/copy"
        try FileManager.default.copyItem(atPath: directory.store, toPath: copy)
        try await log.close()
        try FileManager.default.removeItem(atPath: copy + "/log/lock.mdb")
        let reopened = try EventLog.open(at: copy, options: .small())
        #expect(try reopened.read { $0.last.position } == Position(50))
        #expect(try reopened.payloads("s-3") == (0 ..< 10).map { "\($0 * 5 + 3)" })
        #expect(try reopened.verify(deep: true).isEmpty)
        try await reopened.close()
    }

    @Test("a store opened for reading only can be read and refuses appends")
    func readOnly() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a", "1"))
        try await log.close()
        let reader = try EventLog.open(at: directory.store, options: .small(), readOnly: true)
        #expect(try reader.payloads("a") == ["1"])
        await #expect(throws: EvstoreError.readOnly(path: directory.store)) { try await reader.add(event("a", "2")) }
        #expect { try EventLog.open(at: directory.store, options: .small()) } throws: { error in
            guard case EvstoreError.misuse(let reason) = error else { return false }
            return reason.contains("for reading only")
        }
        try await reader.close()
        let writer = try EventLog.open(at: directory.store, options: .small())
        let beside = try EventLog.open(at: directory.store, options: .small(), readOnly: true)
        try await writer.add(event("a", "2"))
        #expect(try beside.payloads("a") == ["1", "2"])
        for log in [beside, writer] { try await log.close() }
    }

    @Test("a store's numbers can be read while it is open")
    func peek() async throws {
        let log = try makeLog(directory)
        try await log.update { $0.state.generations["ab12"] = "ab12-1" }
        let state = try EventLog.peek(at: directory.store)
        #expect(state.live == SchemaVersion(1))
        #expect(state.generations == ["ab12": "ab12-1"])
        try await log.close()
    }

    @Test("a path without a store, and one that already has a store, is refused with an error that names it")
    func refusals() async throws {
        #expect(throws: EvstoreError.storeNotFound(path: directory.store)) { try EventLog.open(at: directory.store, options: .small()) }
        #expect(throws: EvstoreError.storeNotFound(path: directory.path)) { try EventLog.open(at: directory.path, options: .small()) }
        try directory.write("something else", to: "file")
        #expect(throws: EvstoreError.notAStore(path: directory.path, reason: "it has no evstore.json")) {
            try EventLog.open(at: directory.path, options: .small())
        }
        let log = try makeLog(directory)
        try await log.close()
        #expect(throws: EvstoreError.storeExists(path: directory.store)) { try makeLog(directory) }
        #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path).sorted() == ["file", "store"])
    }

    @Test("a store that others can write to is refused", arguments: ["", "/log", "/log/data.mdb", "/evstore.json"])
    func permissions(name: String) async throws {
        let log = try makeLog(directory)
        try await log.close()
        try FileManager.default.setAttributes([.posixPermissions: 0o777], ofItemAtPath: directory.store + name)
        #expect {
            try EventLog.open(at: directory.store, options: .small())
        } throws: { if case EvstoreError.unsafePermissions = $0 { true } else { false } }
    }

    @Test("a store of a newer format is refused")
    func newer() async throws {
        let log = try makeLog(directory)
        try await log.close()
        let manifest = directory.store + "/evstore.json"
        let text = try String(contentsOfFile: manifest, encoding: .utf8)
        try text.replacingOccurrences(of: "\"format\" : 9", with: "\"format\" : 10").write(
            toFile: manifest, atomically: false, encoding: .utf8)
        #expect(throws: EvstoreError.storeNewer(path: directory.store, format: 10, known: 9)) {
            try EventLog.open(at: directory.store, options: .small())
        }
    }

    @Test("a log that has lost its end, or is empty or missing, is damaged")
    func lostEnd() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a", "1"))
        try await log.close()
        let data = directory.store + "/log/data.mdb"
        let old = try Data(contentsOf: URL(fileURLWithPath: data))
        let again = try EventLog.open(at: directory.store, options: .small())
        try await again.add(event("a", "2"))
        try await again.close()
        func refused() -> Bool {
            do { _ = try EventLog.open(at: directory.store, options: .small()) } catch EvstoreError.storeDamaged { return true } catch {}
            return false
        }
        try old.write(to: URL(fileURLWithPath: data))
        #expect(refused())
        try Data().write(to: URL(fileURLWithPath: data))
        #expect(refused())
        try FileManager.default.removeItem(atPath: data)
        #expect(refused())
    }

    @Test("a flipped byte in an event is found by reading and by verifying")
    func flippedByte() async throws {
        let log = try makeLog(directory)
        try await log.add(event("a", "before"))
        try await log.add(event("a", "needle in the log"))
        try await log.add(event("a", "after"))
        try await log.close()
        let data = directory.store + "/log/data.mdb"
        var bytes = try Data(contentsOf: URL(fileURLWithPath: data))
        while let found = bytes.range(of: Data("needle".utf8)) { bytes[found.lowerBound] ^= 1 }
        try bytes.write(to: URL(fileURLWithPath: data))
        // The block may be the last one, which already the opening looks at.
        let damaged = try EventLog.open(at: directory.store, options: .small(), readOnly: true)
        #expect(throws: EvstoreError.corruptBlock(position: Position(2), reason: "the checksum does not fit")) { try damaged.payloads("a") }
        let findings = try damaged.verify(deep: false)
        #expect(findings.map(\.position) == [Position(2)])
        try await damaged.close()
    }

    @Test("reading backwards finds that a block is missing, and does not go round in a circle")
    func missingBlock() async throws {
        let log = try makeLog(directory)
        for text in ["1", "2", "3"] { try await log.add(event("a", text)) }
        try await log.close()
        let damaged = try EventLog.open(at: directory.store, options: .small())
        let access = damaged.access
        try access.environment.write { transaction in _ = try transaction.delete(access.tables.blocks, bytes(2 as UInt64).lent) }
        var seen: [UInt64] = []
        let error = #expect(throws: EvstoreError.self) {
            try damaged.read { reader in
                var next = reader.last.position
                while next > .start, seen.count < 10 {
                    _ = try reader.blockBackwards(from: next) { record in
                        (seen, next) = (seen + [record.position.rawValue], record.position.previous)
                        return true
                    }
                }
            }
        }
        #expect(seen == [3])
        #expect(error?.code == "corruptBlock")
        try await damaged.close()
    }

    @Test("a read backwards passes over the blocks that have no event of the wanted types")
    func passedOver() async throws {
        let log = try makeLog(directory)
        for type in ["A", "B", "B", "A"] { try await log.add(event("a", "x", type: type)) }
        var lent: [UInt64] = []
        try log.read { reader in
            let wanted = try reader.wanted([Name("A")])
            var next = reader.last.position
            while next > .start {
                let first = try reader.blockBackwards(from: next, types: wanted) { record in
                    (lent, next) = (lent + [record.position.rawValue], record.position.previous)
                    return true
                }
                if let first { next = first.previous }
            }
        }
        #expect(lent == [4, 1])
        try await log.close()
    }

    @Test("events larger than a block have blocks of their own", arguments: [32_000, 32_752, 100_000, 1 << 20])
    func large(bytes: Int) async throws {
        let log = try makeLog(directory)
        let payload = String(repeating: "y", count: bytes)
        try await log.add(event("a", "1"), event("a", payload), event("a", "3"))
        #expect(try log.payloads("a") == ["1", payload, "3"])
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
    }

    @Test("limits are errors that name them")
    func limits() async throws {
        let log = try makeLog(directory, .small { ($0.eventBytesMax, $0.appendEventsMax, $0.appendBytesMax) = (100, 3, 250) })
        await #expect(throws: EvstoreError.eventTooLarge(bytes: 101, limit: 100)) {
            try await log.add(event("a", String(repeating: "z", count: 101)))
        }
        let large = try event("a", String(repeating: "z", count: 90))
        await #expect(throws: EvstoreError.appendTooLarge(reason: "270 bytes, and at most 250 are possible")) {
            try await log.add(large, large, large)
        }
        await #expect(throws: EvstoreError.appendTooLarge(reason: "4 events, and at most 3 are possible")) {
            try await log.add(event("a"), event("a"), event("a"), event("a"))
        }
        try await log.close()
    }

    @Test("appends are refused when less is free on the disk than the floor")
    func diskFloor() async throws {
        let log = try makeLog(directory, .small { $0.freeDiskFloorBytes = 1 << 55 })
        await #expect {
            try await log.add(event("a"))
        } throws: { if case EvstoreError.diskFull = $0 { true } else { false } }
        try await log.close()
    }

    @Test("a tiny map grows under appends, and everything stays readable")
    func tinyMap() async throws {
        let log = try makeLog(directory, .small { $0.mapBytes = 1 << 19 })
        let payload = String(repeating: "p", count: 20_000)
        for number in 0 ..< 100 { try await log.add(event("s-\(number % 3)", payload)) }
        #expect(try log.read { $0.last.position } == Position(100))
        #expect(try log.verify(deep: true).isEmpty)
        try await log.close()
    }

    @Test("a map that is full in the middle of writing indexes loses none of them", arguments: 0 ..< 24)
    func fullWhileSweeping(pages: Int) async throws {
        let log = try makeLog(
            directory,
            .small {
                $0.mapBytes = (1 << 18) + pages * 4_096
                ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (16, 32, 8)
            })
        let payload = String(repeating: "p", count: 300 + pages * 40)
        for number in 0 ..< 100 { try await log.add(event("a-\(number)", payload, id: "i-\(number)"), event("b-\(number)", payload)) }
        #expect(try log.verify(deep: true).isEmpty)
        for number in 0 ..< 100 { #expect(try log.payloads("a-\(number)").count == 1) }
        try await log.close()
    }
}
