import Bytes
import EventModel
import EvstoreTesting
import Foundation
import Hashing
import Platform
import TestStores
import TestSupport
import Testing

@testable import EventLog
@testable import LMDB
@testable import LogKeeping

@Suite("Salvage")
struct SalvageTests {
    private func fill(_ log: EventLog, seed: UInt64 = 3, appends: Int = 40) async throws {
        var random = SeededGenerator(seed: seed)
        try await SalvageScene.fill(log, &random, appends: appends)
    }

    @Test("of an undamaged store makes a store with the same events at the same positions, in a new epoch")
    func whole() async throws {
        let scene = try await SalvageScene { log in
            try await fill(log)
            try await log.update { try $0.cut(to: Position($0.last.position.rawValue - 3)) }
        }
        let salvaged = try await Salvaged(scene.store, into: scene.directory.path + "/new")
        #expect(salvaged.events == scene.events && salvaged.content == scene.content)
        #expect(salvaged.summary.gaps == [] && !salvaged.summary.renumbered)
        #expect(salvaged.unconfirmed == [])
        let (old, new) = try (EventLog.open(at: scene.store, options: .small()), EventLog.open(at: salvaged.path, options: .small()))
        #expect(old.storeID == new.storeID)
        #expect(try new.read { $0.last.epoch } > old.read { $0.last.epoch })
        #expect(try new.read { try $0.cuts().dropLast() } == old.read { try $0.cuts()[...] })
        try await new.add(event("s-1", type: "type-new"))
        #expect(try new.verify(deep: true).isEmpty)
        try await old.close()
        try await new.close()
    }

    @Test("does not copy events that a cut has discarded, also where the blocks behind the cut are damaged")
    func discarded() async throws {
        let scene = try await SalvageScene { log in
            try await fill(log)
            try await log.update { try $0.cut(to: Position(60)) }
            for number in 0 ..< 20 { try await log.add(event("new", "\"\(number) \(String(repeating: "y", count: 5_000))\"")) }
        }
        #expect(scene.events.count == 80)
        #expect(try await Salvaged(scene.store, into: scene.directory.path + "/whole").events == scene.events)
        var random = SeededGenerator(seed: 1)
        let copy = try scene.copy("copy")
        try Directory.remove(copy + "/log/ahead")
        try SalvageScene.damage(copy, scene.pages[60].union(scene.pages[61]), &random)
        let salvaged = try await Salvaged(copy, into: scene.directory.path + "/new")
        #expect(salvaged.summary.gaps == [61 ... 62])
        #expect(salvaged.events.map(\.payload) == (scene.events[..<60] + scene.events[62...]).map(\.payload))
        #expect(salvaged.unconfirmed.isEmpty && salvaged.summary.renumbered)
    }

    @Test("lists an append of many blocks that was never committed as unconfirmed, and does not append it")
    func neverCommitted() async throws {
        let scene = try await SalvageScene { try await fill($0) }
        let before = try ["/log/data.mdb", "/anchor"].map { try Data(contentsOf: URL(filePath: scene.store + $0)) }
        let log = try EventLog.open(at: scene.store, options: .small())
        let long = String(repeating: "z", count: 3_000)
        _ = try await log.append(AppendRequest(events: try (0 ..< 40).map { try event("late", "\"\($0) \(long)\"") }))
        try await log.close()
        // All of its pages are there, and the meta page that leads to them is not.
        try File(scene.data, .write).write([UInt8](before[0].prefix(2 * SalvageScene.pageBytes)))
        try before[1].write(to: URL(filePath: scene.store + "/anchor"))
        let salvaged = try await Salvaged(scene.store, into: scene.directory.path + "/new")
        #expect(salvaged.events == scene.events && salvaged.summary.gaps.isEmpty)
        #expect(salvaged.summary.unconfirmed == 40)
        #expect(salvaged.unconfirmed.map(\.payload) == (0 ..< 40).map { "\"\($0) \(long)\"" })
        #expect(Set(salvaged.unconfirmed.map(\.stream)) == ["late"])
    }

