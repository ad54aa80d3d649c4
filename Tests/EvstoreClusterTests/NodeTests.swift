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

@Suite("The nodes of a cluster log", .serialized)
struct NodeTests {
    @Test("what one node appends every other one has, at the same positions and with the same hash chain")
    func sameLog() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            for node in ["a", "b", "c"] { try await shop.join(node) }
            for number in 0 ..< 30 {
                let node = ["a", "b", "c"][number % 3]
                let receipt = try await shop[node].append([ShopCluster.placed("\(number % 7)", number)])
                #expect(receipt.positions.lowerBound == UInt64(number + 1))
            }
            for node in ["a", "b", "c"] { try await shop[node].catchUp() }
            let lines = try await ShopCluster.lines(shop["a"])
            #expect(lines.count == 30)
            let links = try ["a", "b", "c"].map { node in try shop[node].log.read { try $0.lastLink } }
            for node in ["b", "c"] { #expect(try await ShopCluster.lines(shop[node]) == lines) }
            #expect(Set(links).count == 1)
            try await shop.close()
        }
    }

    @Test("a node that was closed keeps no connection to PostgreSQL")
    func disconnected() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let (observer, left) = (try server.connect(), "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'evstore a'")
            var closed = [try await shop.join("a")]
            for number in 0 ..< 3 {
                try await closed[number].append([ShopCluster.placed("1", number)])
                #expect(try observer.run(left).int(0, 0) ?? 0 > 0)
                try await shop.close("a")
                closed.append(try await shop.open("a"))
            }
            try await shop.close()
            let end = Instant.now + .patience
            // The server notices an end a moment later.
            while try observer.run(left).int(0, 0) != 0, .now < end {
                try await Task.sleep(for: .milliseconds(20))
            }
            #expect(try observer.run(left).int(0, 0) == 0)
        }
    }

    @Test("of two nodes that expect the same revision one wins, and the other is told the revision there is")
    func conflict() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.append(ShopCluster.placed("1"), expecting: .noStream)
            await #expect(
                throws: EvstoreError.expectationFailed(stream: try StreamName("order-1"), expected: .noStream, actual: Revision(0))
            ) {
                try await b.append(ShopCluster.placed("1"), expecting: .noStream)
            }
            try await b.append(ShopCluster.placed("1"), expecting: .revision(Revision(0)))
            // What b has just appended a does not have yet, and is judged by all the same.
            try await a.append(ShopCluster.placed("1"), expecting: .revision(Revision(1)))
            try await shop.close()
        }
    }

    @Test("an append with an id that another node has appended returns the first receipt")
    func repeated() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            let first = try await a.append([ShopCluster.placed("1", 5, id: "mine")])
            let again = try await b.append([ShopCluster.placed("1", 5, id: "mine")])
            #expect(again.positions == first.positions && again.duplicate)
            await #expect(throws: EvstoreError.idReused(id: try EventID("mine"), position: Position(1))) {
                try await b.append([ShopCluster.placed("1", 6, id: "mine")])
            }
            try await shop.close()
        }
    }

    @Test("how far a node was stands in the cluster's status also when it is closed a moment after its last append")
    func told() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            var (a, count) = (try await shop.join("a"), 200)
            for number in 0 ..< count { try await a.append([ShopCluster.placed("\(number % 3)", number)]) }
            let end = Instant.now + .patience
            while try await shop.cluster().status().nodes.first?.position == .start, .now < end {
                try await Task.sleep(for: .milliseconds(20))
            }
            var told: [Position] = []
            // On a busy machine a node that is closed may have no time for it.
            repeat {
                for number in 0 ..< 50 { try await a.append([ShopCluster.placed("\(number % 3)", number)]) }
                count += 50
                try await shop.close("a")
                told = try await shop.cluster().status().nodes.map(\.position)
                if told != [Position(UInt64(count))] { a = try await shop.open("a") }
            } while told != [Position(UInt64(count))] && count < 1_000
            #expect(told == [Position(UInt64(count))])
            try await shop.close()
        }
    }

    @Test("a node that is open follows by itself, and who waits for events on it is woken")
    func following() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.append([ShopCluster.placed("1")])
            let seen = try await b.log.wait(after: .start, deadline: .now + .patience)
            #expect(seen == Position(1))
            #expect(try await b.count("orders").rows == 1)
            try await shop.close()
        }
    }

    @Test("a node that joins later has everything, works at the top, and is checked in full")
    func late() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            for number in 0 ..< 2_000 { try await a.append([ShopCluster.placed("\(number % 50)", number)]) }
            try await a.migrate(to: SchemaVersion(2))
            let b = try await shop.join("b")
            #expect(try b.versions.live == SchemaVersion(2))
            #expect(try await ShopCluster.lines(b) == ShopCluster.lines(a))
            #expect(try await b.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty)
            #expect(try await b.count("orders").rows == 50)
            try await shop.close()
        }
    }

    @Test("an existing store becomes a cluster, its events keep their positions, and a node that leaves keeps its store")
    func copyAndLeave() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server, name: "unused")
            let store = try await EventStore.create(
                shop.path("old"), schemas: shop.schemas, version: SchemaVersion(1), options: ShopCluster.options())
            for number in 0 ..< 300 { try await store.append([ShopCluster.placed("\(number % 20)", number)]) }
            let lines = try await ShopCluster.lines(store)
            let other = try Cluster("moved", connection: shop.conninfo())
            try await store.maintenance.copy(to: other, as: "old")
            // The handle is that of a store that is alone.
            let refused = await #expect(throws: EvstoreError.self) { try await store.append([ShopCluster.placed("y")]) }
            #expect(refused?.code == "clusterMismatch")
            try await store.close()
            #expect(try shop.format(of: "old") == 7)
            try await StoreMaintenance.join(other, as: "new", into: shop.path("new"), options: ShopCluster.options())
            let (old, new) = (try await shop.open("old"), try await shop.open("new"))
            #expect(try await ShopCluster.lines(new) == lines)
            try await new.append([ShopCluster.placed("x")])
            try await old.append(ShopCluster.placed("x"), expecting: .revision(Revision(0)))
            try await shop.close("old")
            let leaving = try await shop.open("old")
            try await leaving.maintenance.leave()
            try await shop.close("old")
            let alone = try await shop.open("old")
            #expect(alone.clusterNode == nil)
            #expect(try alone.last().epoch > .first && shop.format(of: "old") == 4)
            #expect(try alone.log.read { try $0.rows(.notes, prefix: Array("node/".utf8)) }.isEmpty)
            try await alone.append([ShopCluster.placed("mine")])
            #expect(try alone.last().position == Position(303))
            try await new.catchUp()
            #expect(try new.last().position == Position(302))
            #expect(try await other.status().nodes.map(\.name) == ["new"])
            try await shop.close()
        }
    }

    @Test("a store whose log was cut twice becomes a cluster, and nodes join it with the same hash chain")
    func cutStore() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server, name: "unused")
            let store = try await EventStore.create(
                shop.path("old"), schemas: shop.schemas, version: SchemaVersion(1), options: ShopCluster.options())
            for round in 0 ..< 2 {
                for number in 0 ..< 30 { try await store.append([ShopCluster.placed("\(number % 7)", number)]) }
                _ = try await store.takeSnapshot("s\(round)")
                for number in 0 ..< 5 { try await store.append([ShopCluster.placed("gone", number)]) }
                // No event that stays has this type, whose number stays taken.
                try await store.append([ShopCluster.paid("gone")])
                try await store.rollback(toSnapshot: "s\(round)", discardTail: true)
            }
            try await store.append([ShopCluster.placed("last")])
            let cluster = try Cluster("cut", connection: shop.conninfo())
            try await store.maintenance.copy(to: cluster, as: "old")
            try await store.close()
            try await StoreMaintenance.join(cluster, as: "new", into: shop.path("new"), options: ShopCluster.options())
            let (old, new) = (try await shop.open("old"), try await shop.open("new"))
            try await new.append([ShopCluster.placed("x")])
            try await old.append(ShopCluster.placed("x"), expecting: .revision(Revision(0)))
            try await new.append([ShopCluster.paid("x")])
            try await old.append([ShopCluster.paid("1")])
            try await new.catchUp()
            #expect(try await ShopCluster.lines(new) == ShopCluster.lines(old))
            #expect(try await ShopCluster.lines(old).suffix(2).allSatisfy { $0.contains("OrderPaid") })
            #expect(try new.last() == old.last() && new.last().position == Position(65))
            #expect(try new.log.read { try $0.lastLink } == old.log.read { try $0.lastLink })
            #expect(try await new.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty)
            // A cut that the store made before it was a node stands as one of the cluster's: the third is of all nodes.
            let report = try await old.rollback(toSnapshot: "s1", discardTail: true, epoch: Epoch(3))
            try await new.catchUp()
            #expect(try report.tail == 5 && old.last() == Checkpoint(epoch: Epoch(4), position: Position(60)))
            #expect(try await ShopCluster.lines(new) == ShopCluster.lines(old) && new.last() == old.last())
            try await shop.close()
        }
    }
}
