import Evstore
import EvstoreTesting
import Foundation
import Platform
import TestStores
import TestSupport
import Testing

@testable import LogKeeping

@Suite("Backups of many runs")
struct JoinedBackupTests {
    private static func files(_ directory: String, _ run: UInt64) throws -> Int { try BackupDirectory(directory).run(run).blocks.count }

    @Test("name some dozens of files at most, whatever the runs' sizes, and each byte is copied a few times")
    func sizes() {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for round in 0 ..< rounds(20) {
            let scale = Int.random(in: 1 ... 18, using: &random)
            var (sizes, written, copied): ([Int], Int, Int) = ([], 0, 0)
            for _ in 0 ..< 3_000 {
                // All alike, or of every size.
                sizes.append(
                    round % 2 == 0 ? 1 << scale : Int.random(in: 1 ... 1 << Int.random(in: 1 ... scale, using: &random), using: &random))
                written += sizes.last ?? 0
                guard let range = BackupDirectory.joinable(sizes) else { continue }
                copied += sizes[range].reduce(0, +)
                sizes.replaceSubrange(range, with: [sizes[range].reduce(0, +)])
            }
            #expect(sizes.count <= 15 * 8 && sizes.reduce(0, +) == written, "seed \(seed): \(sizes.count)")
            // Small ones are of one level up to 64 KiB.
            #expect(copied <= 8 * written + (3_000 / 15) << 16, "seed \(seed): \(copied) of \(written)")
        }
        #expect(BackupDirectory.joinable([1 << 33] + Array(repeating: 1 << 29, count: 20)) == nil, "what is too large stays")
        // What an older program has left becomes few, too, a gibibyte at a time.
        var old = Array(repeating: 50_000, count: 105_000)
        while let range = BackupDirectory.joinable(old) { old.replaceSubrange(range, with: [old[range].reduce(0, +)]) }
        #expect(old.count <= 20 && old.reduce(0, +) == 50_000 * 105_000, "\(old.count)")
    }

