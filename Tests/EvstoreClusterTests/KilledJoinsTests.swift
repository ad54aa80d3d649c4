import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

@Suite("A join that is killed", .serialized)
struct KilledJoinsTests {
    /// How many of the calls at most, which lie evenly.
    private static var calls: Int { ProcessInfo.processInfo.environment["EVSTORE_CLUSTER_CALLS"].flatMap(Int.init) ?? 100 }

    @Test("is made again by the same command, whatever call of the disk it was killed at", arguments: [false, true])
    func killed(isReplica: Bool) async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            for number in 0 ..< 60 { try await a.append([ShopCluster.placed("\(number % 9)", number)]) }
            let copies = shop.path("copies")
            if isReplica { try BuiltProgram().must("--store", shop.path("a"), "backup", copies) }
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("behind", number)]) }
            let lines = try await ShopCluster.lines(a)
            func join(_ node: String, _ fault: DiskFault?) throws -> (outcome: BuiltProgram.Outcome, calls: Int) {
                let place = shop.path("at-\(node)")
                var disk = FaultyDisk(root: place)
                (disk.fault, disk.counter) = (fault, shop.directory.path + "/calls")
                try disk.resetCounter()
                let program = BuiltProgram(environment: try disk.environment.merging(["EVSTORE_LOG": shop.conninfo()]) { $1 })
                let outcome = try program.run("--store", place + "/store", "join", "--name", shop.name, "--node", node)
                return (outcome, try disk.count().calls)
            }
            func prepare(_ node: String) throws {
                try FileManager.default.createDirectory(atPath: shop.path("at-\(node)"), withIntermediateDirectories: true)
                guard isReplica else { return }
                try BuiltProgram().must("--store", shop.path("at-\(node)") + "/store", "follow", "--from", copies, "--once")
            }
            try prepare("counted")
            let count = try join("counted", nil).calls
            #expect(count > 20, "\(count) calls")
            var (kills, tried) = (0, 0)
            for call in stride(from: 1, through: count, by: max(count / Self.calls, 1)) {
                let node = "n\(call)"
                try prepare(node)
                tried += 1
                if try join(node, DiskFault(.kill, at: call)).outcome.signal != nil { kills += 1 }
                let again = try join(node, nil).outcome
                let isDone = again.exit == 0 || again.errors.contains("already something")
                #expect(isDone, "call \(call) of \(count): \(again.exit) \(again.errors)")
                let store = try await shop.open("at-\(node)/store")
                #expect(try await ShopCluster.lines(store) == lines && store.clusterNode?.node == node, "call \(call)")
                #expect(try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty, "call \(call)")
                try await shop.close("at-\(node)/store")
            }
            #expect(kills > tried / 2, "\(kills) kills of \(tried)")
            print("killed joins: \(kills) kills of \(count) calls")
            try await shop.close()
        }
    }
}
