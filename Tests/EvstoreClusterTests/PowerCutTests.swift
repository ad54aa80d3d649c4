import ClusterLog
import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import Synchronization
import TestSupport
import Testing
import Torturing

@Suite("The machine of a node loses its power", .serialized)
struct PowerCutTests {
    /// How many states of the disk are drawn: by hand more.
    private static var states: Int { ProcessInfo.processInfo.environment["EVSTORE_CLUSTER_STATES"].flatMap(Int.init) ?? 40 }
    private static let events = 120

    @Test("what the node had not synced comes again from the cluster log, and no read model is ahead of the log meanwhile")
    func cut() async throws {
        var chance = SeededGenerator.announced()
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let other = try await shop.join("b")
            try await shop.join("a")
            try await shop.close("a")
            let (before, recording) = try await record(shop, beside: other)
            try await other.catchUp()
            let lines = try await ShopCluster.lines(other)
            #expect(lines.count > Self.events)
            // An anchor becomes durable between appends seldom, and a state behind it rarely lacks what it names: more are drawn until one does.
            var (round, lost) = (0, 0)
            repeat {
                round += 1
                lost += try await cuts(of: recording, from: before, &chance, round: round, shop, lines)
            } while lost == 0 && round < 20
            print("power cuts: \(round * Self.states) states, of which \(lost) end before their anchor")
            #expect(lost > 0)
            try await shop.close()
        }
    }

    /// Half of the cuts come soon behind an anchor that has become durable between appends: neither the one that it begins with nor those of
    /// its end.
    /// - Returns: how many states of the disk end before their anchor.
    private func cuts(
        of recording: Recording, from before: CrashState, _ chance: inout SeededGenerator, round: Int, _ shop: ShopCluster,
        _ lines: [String]
    ) async throws -> Int {
        let anchors = Self.durableAnchors(recording).dropFirst().dropLast(2)
        let cuts = (0 ..< Self.states).map { state in
            let anchor = state % 2 == 0 ? nil : anchors.randomElement(using: &chance)
            guard let anchor else { return Int.random(in: 0 ... recording.calls.count, using: &chance) }
            return min(anchor + Int.random(in: 1 ... 20, using: &chance), recording.calls.count)
        }.sorted()
        var (state, taken, lost) = (before, 0, 0)
        for (index, cut) in cuts.enumerated() {
            while taken < cut {
                try state.take(recording.calls[taken])
                taken += 1
            }
            let node = "a-\(round)-\(index)"
            try state.draw(&chance).write(to: shop.path(node))
            let isLess = try await expectSound(shop, node, lines, "power cut at call \(cut) of \(recording.calls.count)")
            if isLess { lost += 1 }
            try FileManager.default.removeItem(atPath: shop.path(node))
        }
        return lost
    }

    /// Where an anchor, which has 136 bytes, is synced.
    private static func durableAnchors(_ recording: Recording) -> [Int] {
        var inodes: Set<UInt64> = []
        return recording.calls.indices.filter { index in
            switch recording.calls[index] {
            case .write(let inode, 0, let bytes, _, _) where bytes.count == 136: inodes.insert(inode)
            case .sync(let inode, _): return inodes.contains(inode)
            default: break
            }
            return false
        }
    }

    /// What a process does to the disk of node a while another node appends, too.
    private func record(_ shop: ShopCluster, beside other: EventStore) async throws -> (CrashState, Recording) {
        let log = shop.directory.path + "/recording"
        var disk = FaultyDisk(root: shop.path("a"))
        disk.log = log
        let before = try CrashState(shop.path("a"))
        let worker = BuiltProgram("StoreWorker", environment: try disk.environment)
        let process = Mutex(try worker.start(["node-reading", shop.path("a"), "\(Self.events)"]))
        var number = 0
        while process.withLock({ $0.isRunning }) {
            try await other.append([ShopCluster.placed("b\(number % 5)", number)])
            number += 1
            // What is taken in is durable, with all before it: node a needs times in which it appends alone, longer than an anchor waits.
            try await Task.sleep(for: .milliseconds(number % 20 == 0 ? 1_200 : 15))
        }
        let outcome = try process.withLock { try $0.wait() }
        #expect(outcome.exit == 0, "\(outcome.errors)")
        return (before, try Recording(log))
    }

    /// - Returns: whether the log ends before its anchor, which had become durable first.
    private func expectSound(_ shop: ShopCluster, _ node: String, _ lines: [String], _ note: Comment) async throws -> Bool {
        let anchor = try Anchor.read(at: shop.path(node))?.last ?? .start
        // Nobody answers there.
        try ConnectionFile.write("host=127.0.0.1 port=1 user=postgres", at: shop.path(node))
        let alone = try await shop.open(node)
        let last = try alone.last().position
        for model in try alone.status().projections {
            #expect(
                (model.checkpoint?.position ?? .start) <= last, "\(model.name) at \(model.checkpoint?.position ?? .start), \(last); \(note)"
            )
        }
        #expect(try await ShopCluster.lines(alone) == Array(lines.prefix(Int(last.rawValue))), note)
        try await shop.close(node)
        try ConnectionFile.write(shop.conninfo(), at: shop.path(node))
        let store = try await shop.open(node)
        try await store.catchUp()
        #expect(try await ShopCluster.lines(store) == lines, note)
        #expect(try await store.count("orders").rows == shop["b"].count("orders").rows, note)
        #expect(try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty, note)
        try await shop.close(node)
        return last < anchor
    }
}