    @Test(
        "are each restored as the store was then, through cuts, removals of runs and replicas that stay behind", arguments: [false, true])
    func restored(isSealed: Bool) async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var options = Options.forTests
        if isSealed { options.secret = .key([UInt8](1 ... 32)) }
        let temporary = try await TemporaryStore.make(try Orders.schemas(1), at: SchemaVersion(1), options: options)
        let (store, copies, replica) = (temporary.store, temporary.path + "-copies", temporary.path + "-replica")
        defer { for path in [copies, replica] { try? FileManager.default.removeItem(atPath: path) } }
        var contents: [UInt64: [String]] = [:]
        func lines(_ store: EventStore) throws -> [String] {
            var lines: [String] = []
            try store.readAll { event in
                lines.append("\(event.position) \(event.id) \(event.payload)")
                return true
            }
            return lines
        }
        for number in 1 ... UInt64(60) {
            for _ in 0 ..< Int.random(in: 1 ... 3, using: &random) {
                _ = try await store.append([try Orders.placed("\(UInt64.random(in: 0 ... .max, using: &random))", at: 1)])
            }
            if number == 21 { _ = try await store.takeSnapshot("here") }
            if number == 30 { _ = try await store.rollback(toSnapshot: "here", discardTail: true) }
            _ = try await store.maintenance.backUp(into: copies, keeping: number == 44 ? 12 : nil)
            contents[number] = try lines(store)
            if number == 44 { for gone in 1 ... UInt64(32) { contents[gone] = nil } }
            // A replica of what was cut off is made anew.
            if number == 30 { try? FileManager.default.removeItem(atPath: replica) }
            guard !isSealed, Int.random(in: 0 ..< 5, using: &random) == 0 else { continue }
            _ = try await StoreMaintenance.follow(from: copies, into: replica, options: options)
            let copy = try await EventStore.open(replica, schemas: temporary.schemas, options: options)
            #expect(try lines(copy) == lines(store), "seed \(seed), run \(number)")
            try await copy.close()
        }
        #expect(try Self.files(copies, 60) < 40)
        let verdicts = try await StoreMaintenance.verifyBackups(in: copies)
        #expect(verdicts.allSatisfy { $0.damage == nil }, "seed \(seed): \(verdicts)")
        for (number, content) in contents where number % 7 == 0 || number >= 58 {
            let into = temporary.path + "-again"
            _ = try await StoreMaintenance.restore(from: copies, run: number, into: into, options: options)
            let again = try await EventStore.open(into, schemas: temporary.schemas, options: options)
            #expect(try lines(again) == content, "seed \(seed), run \(number)")
            try await again.close()
            try FileManager.default.removeItem(atPath: into)
        }
        // What no run names any more is gone; runs of what was cut off stay.
        _ = try await store.maintenance.backUp(into: copies, keeping: 1)
        let directory = BackupDirectory(copies)
        let named = try directory.numbers().flatMap { try directory.run($0).blocks.map(\.file) }
        #expect(try Set(Directory.names(copies + "/blocks").map { "blocks/\($0)" }) == Set(named))
        try await store.close()
    }

    @Test("are each restored where most of them add no events, and no run changes a file of another one", arguments: [false, true])
    func idle(isSealed: Bool) async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var options = Options.forTests
        if isSealed { options.secret = .key([UInt8](1 ... 32)) }
        let temporary = try await TemporaryStore.make(try Orders.schemas(1), at: SchemaVersion(1), options: options)
        let (store, copies) = (temporary.store, temporary.path + "-copies")
        defer { try? FileManager.default.removeItem(atPath: copies) }
        var before: [String: Data] = [:]
        for number in 1 ... 50 {
            if number > 20, Int.random(in: 0 ..< 4, using: &random) == 0 {
                _ = try await store.append([try Orders.placed("\(number)", at: 1)])
            }
            _ = try await store.maintenance.backUp(into: copies)
            var now: [String: Data] = [:]
            for name in try Directory.names(copies + "/blocks") {
                now[name] = try Data(contentsOf: URL(filePath: "\(copies)/blocks/\(name)"))
            }
            #expect(before.allSatisfy { now[$0.key] == $0.value }, "seed \(seed), run \(number)")
            before = now
        }
        let verdicts = try await StoreMaintenance.verifyBackups(in: copies)
        #expect(verdicts.count == 50 && verdicts.allSatisfy { $0.damage == nil }, "seed \(seed): \(verdicts)")
        try await store.close()
    }

    @Test("have the blocks of a damaged file anew where a run would join it, and a check names the older runs that have the damage")
    func damaged() async throws {
        let temporary = try await Orders.store(at: 1)
        let (store, copies) = (temporary.store, temporary.path + "-copies")
        defer { try? FileManager.default.removeItem(atPath: copies) }
        for number in 1 ... 16 {
            _ = try await store.append([try Orders.placed("\(number)", at: 1)])
            _ = try await store.maintenance.backUp(into: copies)
        }
        let path = try "\(copies)/\(#require(BackupDirectory(copies).run(16).blocks.dropFirst(4).first).file)"
        var bytes = try Data(contentsOf: URL(filePath: path))
        bytes[bytes.count - 1] ^= 1
        try bytes.write(to: URL(filePath: path))
        for number in 17 ... 20 {
            _ = try await store.append([try Orders.placed("\(number)", at: 1)])
            _ = try await store.maintenance.backUp(into: copies)
        }
        #expect(try Self.files(copies, 17) == 5 && Self.files(copies, 20) == 8)
        #expect(try Directory.names(copies + "/blocks").allSatisfy { $0.hasSuffix(".evf") })
        #expect(try await StoreMaintenance.verifyBackups(in: copies).map { $0.damage == nil } == (1 ... 20).map { $0 < 5 || $0 > 16 })
    }
}
