import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import PostgreSQL
import TestSupport
import Testing

@Suite("What does not go together", .serialized)
struct MismatchTests {
    private static func run(_ server: PostgresServer, _ sql: String) throws {
        _ = try server.connect().run(sql)
    }

    private static func code(_ body: () async throws -> Void) async -> String {
        do {
            try await body()
            return "none"
        } catch { return (error as? EvstoreError)?.code ?? "\(error)" }
    }

    @Test("a wrong password, a password in the connection string, a missing database and a name that is none are said at once")
    func connecting() async throws {
        try await withPostgres(.init(fsync: false, asksPasswords: true)) { server in
            try Self.run(server, "ALTER USER postgres PASSWORD 'right'")
            let conninfo = "host=127.0.0.1 port=\(server.port) user=postgres dbname=postgres"
            let wrong = await #expect(throws: EvstoreError.self) { _ = try await Cluster("shop", connection: conninfo).status() }
            #expect(wrong?.code == "logUnavailable" && wrong?.message.contains("password") == true, "\(wrong?.message ?? "")")
            #expect(throws: EvstoreError.self) { try Cluster("shop", connection: conninfo + " password=right") }
            let missing = await #expect(throws: EvstoreError.self) {
                _ = try await Cluster("shop", connection: server.socketConninfo + " dbname=nowhere").status()
            }
            #expect(missing?.message.contains("nowhere") == true, "\(missing?.message ?? "")")
            #expect(throws: EvstoreError.self) { try Cluster("a b", connection: conninfo) }
        }
    }

    @Test("no cluster log, tables of another program, a newer format and a copy that is not whole are refused, each by its name")
    func tables() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let cluster = try Cluster("shop", connection: server.conninfo)
            #expect(await Self.code { _ = try await cluster.status() } == "clusterMismatch")
            try Self.run(server, "CREATE TABLE evstore_log (name text, price int)")
            #expect(await Self.code { _ = try await cluster.status() } == "clusterMismatch")
            try Self.run(server, "DROP TABLE evstore_log")
            let shop = try await ShopCluster(server)
            #expect(await Self.code { try await cluster.create(schemas: shop.schemas) } == "usage")
            #expect(await Self.code { _ = try await Cluster("other", connection: server.conninfo).status() } == "usage")
            try await shop.join("a")
            #expect(await Self.code { try await StoreMaintenance.join(cluster, as: "a", into: shop.path("b")) } == "usage")
            #expect(await Self.code { try await StoreMaintenance.join(cluster, as: "b", into: shop.path("a")) } == "storeExists")
            try Self.run(server, "UPDATE evstore_log SET ready = false")
            #expect(await Self.code { try await StoreMaintenance.join(cluster, as: "b", into: shop.path("b")) } == "clusterMismatch")
            try Self.run(server, "UPDATE evstore_log SET ready = true, format = 2")
            #expect(await Self.code { try await StoreMaintenance.join(cluster, as: "b", into: shop.path("b")) } == "storeNewer")
            #expect(await Self.code { try await shop["a"].catchUp() } == "none")
            try await shop.close()
        }
    }

    @Test("tables that an earlier program has made are given what they lack; a role that may not do that is told the statements")
    func earlier() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            for node in ["a", "b"] { try await shop.join(node) }
            try await shop["a"].append([ShopCluster.placed("1")])
            try await shop.close()
            let earlier = "ALTER TABLE evstore_log DROP COLUMN pruned"
            try Self.run(server, earlier)
            try Self.run(server, "ALTER TABLE evstore_node DROP COLUMN claim")
            try Self.run(server, "CREATE ROLE clerk LOGIN")
            try Self.run(server, "GRANT SELECT, INSERT, UPDATE, DELETE ON evstore_log, evstore_frame, evstore_node TO clerk")
            let clerk = try Cluster("shop", connection: "host=127.0.0.1 port=\(server.port) user=clerk dbname=postgres")
            let refused = await #expect(throws: EvstoreError.self) { _ = try await clerk.status() }
            let said = refused?.fix ?? ""
            #expect(refused?.code == "clusterMismatch" && said.contains("ALTER TABLE evstore_log ADD COLUMN"), "\(said)")
            let a = try await shop.open("a")
            try await a.append([ShopCluster.placed("2")])
            try await a.catchUp()
            try Self.run(server, earlier)
            let b = try await shop.open("b")
            try await b.catchUp()
            #expect(try b.last().position == Position(2))
            #expect(try await clerk.status().position == Position(2))
            try await shop.close()
        }
    }

    @Test("a store that belongs to another cluster log of the same name is refused, and writes nothing there")
    func mixedUp() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            try Self.run(server, "CREATE DATABASE two")
            let shop = try await ShopCluster(server)
            try await shop.join("a")
            try await shop.close("a")
            let two = "host=127.0.0.1 port=\(server.port) user=postgres dbname=two"
            let other = try Cluster("shop", connection: two)
            try await other.create(schemas: shop.schemas, version: SchemaVersion(1))
            try (two + "\n").write(toFile: shop.path("a") + "/cluster", atomically: true, encoding: .utf8)
            let a = try await shop.open("a")
            #expect(await Self.code { try await a.append([ShopCluster.placed("1")]) } == "clusterMismatch")
            #expect(try await other.status().position == .start)
            try await shop.close()
        }
    }

    @Test("frames that somebody deletes or changes are found, by a node that needs them and by who counts them")
    func damaged() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            for number in 0 ..< 8 { try await a.append([ShopCluster.placed("1", number)]) }
            try Self.run(server, "UPDATE evstore_frame SET bytes = set_byte(bytes, 90, get_byte(bytes, 90) # 1) WHERE number = 5")
            #expect(await Self.code { try await StoreMaintenance.join(shop.cluster(), as: "b", into: shop.path("b")) } == "clusterDamaged")
            try Self.run(server, "DELETE FROM evstore_frame WHERE number = 5")
            #expect(await Self.code { try await StoreMaintenance.join(shop.cluster(), as: "b", into: shop.path("b")) } == "clusterDamaged")
            #expect(await Self.code { _ = try await shop.cluster().status() } == "clusterDamaged")
            // The log's row alone decides what comes next: who has all frames goes on.
            try await a.append([ShopCluster.placed("2")])
            try Self.run(server, "DELETE FROM evstore_log")
            #expect(await Self.code { try await a.append([ShopCluster.placed("3")]) } == "clusterMismatch")
            #expect(try a.last().position == Position(9))
            try await shop.close()
        }
    }

    @Test("an old copy of a node's files catches up, and appends behind everything it had missed")
    func oldCopy() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            try await a.append([ShopCluster.placed("1")])
            try await shop.close("a")
            try FileManager.default.copyItem(atPath: shop.path("a"), toPath: shop.path("old"))
            let again = try await shop.open("a")
            for number in 0 ..< 20 { try await again.append([ShopCluster.placed("1", number)]) }
            try await shop.close("a")
            let old = try await shop.open("old")
            let receipt = try await old.append([ShopCluster.placed("2")])
            #expect(receipt.positions == 22 ... 22)
            try await shop.close()
        }
    }

    @Test("a node whose program has no way to the cluster log reads and refuses to append")
    func noWay() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            try await a.append([ShopCluster.placed("1")])
            try await shop.close("a")
            var options = ShopCluster.options()
            options = Options()
            (options.mapBytes, options.ballastBytes) = (1 << 28, 0)
            let plain = try await EventStore.open(shop.path("a"), options: options)
            #expect(try await plain.count("orders").rows == 1)
            #expect(await Self.code { try await plain.append([ShopCluster.placed("2")]) } == "clusterMismatch")
            try await plain.close()
        }
    }

    @Test("a database that takes no writes refuses appends and keeps what there is")
    func noWrites() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            try await shop.join("a")
            try await shop.close("a")
            let a = try await shop.open("a", deadline: 1)
            try await ShopCluster.patiently { try await a.append([ShopCluster.placed("1", id: "one")]) }
            try Self.run(server, "ALTER SYSTEM SET default_transaction_read_only = on")
            try Self.run(server, "SELECT pg_reload_conf()")
            try server.waitUntil("the setting") { try server.connect().run("SHOW default_transaction_read_only").text(0, 0) == "on" }
            try Self.run(server, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'evstore %'")
            // Of the one whose connection was ended nobody knows; the next one is told why.
            _ = await Self.code { try await a.append([ShopCluster.placed("2")]) }
            var code = "deadlinePassed"
            for _ in 0 ..< 20 where code == "deadlinePassed" { code = await Self.code { try await a.append([ShopCluster.placed("2")]) } }
            #expect(code == "logUnavailable")
            #expect(try a.last().position == Position(1))
            try await shop.close()
        }
    }

    @Test("one append of many megabytes travels in one frame")
    func large() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            let customer = String(repeating: "x", count: 900_000)
            let events = try (0 ..< 64).map { number in
                NewEvent(
                    stream: try StreamName("order-\(number)"), type: "OrderPlaced",
                    payload: Array(#"{"id":"\#(number)","customer":"\#(customer)","total":1}"#.utf8))
            }
            try await a.append(events)
            try await b.catchUp()
            #expect(try b.last().position == Position(64))
            #expect(try b.log.read { try $0.lastLink } == a.log.read { try $0.lastLink })
            try await shop.close()
        }
    }
}
