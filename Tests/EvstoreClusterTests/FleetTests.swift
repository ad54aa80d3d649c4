import EventModel
import Evstore
import EvstoreCluster
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Nodes that migrate at one moment", .serialized)
struct FleetTests {
    private static let nodes = ["a", "b", "c"]

    @Test("three replays by command all come to their end, round after round")
    func commands() throws {
        try withPostgres(.init(fsync: false)) { server in
            for round in 0 ..< 4 {
                let directory = try TemporaryDirectory()
                let program = BuiltProgram(environment: ["EVSTORE_LOG": server.conninfo])
                for (index, text) in ShopHistory.released.prefix(3).enumerated() {
                    try directory.write(text, to: "schemas/v\(index + 1).yaml")
                }
                try directory.write(ShopCluster.projections, to: "schemas/projections.yaml")
                let schemas = ["--schemas", directory.path + "/schemas"]
                try program.must(["cluster", "create", "--name", "shop\(round)", "--at", "v1"] + schemas)
                func at(_ node: String) -> [String] { ["--store", "\(directory.path)/\(node)"] }
                for node in Self.nodes { try program.must(at(node) + ["join", "--name", "shop\(round)", "--node", node]) }
                for number in 0 ..< 20 {
                    try program.must(
                        at("a") + ["append", "order-\(number)", "OrderPlaced", #"{"id":"\#(number)","customer":"A","total":1}"#])
                }
                for version in ["v2", "v3"] {
                    let running = try Self.nodes.map { try program.start(at($0) + schemas + ["replay", "--to", version]) }
                    for (node, run) in zip(Self.nodes, running) {
                        let outcome = try run.wait()
                        #expect(outcome.exit == 0, "round \(round), \(node) to \(version): \(outcome.exit) \(outcome.errors)")
                    }
                }
                let rollbacks = try Self.nodes.map { try program.start(at($0) + ["rollback", "--to", "v2"]) }
                for (node, run) in zip(Self.nodes, rollbacks) {
                    let outcome = try run.wait()
                    #expect(outcome.exit == 0, "round \(round), \(node) back: \(outcome.exit) \(outcome.errors)")
                }
                let digests = try Self.nodes.map { try program.must(at($0) + ["query", "orders", "--json"]).output }
                #expect(Set(digests).count == 1)
            }
        }
    }

    private static func start(_ path: String, _ schemas: Schemas, at version: Int) async throws -> EventStore {
        try await EventStore.open(
            path, schemas: schemas, version: SchemaVersion(UInt32(version)), policy: .migrate(keepWindow: .releases(1)),
            options: ShopCluster.options())
    }

    @Test("a fleet that starts one after the other is at the new version, and a node that was rolled back stays so")
    func oneByOne() async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            for node in Self.nodes { try await shop.join(node) }
            for number in 0 ..< 30 { try await shop["a"].append([ShopCluster.placed("\(number)", number)]) }
            try await shop.close()
            for node in Self.nodes {
                // Its program of before has seen what the others have done.
                let before = try await shop.open(node)
                try await before.catchUp()
                try await shop.close(node)
                let store = try await Self.start(shop.path(node), shop.schemas, at: 2)
                #expect(try store.versions.live == SchemaVersion(2), "\(node)")
                #expect(try await store.count("orders").rows == 30)
                if node == "b" { try await store.rollback() }
                try await store.close()
            }
            let back = try await Self.start(shop.path("b"), shop.schemas, at: 2)
            #expect(try back.versions.live == SchemaVersion(1))
            try await back.close()
        }
    }

    @Test("a fleet whose programs migrate as they start comes up, also with a window of one version", arguments: 0 ..< 3)
    func starts(round: Int) async throws {
        try await withPostgres(.init(fsync: false)) { server in
            let shop = try await ShopCluster(server)
            for node in Self.nodes { try await shop.join(node) }
            for number in 0 ..< 30 { try await shop["a"].append([ShopCluster.placed("\(number)", number)]) }
            try await shop.close()
            for version in [2, 3] {
                let schemas = try shop.schemas
                let stores = try await withThrowingTaskGroup(of: (String, EventStore).self) { group in
                    for node in Self.nodes {
                        let path = shop.path(node)
                        group.addTask { (node, try await Self.start(path, schemas, at: version)) }
                    }
                    return try await group.reduce(into: [String: EventStore]()) { stores, next in stores[next.0] = next.1 }
                }
                for store in stores.values {
                    #expect(try store.versions.live == SchemaVersion(UInt32(version)))
                    try await store.close()
                }
            }
        }
    }
}