    @Test(
        "lists a block below a gap that was never committed as unconfirmed, where it is not known which pages are free",
        arguments: [false, true])
    func freePages(isBroken: Bool) async throws {
        let long = "\"" + String(repeating: "x", count: 9_000) + "\""
        var link = Digest.zero
        let scene = try await SalvageScene { log in
            for _ in 0 ..< 6 { try await log.add(event("a", long)) }
            link = try #require(try log.read { try $0.link(at: Position(6)) })
            for _ in 0 ..< 3 { try await log.add(event("a", long), event("b", long)) }
        }
        let copy = try scene.copy("copy")
        let file = try File(copy + "/log/data.mdb", .write)
        let commit = try TreeRemains.commits(in: file)[0]
        var tree = try TreeRemains(commit, of: file)
        try tree.walk(TableDescriptor.log.kinds) { _, _, _ in }
        let free = try #require((2 ..< (try scene.pagesCount)).first { tree.isFree($0 * SalvageScene.pageBytes) })
        // The commit of positions 7 and 8, as it would have been had another one come first.
        var writer = BlockWriter(try Manifest.identity(at: copy).id)
        var block: [UInt8] = []
        writer.begin(.first, first: Position(7), link: link, time: .now)
        let events = [try event("late", "\"never\"")]
        try writer.add(events.span, 0, BlockWriter.AssignedFields(type: 1, isSameAppend: false, madeID: (1, 2), stream: 7)) {
            block += [UInt8](copying: $1)
        }
        try writer.finish { block += [UInt8](copying: $1) }
        var page = ByteBuffer(capacity: SalvageScene.pageBytes)
        page.append(littleEndian: UInt64(free))
        for half in [0, PageView.overflow, 1, 0] { page.append(littleEndian: half) }
        try file.write(page.array() + block, at: free * SalvageScene.pageBytes)
        try Directory.remove(copy + "/log/ahead")
        var random = SeededGenerator(seed: 1)
        let root = TreeRecord(commit.bytes.lent.slice(MetaPage.freeRecord, TreeRecord.size)).root
        try SalvageScene.damage(copy, scene.pages[6].union(isBroken ? [Int(root)] : []), &random)
        let salvaged = try await Salvaged(copy, into: scene.directory.path + "/new")
        #expect(salvaged.summary.gaps == [7 ... 8])
        #expect(salvaged.events.map(\.id) == (scene.events[..<6] + scene.events[8...]).map(\.id))
        #expect(salvaged.unconfirmed.map(\.payload) == ["\"never\""])
    }

    @Test("copies events that were acknowledged in log/ahead alone, also where the pages before them are damaged")
    func ahead() async throws {
        let directory = try TemporaryDirectory()
        let log = try makeLog(directory)
        var ahead: [UInt8] = []
        var running: Set<Int> = []
        for number in 0 ..< 200 where running.count < 5 {
            try await log.add(event("a", "\"\(number) \(String(repeating: "x", count: 9_000))\""))
            guard try Directory.status(directory.store + "/log/ahead") != nil else { continue }
            ahead = try File(directory.store + "/log/ahead", .read).read(WriteAhead.fileBytes)
            let source = directory.path + "/\(number)"
            try FileManager.default.createDirectory(atPath: source + "/log", withIntermediateDirectories: true)
            try File(source + "/log/ahead", .createNew).write(ahead)
            running = try Set(LogRemains(of: SalvageSource(source)).running.map { Int($0.first.rawValue) })
        }
        try #require(running.count == 5, "the appends were too slow to be written ahead")
        let events = try SalvageScene.events(of: log)
        try await log.close()
        let copy = directory.path + "/copy"
        try FileManager.default.copyItem(atPath: directory.store, toPath: copy)
        try File(copy + "/log/ahead", .write).write(ahead)
        // What LMDB has of them by now is lost; then all that it had.
        let pages = try SalvageScene.pages(of: copy + "/log/data.mdb", events.count)
        var random = SeededGenerator(seed: 2)
        try SalvageScene.damage(copy, running.flatMap { pages[$0 - 1] }, &random)
        let salvaged = try await Salvaged(copy, into: directory.path + "/new")
        #expect(salvaged.events == events && salvaged.summary.gaps == [] && salvaged.unconfirmed == [])
        let count = try File(copy + "/log/data.mdb", .read).status().bytes / SalvageScene.pageBytes
        try SalvageScene.damage(copy, 0 ..< count, &random)
        let rest = try await Salvaged(copy, into: directory.path + "/rest")
        #expect(rest.events.suffix(running.count).map(\.payload) == running.sorted().map { events[$0 - 1].payload })
        #expect(rest.unconfirmed == [])
    }

    @Test("copies the events of a data.mdb without a store, and of one without meta pages all but those of its last commit")
    func bare() async throws {
        let scene = try await SalvageScene { try await fill($0) }
        let bare = scene.directory.path + "/found.mdb"
        try FileManager.default.copyItem(atPath: scene.data, toPath: bare)
        let salvaged = try await Salvaged(bare, into: scene.directory.path + "/new")
        #expect(salvaged.events == scene.events && salvaged.content == scene.content && !salvaged.summary.renumbered)
        try File(bare, .write).write([UInt8](repeating: 0, count: 2 * SalvageScene.pageBytes))
        let rest = try await Salvaged(bare, into: scene.directory.path + "/rest")
        #expect(rest.events + rest.unconfirmed == scene.events)
        #expect((1 ... 5).contains(rest.unconfirmed.count) && rest.summary.renumbered)
    }

