import Bytes
import EventModel
import EvstoreTesting
import Foundation
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LogKeeping

/// A log and its replica, brought forward by whole backups.
private struct ReplicaScene {
    let directory: TemporaryDirectory
    let original: EventLog
    let options = Options.small { ($0.sweepDueEvents, $0.sweepForcedEvents, $0.sweepSliceEntries) = (5, 10, 4) }

    init() throws {
        directory = try TemporaryDirectory()
        original = try makeLog(directory, options)
    }

    var replica: String { directory.path + "/replica" }

    /// A whole backup of the original as it is now.
    func source() throws -> BackupSource {
        var bytes: [UInt8] = []
        _ = try original.backUp { bytes += [UInt8](copying: $1) }
        return .bytes(named: "b", ByteSource(bytes).read)
    }

    @discardableResult
    func follow() async throws -> FollowReport { try await Follow.run(from: source(), into: replica, options, Job("test")) }

    func open() throws -> EventLog { try EventLog.open(at: replica, options: options) }

    /// Appends of some events, each with the mark of an import.
    func fill(_ count: Int, _ random: inout SeededGenerator) async throws {
        for _ in 0 ..< count {
            let number = Int.random(in: 0 ..< 1_000_000, using: &random)
            let events = try (0 ..< Int.random(in: 1 ... 4, using: &random)).map {
                try event("s-\(number % 7)", "\"\(String(repeating: "x", count: number % 900)).\($0)\"", type: "type-\(number % 5)")
            }
            let mark = AttachedRow(.imports, key: Array("\(number)".utf8), value: [1, 2])
            _ = try await original.append(AppendRequest(events: events, rows: [mark]))
        }
    }

    func requireSame() async throws {
        let copy = try open()
        #expect(try copy.everything() == original.everything())
        #expect(try copy.read { $0.last } == original.read { $0.last })
        for catalogue in Catalogue.allCases {
            #expect(try rows(copy, catalogue) == rows(original, catalogue), "\(catalogue)")
        }
        #expect(try copy.read { try $0.cuts() } == original.read { try $0.cuts() })
        #expect(try copy.verify(deep: true).isEmpty)
        try await copy.close()
    }

    private func rows(_ log: EventLog, _ catalogue: Catalogue) throws -> [[[UInt8]]] {
        try log.read { try $0.rows(catalogue).map { [$0.key, $0.value] } }
    }
}

@Suite("A replica")
struct ReplicaTests {
    @Test("is its original at each backup, whatever was appended, put, removed or cut above its end, in the same epoch")
    func random() async throws {
        let scene = try ReplicaScene()
        var random = SeededGenerator.announced()
        try await scene.fill(5, &random)
        #expect(try await scene.follow().isMade)
        try await scene.requireSame()
        for round in 0 ..< 12 {
            let end = try scene.original.read { $0.last.position }
            try await scene.fill(Int.random(in: 0 ... 20, using: &random), &random)
            if Bool.random(using: &random) {
                try await scene.original.update { update in try update.put(.schemas, [UInt8(round)], [1]) }
                try await scene.original.update { update in
                    for row in try update.rows(.schemas).dropLast(2) { try update.delete(.schemas, row.key) }
                }
            }
            if round % 3 == 2 {
                let last = try scene.original.read { $0.last.position }
                let cut = Position(UInt64.random(in: end.rawValue ... last.rawValue, using: &random))
                try await scene.original.update { update in try update.cut(to: cut) }
                try await scene.fill(Int.random(in: 0 ... 3, using: &random), &random)
            }
            let report = try await scene.follow()
            #expect(try !report.isMade && report.position == scene.original.read { $0.last.position })
            try await scene.requireSame()
        }
        try await scene.original.close()
    }

