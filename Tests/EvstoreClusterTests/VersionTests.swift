import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import SchemaEvolution
import TestSupport
import Testing

@Suite("Versions in a cluster", .serialized)
struct ClusterVersionTests {
    @Test("a goes to v2 and back while b stays at v1; both append all the time, and read models are equal at each step")
    func sideBySide() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            let (v1, v2) = (SchemaVersion(1), SchemaVersion(2))
            var number = 0
            func append(_ store: EventStore) async throws {
                number += 1
                try await store.append([ShopCluster.placed("\(number % 5)", number)])
            }
            func expectEqual(at version: SchemaVersion) async throws {
                try await a.catchUp()
                try await b.catchUp()
                let rows = [try await Self.rows(a, version), try await Self.rows(b, version)]
                #expect(rows[0] == rows[1] && !rows[0].isEmpty, "at \(version) after \(number) events")
            }
            for store in [a, b, a] { try await append(store) }
            try await a.migrate(to: v2)
            #expect(try (a.versions.live, b.versions.live) == (v2, v1))
            for store in [a, b, a, b] { try await append(store) }
            try await expectEqual(at: v1)
            try await a.rollback()
            #expect(try a.versions.live == v1)
            for store in [a, b] { try await append(store) }
            try await expectEqual(at: v1)
            try await a.migrate(to: v2)
            await #expect(throws: EvstoreError.self) { try await a.finalize(v2) }
            #expect(try a.versions.floor == v1)
            try await b.catchUp()
            try await b.migrate(to: v2)
            try await a.finalize(v2)
            try await b.catchUp()
            #expect(try (a.versions.floor, b.versions.floor, b.versions.live) == (v2, v2, v2))
            try await expectEqual(at: v2)
            try await shop.close()
        }
    }

    private static func rows(_ store: EventStore, _ version: SchemaVersion) async throws -> [String] {
        var rows: [String] = []
        try await store.query("orders", at: version) { row in
            rows.append("\(row)")
            return true
        }
        return rows
    }

    @Test("an event that has no image at the top is refused on every node, also where an older version is live")
    func gate() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server, at: 2)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            // At v3 the code becomes a number, which not every text is.
            let event = NewEvent(
                stream: try StreamName("order-1"), type: "OrderPlaced",
                payload: Array(#"{"id":"1","customer":"Ada","cents":1,"currency":"USD","code":"none"}"#.utf8), version: SchemaVersion(2))
            try await b.append([event])
            try await a.migrate(to: SchemaVersion(3), options: .init(onError: .quarantine))
            #expect(try b.versions.live == SchemaVersion(2))
            let refused = await #expect(throws: EvstoreError.self) { try await b.append([event]) }
            #expect(refused?.code == "noImage")
            try await shop.close()
        }
    }

    @Test("finalize names the nodes below; one that is gone is taken out, can't append any more, and joins anew")
    func withoutNode() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let a = try await shop.join("a")
            try await shop.join("b")
            try await shop.close("b")
            try await a.append([ShopCluster.placed("1")])
            try await a.migrate(to: SchemaVersion(2))
            let refused = await #expect(throws: EvstoreError.self) { try await a.finalize(SchemaVersion(2)) }
            #expect(refused?.code == "consentNeeded" && refused?.message.contains("b at v1") == true)
            try await a.finalize(SchemaVersion(2), withoutNodes: ["b"])
            let b = try await shop.open("b")
            let gone = await #expect(throws: EvstoreError.self) { try await b.append([ShopCluster.placed("2")]) }
            #expect(gone?.code == "versionNotAllowed", "\(gone?.code ?? "")")
            let outOfIt = await #expect(throws: EvstoreError.self) { try await b.append([ShopCluster.placedAtV2("2")]) }
            #expect(outOfIt?.code == "clusterMismatch", "\(outOfIt?.code ?? "")")
            try await a.catchUp()
            #expect(try await shop.cluster().status().nodes.map(\.name) == ["a"])
            try await shop.close("b")
            try await StoreMaintenance.join(
                shop.cluster(), as: "b", into: shop.path("b-anew"), replacing: true, options: ShopCluster.options())
            let anew = try await shop.open("b-anew")
            #expect(try anew.versions.live == SchemaVersion(2) && anew.last().position == Position(1))
            try await shop.close()
        }
    }

    @Test("two nodes can't register different files as one version")
    func sameVersion() async throws {
        try await withPostgres { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.migrate(to: SchemaVersion(2))
            _ = b
            try await shop.close("b")
            try shop.directory.change("schemas/v2.yaml", "value: USD", "value: EUR")
            let other = try await shop.open("b")
            try await other.catchUp()
            let refused = await #expect(throws: EvstoreError.self) { try await other.migrate(to: SchemaVersion(2)) }
            #expect(refused?.code == "versionDiffers")
            try await shop.close()
        }
    }
}

extension ClusterVersionTests {
    @Test("a node that is restored from a copy of its files from before a rollback and a finalize works at the version that it had last")
    func oldCopy() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            for number in 0 ..< 10 { try await a.append([ShopCluster.placed("\(number % 3)", number)]) }
            for store in [a, b] {
                try await store.catchUp()
                try await store.migrate(to: SchemaVersion(2))
                try await store.migrate(to: SchemaVersion(3))
            }
            try await shop.close("a")
            try FileManager.default.copyItem(atPath: shop.path("a"), toPath: shop.path("copy"))
            let again = try await shop.open("a")
            try await again.rollback(to: SchemaVersion(2))
            try await b.catchUp()
            try await b.rollback(to: SchemaVersion(2))
            try await b.finalize(SchemaVersion(2))
            try await shop.close("a")
            let copy = try await shop.open("copy")
            try await copy.catchUp()
            let versions = try copy.versions
            #expect((versions.floor, versions.live) == (SchemaVersion(2), SchemaVersion(2)))
            try await copy.append([ShopCluster.placedAtV2("x")])
            #expect(try await copy.count("orders").rows == 4)
            try await shop.close()
        }
    }

    @Test("a store whose place another one has taken under the same name appends nothing any more")
    func replaced() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let old = try await shop.join("a")
            try await old.append([ShopCluster.placed("1")])
            try await StoreMaintenance.join(
                shop.cluster(), as: "a", into: shop.path("new"), replacing: true, options: ShopCluster.options())
            let new = try await shop.open("new")
            try await new.append([ShopCluster.placed("2")])
            let refused = await #expect(throws: EvstoreError.self) { try await old.append([ShopCluster.placed("3")]) }
            #expect(refused?.code == "clusterMismatch", "\(refused?.code ?? "")")
            try await shop.close()
        }
    }

    @Test("an event of a version that another node has just made live is taken")
    func newerVersion() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            let (a, b) = (try await shop.join("a"), try await shop.join("b"))
            try await a.migrate(to: SchemaVersion(2))
            try await b.append([ShopCluster.placedAtV2("1")])
            #expect(try b.last().position == Position(1))
            try await shop.close()
        }
    }
}
