import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

@Suite("A node that is killed at a call of its disk", .serialized)
struct KilledCallsTests {
    /// How many of the calls, which lie evenly: by hand all of them.
    private static var calls: Int { ProcessInfo.processInfo.environment["EVSTORE_CLUSTER_CALLS"].flatMap(Int.init) ?? 24 }
    private static let events = 20

    @Test("what PostgreSQL has and the node had not written yet is there when it is opened again, once, whatever it was about to write")
    func killed() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let other = try await shop.join("b")
            try await shop.join("a")
            try await shop.close("a")
            let count = try work(shop, "a", "counted", nil).calls
            #expect(count > 40, "\(count) calls")
            var (told, kills, tried) = (["a-counted"], 0, 0)
            for call in stride(from: 1, through: count, by: max(count / Self.calls, 1)) {
                // What another has appended is taken in meanwhile, too.
                try await other.append([ShopCluster.placed("b", call)])
                let run = try work(shop, "a", "at\(call)", DiskFault(.kill, at: call))
                if run.outcome.signal != nil { kills += 1 }
                tried += 1
                let again = try work(shop, "a", "at\(call)", nil)
                #expect(again.outcome.exit == 0, "call \(call): \(again.outcome.errors)")
                told.append("a-at\(call)")
            }
            #expect(kills > tried / 2, "\(kills) kills")
            try await other.catchUp()
            let lines = try await ShopCluster.lines(other)
            for name in told {
                for number in 0 ..< Self.events {
                    let id = "\"id\":\"\(name)-0-\(number)\""
                    #expect(lines.count { $0.contains(id) } == 1, "\(id)")
                }
            }
            let own = try await shop.open("a")
            try await own.catchUp()
            #expect(try await ShopCluster.lines(own) == lines)
            #expect(try await own.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty)
            print("killed calls: \(kills) kills of \(count) calls")
            try await shop.close()
        }
    }

    /// A process that appends its events, and those that it had appended before once more.
    private func work(
        _ shop: ShopCluster, _ node: String, _ name: String, _ fault: DiskFault?
    ) throws -> (outcome: BuiltProgram.Outcome, calls: Int) {
        var disk = FaultyDisk(root: shop.path(node))
        disk.fault = fault
        disk.counter = shop.directory.path + "/calls"
        try disk.resetCounter()
        let worker = BuiltProgram("StoreWorker", environment: try disk.environment)
        let outcome = try worker.run(["node", shop.path(node), "a-\(name)", "\(Self.events)", "0"])
        return (outcome, try disk.count().calls)
    }
}
