import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("A server that was replaced", .serialized)
struct FenceTests {
    @Test("is refused by nodes that have seen the new one, also in another process; they go on where it is named, too; the check tells")
    func oldPrimary() async throws {
        try await withPostgres { server in
            let standby = try server.makeStandby(synchronous: true)
            let shop = try await ShopCluster(server)
            for node in ["a", "b", "unaware"] { try await shop.join(node) }
            try await shop["a"].append([ShopCluster.placed("1")])
            for node in ["b", "unaware"] { try await shop[node].catchUp() }
            try await shop.close()
            server.stop(.immediate)
            try standby.promote()
            func connect(_ node: String, _ ports: [Int]) throws {
                let hosts = Array(repeating: "127.0.0.1", count: ports.count).joined(separator: ",")
                let numbers = ports.map(String.init).joined(separator: ",")
                try "host=\(hosts) port=\(numbers) user=postgres dbname=postgres\n".write(
                    toFile: shop.path(node) + "/cluster", atomically: true, encoding: .utf8)
            }
            // One has appended to the new primary, the other has only looked.
            for node in ["a", "b"] { try connect(node, [standby.port]) }
            try await shop.open("a").append([ShopCluster.placed("2")])
            try await shop.open("b").catchUp()
            try await shop.close()
            // The old one comes back, with what it had, as if nothing had been.
            try server.start()
            let program = BuiltProgram()
            for node in ["a", "b"] {
                try connect(node, [server.port])
                let store = try await shop.open(node)
                let refused = await #expect(throws: EvstoreError.self) { try await store.append([ShopCluster.placed("3")]) }
                #expect(
                    refused?.code == "clusterMismatch" && refused?.message.contains("timeline") == true,
                    "\(node): \(refused?.message ?? "")")
                let read = await #expect(throws: EvstoreError.self) { try await store.catchUp() }
                #expect(read?.code == "clusterMismatch", "\(node): \(read?.message ?? "")")
                try await shop.close(node)
                let status = try program.run("--store", shop.path(node), "status", "--exit-code")
                #expect(status.exit == 1 && status.errors.contains("timeline"), "\(status)")
                // Where both are named, the old one first, the new one is found.
                try connect(node, [server.port, standby.port])
                try await shop.open(node).append([ShopCluster.placed("4-\(node)")])
                try await shop.close(node)
            }
            // One that was away takes the newest of those that it can reach.
            try connect("unaware", [server.port, standby.port])
            let unaware = try await shop.open("unaware")
            try await unaware.append([ShopCluster.placed("5")])
            #expect(try unaware.last().position == Position(5))
            try await shop.close()
            let check = try program.run("--store", shop.path("a"), "--json", "cluster", "check")
            #expect(check.exit == 7 && check.output.contains(#""primaries":2"#) && check.output.contains(#""isReplaced":true"#), "\(check)")
            // A node that is new knows neither of the two.
            let both = try Cluster(shop.name, connection: String(contentsOfFile: shop.path("a") + "/cluster", encoding: .utf8).trimmed)
            let joined = await #expect(throws: EvstoreError.self) {
                try await StoreMaintenance.join(both, as: "new", into: shop.path("new"), options: ShopCluster.options())
            }
            #expect(
                joined?.code == "clusterMismatch" && joined?.message.contains("2 servers take writes") == true, "\(joined?.message ?? "")")
            server.stop(.immediate)
            let after = try program.run("--store", shop.path("a"), "--json", "cluster", "check")
            #expect(after.exit == 0 && after.output.contains(#""primaries":1"#), "\(after)")
            try await StoreMaintenance.join(both, as: "new", into: shop.path("new"), options: ShopCluster.options())
        }
    }

    @Test("a system made anew with the same log is refused until the node is told to accept it")
    func otherSystem() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            try await shop.join("a").append([ShopCluster.placed("1")])
            try await shop.close("a")
            var options = PostgresServer.Options(fsync: false)
            options.isOwnSystem = true
            try await withPostgres(options) { other in
                try BuiltProgram.shell(
                    "pg_dump -h 127.0.0.1 -p \(server.port) -U postgres postgres | psql -q -h 127.0.0.1 -p \(other.port) -U postgres postgres"
                )
                try "host=127.0.0.1 port=\(other.port) user=postgres dbname=postgres\n".write(
                    toFile: shop.path("a") + "/cluster", atomically: true, encoding: .utf8)
                let store = try await shop.open("a")
                let refused = await #expect(throws: EvstoreError.self) { try await store.append([ShopCluster.placed("2")]) }
                #expect(
                    refused?.code == "clusterMismatch" && refused?.message.contains("another system") == true, "\(refused?.message ?? "")")
                try await shop.close("a")
                let accepted = try BuiltProgram().must("--store", shop.path("a"), "cluster", "accept-server")
                #expect(accepted.output.contains("position 1"))
                try await shop.open("a").append([ShopCluster.placed("2")])
                try await shop.close()
            }
        }
    }
}

extension String {
    fileprivate var trimmed: String { trimmingCharacters(in: .whitespacesAndNewlines) }
}