    @Test("names a stream that has lost its first event by the table, and makes up a name where that is lost too")
    func names() async throws {
        let long = "\"" + String(repeating: "x", count: 9_000) + "\""
        let scene = try await SalvageScene(.small { ($0.sweepDueEvents, $0.sweepForcedEvents) = (1, 1) }) { log in
            for number in 0 ..< 6 { try await log.add(event("s-\(number % 3)", long)) }
            try await log.add(event("last"))
        }
        var random = SeededGenerator(seed: 1)
        let copy = try scene.copy("copy")
        // It may still hold blocks that have long come to the log.
        try Directory.remove(copy + "/log/ahead")
        try SalvageScene.damage(copy, scene.pages[1], &random)
        let named = try await Salvaged(copy, into: scene.directory.path + "/named")
        #expect(named.summary.gaps == [2 ... 2] && named.summary.lostNames.isEmpty)
        #expect(named.events.map(\.stream) == ["s-0", "s-2", "s-0", "s-1", "s-2", "last"])
        try SalvageScene.damage(copy, 0 ... 1, &random)
        let unnamed = try await Salvaged(copy, into: scene.directory.path + "/unnamed")
        #expect(unnamed.summary.lostNames == ["lost:2"])
        #expect(unnamed.events.map(\.stream) == ["s-0", "s-2", "s-0", "lost:2", "s-2", "last"])
    }

    @Test("of a log's directory is that of its store, and as complete")
    func directories() async throws {
        let scene = try await SalvageScene { try await fill($0, appends: 5) }
        for (index, path) in ["/log", "/log/", "/log/data.mdb", "/log/../log", "/"].enumerated() {
            let salvaged = try await Salvaged(scene.store + path, into: scene.directory.path + "/new-\(index)")
            #expect(salvaged.storeID == (try Manifest.identity(at: scene.store).id) && salvaged.summary.endKnown, "\(path)")
            #expect(salvaged.events == scene.events && salvaged.summary.lostRows == [], "\(path)")
        }
    }

    @Test("without an anchor reports that the end is not known, where a lost meta page may have been that of a cut")
    func lostCut() async throws {
        let scene = try await SalvageScene { log in
            try await fill(log)
            // LMDB has all of them, so that its last commit but one does.
            try await log.update { try $0.put(Catalogue.notes, [1], [1]) }
            try await log.update { try $0.cut(to: Position(20)) }
        }
        let bare = scene.directory.path + "/found.mdb"
        try FileManager.default.copyItem(atPath: scene.data, toPath: bare)
        let commits = try TreeRemains.commits(in: File(bare, .read))
        try File(bare, .write).write([0, 0, 0, 0], at: Int(commits[0].transaction & 1) * SalvageScene.pageBytes + 16)
        let salvaged = try await Salvaged(bare, into: scene.directory.path + "/new")
        #expect(salvaged.events.count > 20 && !salvaged.summary.endKnown && salvaged.summary.lostRows.contains("epochs"))
    }

    @Test("is refused on a store in use and into a directory that is not empty; one that is stopped leaves no files")
    func refused() async throws {
        let scene = try await SalvageScene { try await fill($0, appends: 5) }
        let target = scene.directory.path + "/new"
        let log = try EventLog.open(at: scene.store, options: .small(), readOnly: true)
        await #expect { _ = try await Salvaged(scene.store, into: target) } throws: { ($0 as? EvstoreError)?.code == "locked" }
        for path in [scene.data, scene.store + "/log"] {
            await #expect { _ = try await Salvaged(path, into: target) } throws: { ($0 as? EvstoreError)?.code == "locked" }
        }
        try await log.close()
        await #expect { _ = try await Salvaged(scene.store, into: scene.store) } throws: { ($0 as? EvstoreError)?.code == "storeExists" }
        await #expect { _ = try await Salvaged(target, into: target) } throws: { ($0 as? EvstoreError)?.code == "storeNotFound" }
        for step in ["scan", "chain", "write", "check"] {
            #expect(throws: EvstoreError.interrupted(again: step)) {
                try EventLog.salvage(
                    at: scene.store, into: target, options: .small(),
                    progress: { name, _, _ in if name == step { throw EvstoreError.interrupted(again: step) } },
                    unconfirmed: { _, _, _ in },
                    finish: { _, _ in })
            }
            #expect(try FileManager.default.contentsOfDirectory(atPath: scene.directory.path) == ["store"], "\(step)")
        }
    }
}