    @Test("is what its original was at some time after each of its transactions, and goes on from there")
    func pieces() async throws {
        let scene = try ReplicaScene()
        var random = SeededGenerator.announced()
        try await scene.fill(5, &random)
        try await scene.follow()
        try await scene.fill(40, &random)
        let kept = try scene.original.read { $0.last.position }
        try await scene.fill(5, &random)
        try await scene.original.update { update in try update.cut(to: kept) }
        try await scene.fill(40, &random)
        let (all, ends) = (try scene.original.everything(), try appendEnds(scene.original))
        for stop in 1 ... 6 {
            let log = try scene.open()
            // Reports come from each frame that was looked at, and then from each transaction.
            let (asked, seen) = (Job("follow"), Seen())
            let job = asked.reporting { if $0.total > 0, seen.count() == stop { asked.cancel() } }
            _ = await #expect(throws: EvstoreError.self) {
                try await Follow.takeIn(scene.source(), ReplicaOrigin(source: "", run: nil), to: log, job, atOnce: 2_000)
            }
            let last = try log.read { $0.last.position }
            #expect(try log.everything() == Array(all.prefix(Int(last.rawValue))) && ends.contains(last))
            #expect(try log.verify(deep: true).isEmpty)
            try await log.close()
        }
        try await scene.follow()
        try await scene.requireSame()
        try await scene.original.close()
    }

    private func appendEnds(_ log: EventLog) throws -> Set<Position> {
        var ends = [try log.read { $0.last.position }]
        try log.scan(after: .start) { block, _ in
            for index in block.indices where !block.record(index).continuesAppend {
                ends.append(Position(block.record(index).position.rawValue - 1))
            }
            return true
        }
        return Set(ends)
    }

    @Test("takes no append and no change of its original's rows; which generations it has is its own")
    func refused() async throws {
        let scene = try ReplicaScene()
        var random = SeededGenerator(seed: 1)
        try await scene.fill(5, &random)
        try await scene.follow()
        let log = try scene.open()
        let refused = EvstoreError.replica(path: scene.replica, source: "")
        _ = await #expect(throws: refused) { try await log.add(event("s-1")) }
        _ = await #expect(throws: refused) { try await log.update { try $0.put(.schemas, [1], [2]) } }
        _ = await #expect(throws: refused) { try await log.update { try $0.delete(.imports, [1]) } }
        _ = await #expect(throws: refused) { try await log.update { try $0.cut(to: Position(1)) } }
        _ = await #expect(throws: refused) { try await log.update { $0.state.head = SchemaVersion(9) } }
        try await log.update { update in
            update.state.generations["ab"] = "orders"
            try update.appendJournal([1])
        }
        try await scene.fill(5, &random)
        try await scene.follow()
        #expect(try await log.update { $0.state.generations } == ["ab": "orders"])
        try await log.close()
        try await scene.requireSame()
        try await scene.original.close()
    }

    @Test("that is promoted appends in a new epoch, also through a handle that was open, and follows no more; nothing is indexed anew")
    func promoted() async throws {
        let scene = try ReplicaScene()
        var random = SeededGenerator(seed: 2)
        try await scene.fill(30, &random)
        try await scene.follow()
        let log = try scene.open()
        let (before, indexed) = try await log.update { ($0.last, $0.state.indexed) }
        let now = try await log.update { update in
            try update.promote(later: Epoch(77))
            return update.last
        }
        #expect(now == Checkpoint(epoch: Epoch(77), position: before.position) && indexed > .start)
        #expect(try await log.update { $0.state.indexed } == indexed)
        guard case .appended(let receipt) = try await log.add(event("s-1")) else { throw EvstoreError.misuse("known") }
        #expect(receipt.epoch == Epoch(77) && receipt.position == before.position.next)
        #expect(try log.verify(deep: true).isEmpty && log.payloads("s-1").last == "{}")
        _ = await #expect { try await scene.follow() } throws: { ($0 as? EvstoreError)?.code == "usage" }
        try await log.close()
        try await scene.original.close()
    }

    @Test("of a log that was cut below its end, of another store or of a damaged backup stays what it is, and says which it is")
    func otherwise() async throws {
        let scene = try ReplicaScene()
        let other = try ReplicaScene()
        var random = SeededGenerator(seed: 3)
        try await scene.fill(9, &random)
        try await other.fill(3, &random)
        try await scene.follow()
        let before = try scene.original.everything()
        func refused(_ code: String, _ source: BackupSource) async throws {
            _ = await #expect { try await Follow.run(from: source, into: scene.replica, scene.options, Job("test")) } throws: {
                ($0 as? EvstoreError)?.code == code
            }
            let copy = try scene.open()
            #expect(try copy.everything() == before && copy.verify(deep: true).isEmpty)
            try await copy.close()
        }
        try await refused("otherBackup", try other.source())
        try await scene.fill(9, &random)
        var bytes: [UInt8] = []
        _ = try scene.original.backUp { bytes += [UInt8](copying: $1) }
        for index in stride(from: 0, to: bytes.count, by: bytes.count / 23) {
            var changed = bytes
            changed[index] ^= 8
            _ = await #expect(throws: EvstoreError.self) {
                try await Follow.run(
                    from: .bytes(named: "b", ByteSource(changed).read), into: scene.replica, scene.options, Job("test"))
            }
        }
        try await refused("backupDamaged", .bytes(named: "b", ByteSource(Array(bytes.dropLast())).read))
        #expect(!FileManager.default.fileExists(atPath: scene.replica + "/follow.new"))
        try await scene.original.update { update in try update.cut(to: Position(3)) }
        try await refused("epochChanged", try scene.source())
        for log in [scene.original, other.original] { try await log.close() }
    }
}

/// Counts what is reported.
private final class Seen: @unchecked Sendable {
    // Sound because one thread at a time reports.
    private var seen = 0

    func count() -> Int {
        seen += 1
        return seen
    }
}
