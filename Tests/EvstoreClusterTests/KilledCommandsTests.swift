import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import SchemaEvolution
import TestSupport
import Testing
import Torturing

/// Calls of the disk are killed at, which lie evenly; by hand at all of them.
@Suite("A command of a node that is killed", .serialized)
struct KilledCommandsTests {
    private static var calls: Int { ProcessInfo.processInfo.environment["EVSTORE_CLUSTER_CALLS"].flatMap(Int.init) ?? 12 }

    /// Runs a command that is killed at a call below a directory; how many calls it made.
    private static func run(
        _ shop: ShopCluster, _ store: String, _ fault: DiskFault?, _ words: [String]
    ) throws -> (outcome: BuiltProgram.Outcome, calls: Int) {
        var disk = FaultyDisk(root: store)
        (disk.fault, disk.counter) = (fault, shop.directory.path + "/calls")
        try disk.resetCounter()
        let environment = try disk.environment.merging(["EVSTORE_LOG": shop.conninfo(), "EVSTORE_STORE": store]) { $1 }
        return (try BuiltProgram(environment: environment).run(words), try disk.count().calls)
    }

    private static func expectWhole(_ store: EventStore, _ lines: [String], _ place: String) async throws {
        #expect(try await ShopCluster.lines(store) == lines, "\(place)")
        #expect(try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty, "\(place)")
    }

    @Test("cluster copy is made again by the same command, and the store is the first node, with all of its events")
    func copied() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let original = shop.path("original")
            let store = try await EventStore.create(
                original, schemas: shop.schemas, version: SchemaVersion(1), options: ShopCluster.options())
            for number in 0 ..< 60 { try await store.append([ShopCluster.placed("\(number % 9)", number)]) }
            let lines = try await ShopCluster.lines(store)
            try await store.close()
            func copy(_ number: Int, _ fault: DiskFault?) throws -> (outcome: BuiltProgram.Outcome, calls: Int) {
                try Self.run(shop, shop.path("copy-\(number)"), fault, ["cluster", "copy", "--name", "copy-\(number)", "--node", "first"])
            }
            func prepare(_ number: Int) throws { try FileManager.default.copyItem(atPath: original, toPath: shop.path("copy-\(number)")) }
            try prepare(0)
            let count = try copy(0, nil).calls
            var kills = 0
            for call in stride(from: 1, through: count, by: max(count / Self.calls, 1)) {
                try prepare(call)
                if try copy(call, DiskFault(.kill, at: call)).outcome.signal != nil { kills += 1 }
                let again = try copy(call, nil).outcome
                #expect(again.exit == 0 || again.errors.contains("already"), "call \(call) of \(count): \(again.exit) \(again.errors)")
                let cluster = try Cluster("copy-\(call)", connection: shop.conninfo())
                try await StoreMaintenance.join(cluster, as: "other", into: shop.path("other-\(call)"), options: ShopCluster.options())
                for node in ["copy-\(call)", "other-\(call)"] {
                    try await Self.expectWhole(shop.open(node), lines, "\(node) of \(count)")
                }
                try await shop["copy-\(call)"].append([ShopCluster.placed("more")])
                try await shop["other-\(call)"].catchUp()
                #expect(try shop["other-\(call)"].last().position == Position(61))
                try await shop.close()
            }
            #expect(kills > 5, "\(kills) kills")
            print("killed copies: \(kills) kills of \(count) calls")
        }
    }

    @Test("a replay and a rollback leave the node at one of both versions, and go on when they are asked for again; others go on meanwhile")
    func migrated() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            try await shop.join("b")
            try await shop.close("b")
            for number in 0 ..< 40 { try await a.append([ShopCluster.placed("\(number % 9)", number)]) }
            let ways = [["replay", "--to", "v2", "--schemas", shop.directory.path + "/schemas"], ["rollback", "--to", "v1"]]
            func migrate(_ way: [String], _ fault: DiskFault?) throws -> (outcome: BuiltProgram.Outcome, calls: Int) {
                try Self.run(shop, shop.path("b"), fault, way)
            }
            let counts = try ways.map { try migrate($0, nil).calls }
            var (kills, tried) = (0, 0)
            for (way, count) in zip(ways, counts) {
                for call in stride(from: 1, through: count, by: max(count / Self.calls, 1)) {
                    let isUp = way[0] == "replay"
                    tried += 1
                    if try migrate(way, DiskFault(.kill, at: call)).outcome.signal != nil { kills += 1 }
                    try await a.append([ShopCluster.placed("\(call % 9)", call)])
                    let between = try await shop.open("b")
                    #expect(try [SchemaVersion(1), SchemaVersion(2)].contains(between.versions.live))
                    try await shop.close("b")
                    let again = try migrate(way, nil).outcome
                    #expect(again.exit == 0, "\(way[0]), call \(call) of \(count): \(again.exit) \(again.errors)")
                    let b = try await shop.open("b")
                    try await b.catchUp()
                    #expect(try b.versions.live == SchemaVersion(isUp ? 2 : 1), "\(way[0]), call \(call) of \(count)")
                    try await Self.expectWhole(b, ShopCluster.lines(a), "\(way[0]), call \(call) of \(count)")
                    #expect(try await b.count("orders", at: SchemaVersion(1)).rows == a.count("orders").rows)
                    try await shop.close("b")
                    _ = try migrate(ways[isUp ? 1 : 0], nil)
                }
                // The other way begins above.
                _ = try migrate(ways[0], nil)
            }
            // The first run, whose calls were counted, makes the most: later ones find a read model that is kept.
            #expect(kills > tried / 4, "\(kills) kills of \(tried)")
            print("killed migrations: \(kills) kills of \(counts) calls")
            try await a.catchUp()
            #expect(try a.versions.live == SchemaVersion(1))
            try await shop.close()
        }
    }
}
