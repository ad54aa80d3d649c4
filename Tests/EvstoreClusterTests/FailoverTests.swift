import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import Platform
import PostgreSQL
import TestSupport
import Testing

@Suite("Failover of a cluster log", .serialized)
struct FailoverTests {
    @Test("a synchronous standby that takes over has everything that was acknowledged, and appends go on")
    func synchronous() async throws {
        try await withPostgres { server in
            let standby = try server.makeStandby(synchronous: true)
            let shop = try await ShopCluster(server)
            let both = "host=127.0.0.1,127.0.0.1 port=\(server.port),\(standby.port) user=postgres dbname=postgres"
            let cluster = try Cluster(shop.name, connection: both)
            for node in ["a", "b"] {
                try await StoreMaintenance.join(cluster, as: node, into: shop.path(node), options: ShopCluster.options())
                try await shop.open(node)
            }
            let acknowledged = Acknowledged()
            try await withThrowingTaskGroup(of: Void.self) { group in
                for node in ["a", "b"] {
                    for writer in 0 ..< 4 {
                        let store = shop[node]
                        group.addTask {
                            for number in 0 ..< 60 {
                                let id = "\(node)-\(writer)-\(number)"
                                let receipt = try await store.append([ShopCluster.placed("\(writer)", number, id: id)])
                                await acknowledged.note(id, receipt.positions.lowerBound)
                            }
                        }
                    }
                }
                group.addTask {
                    while await acknowledged.count < 100 { try await Task.sleep(for: .milliseconds(2)) }
                    server.stop(.immediate)
                    try standby.promote()
                }
                try await group.waitForAll()
            }
            for node in ["a", "b"] { try await shop[node].catchUp() }
            let lines = try await ShopCluster.lines(shop["a"])
            #expect(try await ShopCluster.lines(shop["b"]) == lines)
            #expect(lines.count == 480)
            for (id, position) in await acknowledged.positions {
                #expect(lines[Int(position) - 1].contains("\"\(id)\""), "\(id) at \(position)")
            }
            try await shop.close()
        }
    }

    @Test("what no standby has is seen by nobody, also after its deadline, and is there once when the standby is back")
    func waitingForStandby() async throws {
        try await withPostgres { server in
            let standby = try server.makeStandby(synchronous: true)
            let shop = try await ShopCluster(server)
            try await shop.join("a")
            try await shop.close("a")
            let a = try await shop.open("a", deadline: 1)
            try await ShopCluster.patiently { try await a.append([ShopCluster.placed("1", id: "one")]) }
            standby.stop()
            var unknown: EvstoreError?
            // On a busy machine the deadline may pass before anything is sent.
            for _ in 0 ..< 20 where unknown?.code != "commitOutcomeUnknown" {
                unknown = await #expect(throws: EvstoreError.self) { try await a.append([ShopCluster.placed("2", 2, id: "two")]) }
            }
            #expect(unknown?.code == "commitOutcomeUnknown", "\(unknown?.code ?? "")")
            try await Task.sleep(for: .milliseconds(300))
            let rows = try server.connect().run("SELECT position FROM evstore_log WHERE name = 'shop'")
            #expect(rows.int(0, 0) == 1)
            try standby.start()
            try await shop.close("a")
            let again = try await shop.open("a")
            let receipt = try await again.append([ShopCluster.placed("2", 2, id: "two")])
            #expect(receipt.positions == 2 ... 2)
            #expect(try again.last().position == Position(2))
            try await shop.close()
        }
    }

    @Test("a standby that was behind is refused by the node that has more, which keeps it and exports it")
    func behind() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            try await shop.join("b")
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("1", number)]) }
            try await shop["b"].catchUp()
            try await shop.close("b")
            let standby = try server.makeStandby(synchronous: false)
            let positionBefore = try await Self.isFollowed(by: standby, shop.name, at: 10)
            #expect(positionBefore)
            // The standby hears nothing more, and takes over.
            standby.stop(.immediate)
            for number in 10 ..< 15 { try await a.append([ShopCluster.placed("1", number, id: "late-\(number)")]) }
            try await shop.close("a")
            server.stop(.immediate)
            try standby.start()
            try standby.promote()
            for node in ["a", "b"] {
                try "host=127.0.0.1 port=\(standby.port) user=postgres dbname=postgres\n".write(
                    toFile: shop.path(node) + "/cluster", atomically: true, encoding: .utf8)
            }
            let after = try await shop.open("a")
            let refused = await #expect(throws: EvstoreError.self) { try await after.append([ShopCluster.placed("2")]) }
            #expect(refused == .clusterWentBack(log: "shop", cluster: Position(10), node: Position(15)))
            #expect(try after.last().position == Position(15))
            // The other node had no more than the cluster log has, and goes on; then that has frames of its own.
            let b = try await shop.open("b")
            try await b.append([ShopCluster.placed("other")])
            let again = await #expect(throws: EvstoreError.self) { try await after.catchUp() }
            #expect(again?.code == "clusterWentBack", "\(again?.message ?? "")")
            var rescued = ""
            let report = try await after.maintenance.rescue { lines in
                rescued += String(decoding: lines, as: UTF8.self)
                return true
            }
            #expect(report.common == Position(10) && report.events == 5)
            #expect(rescued.split(separator: "\n").count == 5 && rescued.contains("late-14"))
            try await shop.close()
        }
    }

    private static func isFollowed(by standby: PostgresServer, _ name: String, at position: Int64) async throws -> Bool {
        let connection = try standby.connect()
        let end = Instant.now + .patience
        while .now < end {
            let rows = try connection.run("SELECT position FROM evstore_log WHERE name = $1", [.text(name)])
            if rows.count == 1, rows.int(0, 0) == position { return true }
            try await Task.sleep(for: .milliseconds(20))
        }
        return false
    }
}

/// What was acknowledged, and where.
actor Acknowledged {
    private(set) var positions: [String: UInt64] = [:]

    var count: Int { positions.count }

    func note(_ id: String, _ position: UInt64) { positions[id] = position }
}
