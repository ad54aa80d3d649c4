import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("A node that is none any more", .serialized)
struct UnreadyNodesTests {
    private static func codes(_ store: EventStore) throws -> [String] { try store.status().complaints.filter(\.endsService).map(\.code) }

    @Test("is not ready where it was taken out, or has forked, and the command says so by its exit code")
    func outOrForked() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            for node in ["a", "gone", "ahead"] { try await shop.join(node) }
            try await shop["ahead"].append([ShopCluster.placed("1")])
            try await shop["ahead"].append([ShopCluster.placed("2")])
            for node in ["a", "gone"] { try await shop[node].catchUp() }
            #expect(try ["a", "gone", "ahead"].flatMap { try Self.codes(shop[$0]) }.isEmpty)
            try await shop["a"].migrate(to: SchemaVersion(2))
            try await shop["a"].finalize(SchemaVersion(2), withoutNodes: ["gone", "ahead"])
            // Its own follower may have been told before.
            do { try await shop["gone"].catchUp() } catch { #expect("\(error)".contains("taken out")) }
            #expect(try Self.codes(shop["gone"]) == ["takenOut"])
            try await shop.close()
            try await shop.join("late")
            try await shop["late"].append([ShopCluster.placedAtV2("3")])
            try await shop.close()
            try shop.setBack(to: try await shop.cluster().status().frames - 1)
            let program = BuiltProgram()
            for (node, code) in [("gone", "takenOut"), ("late", "forked"), ("a", nil)] {
                let status = try program.run("--store", shop.path(node), "--json", "status", "--exit-code")
                #expect(status.exit == (code == nil ? 0 : 1), "\(node): \(status.exit) \(status.errors)")
                #expect(code.map { status.output.contains($0) } ?? true, "\(node): \(status.output)")
            }
            #expect(try program.run("--store", shop.path("late"), "cluster", "rescue", "--into", shop.path("rescued")).exit == 0)
        }
    }

    @Test("a copy of a node's directory is told that another speaks as it, and as it leaves, the node stays")
    func twin() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            for node in ["a", "b"] { try await shop.join(node) }
            try await shop["a"].append([ShopCluster.placed("1")])
            try await shop["a"].catchUp()
            try await shop.close()
            try FileManager.default.copyItem(atPath: shop.path("a"), toPath: shop.path("copy"))
            let program = BuiltProgram()
            let status = try program.run("--store", shop.path("copy"), "--json", "status", "--exit-code")
            #expect(status.exit == 1 && status.output.contains("twin"), "\(status)")
            #expect(status.errors.contains("another directory"), "\(status.errors)")
            #expect(try program.run("--store", shop.path("a"), "status", "--exit-code").exit == 0)
            let left = try program.must("--store", shop.path("copy"), "cluster", "leave")
            #expect(left.errors.contains("leaves alone"), "\(left.errors)")
            #expect(try await shop.cluster().status().nodes.map(\.name) == ["a", "b"])
            try await shop.open("a").append([ShopCluster.placed("2")])
            // The copy goes on by itself.
            try await EventStore.open(shop.path("copy"), options: ShopCluster.options()).close()
            #expect(try program.must("--store", shop.path("copy"), "export").lines.count == 1)
            #expect(try Self.codes(shop["a"]).isEmpty)
            try await shop["a"].maintenance.leave()
            try await shop.close()
            #expect(try await shop.cluster().status().nodes.map(\.name) == ["b"])
        }
    }
}
