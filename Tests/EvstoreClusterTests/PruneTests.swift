import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("Frames that every node and a backup have", .serialized)
struct PruneTests {
    private static func error(_ body: () async throws -> Void) async -> EvstoreError? {
        do { try await body() } catch { return error as? EvstoreError }
        return nil
    }

    @Test("a node is made from the backup of a prune that came right behind a cut")
    func behindCut() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.append([ShopCluster.placed("1")])
            _ = try await a.takeSnapshot("here")
            try await a.append([ShopCluster.placed("2")])
            try await a.rollback(toSnapshot: "here", discardTail: true)
            try await b.catchUp()
            let backups = shop.directory.path + "/backups"
            #expect(try await a.maintenance.pruneFrames(backingUpInto: backups).removed > 0)
            _ = try await StoreMaintenance.follow(from: backups, into: shop.path("c"), options: ShopCluster.options())
            try await a.append([ShopCluster.placed("3")])
            let c = try await shop.join("c")
            #expect(try await ShopCluster.lines(c) == ShopCluster.lines(a) && c.last() == a.last())
            try await shop.close()
        }
    }

    @Test("a node that was lost joins again from a backup behind its last replay, with no event in between")
    func lostBehindReplay() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.append([ShopCluster.placed("1")])
            try await b.catchUp()
            try await b.migrate(to: 2)
            try await a.catchUp()
            let backups = shop.directory.path + "/backups"
            _ = try await a.maintenance.backUp(into: backups)
            try await shop.close("b")
            try FileManager.default.removeItem(atPath: shop.path("b"))
            _ = try await StoreMaintenance.follow(from: backups, into: shop.path("b"), options: ShopCluster.options())
            let again = try await shop.join("b", replacing: true)
            #expect(try again.versions.live == 2 && again.last().position == 1)
            try await again.append([ShopCluster.placed("2")])
            try await shop.close()
        }
    }

    @Test("are pruned, but for those that a node lacks; a new node begins with the backup, and all have the same log")
    func prunes() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 20 { try await a.append([ShopCluster.placed("\(number % 3)", number)]) }
            try await b.catchUp()
            try await shop.close("b")
            for number in 20 ..< 30 { try await a.append([ShopCluster.placed("\(number % 3)", number)]) }
            let backups = shop.directory.path + "/backups"
            let before = try await shop.cluster().status()
            let first = try await a.maintenance.pruneFrames(backingUpInto: backups)
            #expect(first.neededBy == ["b"] && first.removed > 15 && first.left >= 10 && first.removed + first.left == before.frames)
            // What is pruned is said, and is no damage; what is missing besides is.
            let after = try await shop.cluster().status()
            #expect(after.pruned == first.through && after.frames == first.left)
            let again = try await shop.open("b")
            try await again.catchUp()
            #expect(try await ShopCluster.lines(again) == ShopCluster.lines(a))

            let second = try await a.maintenance.pruneFrames(backingUpInto: backups)
            #expect(second.neededBy == [] && second.through > first.through)
            let refused = await Self.error { try await StoreMaintenance.join(shop.cluster(), as: "c", into: shop.path("c")) }
            #expect(refused?.code == "clusterMismatch" && refused?.message.contains("pruned") == true, "\(refused?.message ?? "joined")")
            try await a.append([ShopCluster.placed("late")])
            _ = try await StoreMaintenance.follow(from: backups, into: shop.path("c"), options: ShopCluster.options())
            let c = try await shop.join("c")
            #expect(try await ShopCluster.lines(c) == ShopCluster.lines(a))
            try await c.append([ShopCluster.placed("c")])
            try await a.catchUp()
            #expect(try await c.maintenance.verify(deep: true).ok && a.last() == c.last())
            try await shop.close()
        }
    }

    @Test("of two prunes at once one is refused until it is repeated, and a new node has everything from the other's backup")
    func together() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("\(number % 3)", number)]) }
            try await b.catchUp()
            try await shop.close("b")
            let (own, others, node) = (shop.directory.path + "/own", shop.directory.path + "/others", shop.path("b"))
            let program = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo])
            let told = Mutex<String?>(nil)
            let refused = await Self.error {
                _ = try await a.maintenance.pruneFrames(backingUpInto: own) { _ in
                    told.withLock { told in
                        if told != nil { return }
                        do {
                            let outcome = try program.run("--store", node, "cluster", "prune", others)
                            told = outcome.exit == 0 ? "pruned" : outcome.errors
                        } catch { told = "\(error)" }
                    }
                }
            }
            let other = told.withLock(\.self)
            #expect(other == "pruned")
            #expect(refused?.code == "locked" && refused?.message.contains("prunes") == true, "\(refused?.message ?? "pruned")")
            let pruned = try await shop.cluster().status().pruned
            #expect(pruned > 5)
            #expect(try await a.maintenance.pruneFrames(backingUpInto: own).through >= pruned)
            try await a.append([ShopCluster.placed("late")])
            _ = try await StoreMaintenance.follow(from: others, into: shop.path("c"), options: ShopCluster.options())
            let c = try await shop.join("c")
            #expect(try await ShopCluster.lines(c) == ShopCluster.lines(a))
            try await shop.close()
        }
    }

    @Test("a node that is older than what was pruned is told how it is made anew; a frame that somebody deletes is damage still")
    func olderFiles() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            try await a.append([ShopCluster.placed("1")])
            try await shop.close("a")
            try FileManager.default.copyItem(atPath: shop.path("a"), toPath: shop.path("old"))
            let again = try await shop.open("a")
            for number in 0 ..< 9 { try await again.append([ShopCluster.placed("1", number)]) }
            let report = try await again.maintenance.pruneFrames(backingUpInto: shop.directory.path + "/backups")
            #expect(report.removed > 5)
            try await shop.close("a")
            let old = try await shop.open("old")
            let told = await Self.error { try await old.catchUp() }
            #expect(told?.code == "clusterMismatch" && told?.fix?.contains("follow") == true, "\(told?.message ?? "") \(told?.fix ?? "")")
            #expect(try await ShopCluster.lines(old).count == 1)
            _ = try server.connect().run(
                "DELETE FROM evstore_frame WHERE number = (SELECT min(number) FROM evstore_frame)")
            #expect(await Self.error { _ = try await shop.cluster().status() }?.code == "clusterDamaged")
            try await shop.close()
        }
    }

    @Test("the backups of another store are refused, and nothing is pruned for them")
    func otherBackups() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let (shop, other) = (try await ShopCluster(server), try await ShopCluster(server, name: "other"))
            let (a, b) = (try await shop.join("a"), try await other.join("b"))
            for number in 0 ..< 5 { try await a.append([ShopCluster.placed("1", number)]) }
            let backups = shop.directory.path + "/backups"
            _ = try await b.maintenance.backUp(into: backups)
            #expect(await Self.error { _ = try await a.maintenance.pruneFrames(backingUpInto: backups) }?.code == "otherBackup")
            #expect(try await shop.cluster().status().pruned == 0)
            try await shop.close()
            try await other.close()
        }
    }
}
