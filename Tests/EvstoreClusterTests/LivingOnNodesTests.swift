import EventLog
import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import Platform
import PostgreSQL
import Synchronization
import TestSupport
import Testing

@Suite("What is done with a store is done with a node", .serialized)
struct LivingOnNodesTests {
    /// What a consumer was given.
    private final class Seen: Sendable {
        let positions = Mutex<[UInt64]>([])

        /// Consumes until it was given a position.
        func consume(_ store: EventStore, through last: UInt64) async throws {
            let consuming = Task {
                try await store.consume("mailer") { event, _ in self.positions.withLock { $0.append(event.position.rawValue) } }
            }
            let end = Instant.now + .patience
            while positions.withLock({ $0.last ?? 0 }) < last, .now < end { try await Task.sleep(for: .milliseconds(5)) }
            consuming.cancel()
            try await consuming.value
        }
    }

    @Test("a consumer on one node is given what all nodes append, once and in order, also behind a stop")
    func consumer() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            let seen = Seen()
            for number in 0 ..< 30 { try await shop[number % 2 == 0 ? "a" : "b"].append([ShopCluster.placed("\(number % 4)", number)]) }
            try await seen.consume(b, through: 30)
            for number in 30 ..< 50 { try await a.append([ShopCluster.placed("\(number % 4)", number)]) }
            try await seen.consume(b, through: 50)
            #expect(seen.positions.withLock { $0 } == Array(1 ... 50))
            // The place is this node's own.
            #expect(try a.consumers().isEmpty && b.consumers().map(\.place.position) == [Position(50)])
            try await shop.close()
        }
    }

    @Test("a drill on a node rehearses the migration of that node, and changes nothing on any")
    func drill() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 60 { try await shop[number % 2 == 0 ? "a" : "b"].append([ShopCluster.placed("\(number % 9)", number)]) }
            try await a.catchUp()
            let (lines, frames) = (try await ShopCluster.lines(a), try await shop.cluster().status().frames)
            let report = try await a.maintenance.drill(to: SchemaVersion(2))
            #expect(report.passed, "\(report)")
            #expect(try await ShopCluster.lines(a) == lines && a.versions.live == SchemaVersion(1))
            try await b.catchUp()
            #expect(try await ShopCluster.lines(b) == lines && b.versions.live == SchemaVersion(1))
            let now = try await shop.cluster().status()
            #expect(now.position == Position(60) && now.frames == frames, "\(now.frames) frames, before \(frames)")
            try await shop.close()
        }
    }

    @Test("a replica of a node's backups joins, and takes in only the frames behind its end")
    func replica() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 60 { try await shop[number % 2 == 0 ? "a" : "b"].append([ShopCluster.placed("\(number % 9)", number)]) }
            try await a.migrate(to: SchemaVersion(2))
            try await a.catchUp()
            let (copies, replica) = (shop.path("copies"), shop.path("c"))
            let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("a")])
            try program.must("backup", copies)
            for number in 0 ..< 20 { try await b.append([ShopCluster.placed("\(number % 9)", number)]) }
            try program.must("--store", replica, "follow", "--from", copies, "--once")
            // Of the frames before the backup's end it needs none but the last.
            let frames = try await shop.cluster().status().frames
            _ = try server.connect().run("DELETE FROM evstore_frame WHERE number < \(frames - 30)")
            let taken = await #expect(throws: EvstoreError.self) {
                try await StoreMaintenance.join(shop.cluster(), as: "b", into: replica, options: ShopCluster.options())
            }
            #expect(taken?.code == "usage" && taken?.message.contains("already a node") == true, "\(taken?.message ?? "")")
            #expect(try program.must("--store", replica, "status").output.contains("replica"))
            try await StoreMaintenance.join(shop.cluster(), as: "c", into: replica, options: ShopCluster.options())
            let c = try await shop.open("c")
            #expect(try c.clusterNode?.node == "c" && c.versions.live == SchemaVersion(2))
            try await a.catchUp()
            #expect(try await ShopCluster.lines(c) == ShopCluster.lines(a) && c.last().position == Position(80))
            try await c.append(ShopCluster.paid("1"), expecting: .revision(Revision(9)))
            try await a.append(ShopCluster.paid("1"), expecting: .revision(Revision(10)))
            try await c.catchUp()
            let links = try [a, c].map { node in try node.log.read { try $0.lastLink } }
            #expect(links[0] == links[1])
            #expect(try await c.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.isEmpty)
            try await shop.close()
        }
    }

    @Test("a replica of another store is no node of the cluster's, and stays what it is")
    func otherReplica() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let store = try await EventStore.create(
                shop.path("other"), schemas: shop.schemas, version: SchemaVersion(1), options: ShopCluster.options())
            try await store.append([ShopCluster.placed("1")])
            try await store.close()
            let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("other")])
            try program.must("backup", shop.path("copies"))
            try program.must("--store", shop.path("r"), "follow", "--from", shop.path("copies"), "--once")
            let refused = await #expect(throws: EvstoreError.self) {
                try await StoreMaintenance.join(shop.cluster(), as: "r", into: shop.path("r"), options: ShopCluster.options())
            }
            #expect(refused?.code == "usage" && refused?.message.contains("another store") == true, "\(refused?.message ?? "")")
            try program.must("--store", shop.path("r"), "follow", "--from", shop.path("copies"), "--once")
            try await shop.close()
        }
    }

    @Test("a backup of a node restores to a store that is alone, with the same events and digests")
    func backup() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            for number in 0 ..< 60 { try await a.append([ShopCluster.placed("\(number % 9)", number)]) }
            let (copies, restored) = (shop.path("copies"), shop.path("restored"))
            let program = BuiltProgram(environment: ["EVSTORE_STORE": shop.path("a")])
            try program.must("backup", copies)
            try await a.append([ShopCluster.placed("behind")])
            try program.must("backup", copies)
            try program.must("restore", copies, "--into", restored)
            let alone = try await EventStore.open(restored, options: ShopCluster.options())
            #expect(alone.clusterNode == nil)
            #expect(try await ShopCluster.lines(alone) == ShopCluster.lines(a))
            #expect(try await alone.maintenance.verify(deep: true).ok)
            try await alone.append([ShopCluster.placed("mine")])
            #expect(try alone.last().position == Position(62) && a.last().position == Position(61))
            try await alone.close()
            try await shop.close()
        }
    }
}
