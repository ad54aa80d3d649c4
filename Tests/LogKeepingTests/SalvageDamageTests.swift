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

/// `EVSTORE_SALVAGE_FILES` says how many damaged files are tried, `EVSTORE_SALVAGE_SEED` which ones.
@Suite("Salvage of damaged files")
struct SalvageDamageTests {
    private static func setting(_ name: String, or usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    /// Whether some events lie among others in the same order.
    private func isSubsequence(_ some: [String], of all: [String]) -> Bool {
        var rest = all[...]
        for one in some {
            guard let index = rest.firstIndex(of: one) else { return false }
            rest = rest[(index + 1)...]
        }
        return true
    }

    @Test("a salvage copies exactly the events that are on no damaged page, each as it was")
    func pages() async throws {
        let seed = Self.setting("EVSTORE_SALVAGE_SEED", or: Int.random(in: 0 ..< 1 << 30))
        print("seed \(seed)")
        var random = SeededGenerator(seed: UInt64(seed))
        let plain = try await SalvageScene(.small { ($0.sweepDueEvents, $0.sweepForcedEvents) = (50, 90) }) { log in
            try await SalvageScene.fill(log, &random, appends: 40)
        }
        let cut = try await SalvageScene { log in
            try await SalvageScene.fill(log, &random, appends: 25)
            try await log.update { try $0.cut(to: Position($0.last.position.rawValue / 2)) }
            try await SalvageScene.fill(log, &random, appends: 20, from: 1_000)
        }
        for round in 0 ..< Self.setting("EVSTORE_SALVAGE_FILES", or: 50) {
            let scene = round % 2 == 0 ? plain : cut
            let count = try scene.pagesCount
            let damaged = Set((0 ..< Int.random(in: 1 ... 20, using: &random)).map { _ in Int.random(in: 0 ..< count, using: &random) })
            let copy = try scene.copy("copy")
            try SalvageScene.damage(copy, damaged.sorted(), &random)
            let what: Comment = "seed \(seed), round \(round), pages \(damaged.sorted())"
            let salvaged = try await Salvaged(copy, into: scene.directory.path + "/new")
            let back = salvaged.events.map(\.payload)
            let expected = zip(scene.events, scene.pages).filter { $0.1.isDisjoint(with: damaged) }.map(\.0)
            // Where a cut is not known any more, what came before it is in doubt.
            let all = Set(round % 2 == 0 ? back : back + salvaged.unconfirmed.map(\.payload))
            #expect(expected.allSatisfy { all.contains($0.payload) }, what)
            #expect(isSubsequence(back, of: scene.events.map(\.payload)), what)
            let known = Set(scene.events + scene.events.map(\.unnamed))
            for event in salvaged.events {
                #expect(known.contains { $0.payload == event.payload && $0.stream == event.stream && $0.id == event.id }, what)
            }
            #expect(salvaged.summary.events == UInt64(back.count) && salvaged.summary.renumbered == isBroken(salvaged), what)
            for path in [copy, salvaged.path] { try FileManager.default.removeItem(atPath: path) }
        }
    }

    /// Whether something is missing between events, or the store's own name.
    private func isBroken(_ salvaged: Salvaged) -> Bool {
        salvaged.summary.gaps.contains { $0.upperBound < salvaged.summary.position.rawValue || $0.lowerBound == 1 }
            || salvaged.summary.renumbered
    }

    @Test("of a file that was truncated anywhere, a salvage copies all blocks before the end")
    func truncated() async throws {
        var random = SeededGenerator(seed: 8)
        let scene = try await SalvageScene { try await SalvageScene.fill($0, &random, appends: 40) }
        let bytes = try Data(contentsOf: URL(filePath: scene.data))
        for end in stride(from: 0, to: bytes.count, by: 64 << 10) {
            let copy = try scene.copy("copy-\(end)")
            try bytes.prefix(end).write(to: URL(filePath: copy + "/log/data.mdb"))
            let expected = zip(scene.events, scene.pages).filter { $0.1.allSatisfy { ($0 + 1) * SalvageScene.pageBytes <= end } }.map(
                \.0.payload)
            do {
                let salvaged = try await Salvaged(copy, into: copy + ".new")
                let back = salvaged.events.map(\.payload)
                #expect(Set(back).isSuperset(of: expected) && isSubsequence(back, of: scene.events.map(\.payload)), "cut off at \(end)")
            } catch EvstoreError.nothingToSalvage { #expect(expected.isEmpty, "cut off at \(end)") }
            let found = try EventLog.examine(at: copy)
            #expect(found.findings.contains { $0.id == "STORE007" } && found.events >= UInt64(expected.count), "cut off at \(end)")
        }
    }

    @Test("of a file that ends in terabytes of holes, a salvage copies the blocks before them, in bounded time")
    func holes() async throws {
        var random = SeededGenerator(seed: 9)
        let scene = try await SalvageScene { try await SalvageScene.fill($0, &random, appends: 10) }
        let copy = try scene.copy("copy")
        // Nobody reads so many bytes within a test: it would hang.
        try File(copy + "/log/data.mdb", .write).truncate(to: 1 << 43)
        let salvaged = try await Salvaged(copy, into: copy + ".new")
        #expect(salvaged.events.map(\.payload) == scene.events.map(\.payload))
    }

    /// A block that no log has, complete and with right checksums.
    private func made(_ storeID: StoreID, at position: UInt64, _ payload: String) throws -> [UInt8] {
        var writer = BlockWriter(storeID)
        var bytes: [UInt8] = []
        writer.begin(.first, first: Position(position), link: .zero, time: .now)
        let place = BlockWriter.AssignedFields(type: 1, isSameAppend: false, madeID: (1, 2), stream: position)
        let events = [try event("planted", payload)]
        try writer.add(events.span, 0, place) { bytes += [UInt8](copying: $1) }
        try writer.finish { bytes += [UInt8](copying: $1) }
        return bytes
    }

    @Test("an event that holds a block's bytes is copied as an event, and where it is damaged, that block is not copied")
    func blockInside() async throws {
        let directory = try TemporaryDirectory()
        let log = try makeLog(directory)
        try await log.add(event("a", "\"first\""))
        // Behind the first page of the block that it lies in.
        var planted = [UInt8](repeating: 32, count: 6_000)
        planted += try made(log.storeID, at: 2, "\"planted\"") + [UInt8](repeating: 32, count: 3_000)
        // At an even place of the file, where blocks are looked for.
        var holding = try event("bb")
        holding.payload = planted
        // With another event behind it, the planted block would end within the gap.
        try await log.add(holding, event("b", "\"beside\""))
        try await log.add(event("c", "\"last\""))
        let events = try log.everything()
        try await log.close()
        let salvaged = try await Salvaged(directory.store, into: directory.path + "/whole")
        #expect(salvaged.events.count == events.count && salvaged.unconfirmed.isEmpty)
        let bytes = try Data(contentsOf: URL(filePath: directory.store + "/log/data.mdb"))
        let inner = try #require(bytes.range(of: Data(planted[6_000 ..< 6_200]))).lowerBound
        var random = SeededGenerator(seed: 1)
        try Directory.remove(directory.store + "/log/ahead")
        try SalvageScene.damage(directory.store, [inner / SalvageScene.pageBytes - 1], &random)
        let rest = try await Salvaged(directory.store, into: directory.path + "/rest")
        #expect(rest.events.map(\.payload) == ["\"first\"", "\"last\""] && rest.summary.gaps == [2 ... 3])
    }

    @Test("a file of a million headers without blocks is searched in bounded time")
    func fakes() async throws {
        let directory = try TemporaryDirectory()
        let storeID = StoreID.make()
        let block = try made(storeID, at: 1, "0")
        var fake = ByteBuffer(capacity: 96)
        fake.append(block.lent.slice(0, BlockLayout.headerBytes))
        fake.store(littleEndian: UInt32(1 << 20), at: BlockLayout.Header.bytes)
        fake.append(zeros: 8)
        let path = directory.path + "/fakes.mdb"
        let file = try File(path, .createNew)
        let some = [[UInt8]](repeating: fake.array(), count: 10_000).flatMap(\.self)
        for index in 0 ..< 100 { try file.write(some, at: index * some.count) }
        try file.write(block, at: 100 * some.count)
        let began = Instant.now
        let salvage = try Salvage(SalvageSource(path)) { _, _, _ in }
        #expect(began.duration(to: .now) < .seconds(1_200))
        #expect(salvage.log.blocks.isEmpty && salvage.log.unconfirmed.map(\.offset) == [100 * some.count])
    }
}
