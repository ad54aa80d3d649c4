import Evstore
import EvstoreTesting
import Foundation
import Testing

/// What the README and the first guide tell a stranger to do.
@Suite("The words of the README")
struct ReadmeTests {
    private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    /// The folder `Schemas/shop` as the guide spells it, with the later definition joined to its projection.
    private func shop() throws -> TemporaryDirectory {
        let guide = try String(
            contentsOf: Self.root.appending(path: "Sources/Evstore/Evstore.docc/GettingStarted.md"), encoding: .utf8)
        let blocks = guide.components(separatedBy: "```yaml\n").dropFirst().map { String($0.components(separatedBy: "```")[0]) }
        try #require(blocks.count == 4)
        let directory = try TemporaryDirectory()
        try directory.write(blocks[0], to: "Schemas/shop/v1.yaml")
        try directory.write(blocks[1] + blocks[3], to: "Schemas/shop/projections.yaml")
        try directory.write(blocks[2], to: "Schemas/shop/v2.yaml")
        return directory
    }

    @Test("the twenty lines compile, run and say what they should")
    func twentyLines() async throws {
        let directory = try shop()
        let path = directory.path + "/store"
        let store = try await EventStore.create(
            at: path, schemas: Schemas.load(directory.path + "/Schemas/shop"), at: SchemaVersion(1))

        let order = try StreamName("order-1")
        let placed = NewEvent(
            stream: order, type: "OrderPlaced", payload: Array(#"{"id":"1","customer":"Ada Lovelace","total":"12.50"}"#.utf8))
        let receipt = try await store.append(placed, expecting: .noStream)
        #expect(receipt.position == Position(1))
        #expect(try store.read(order).map(\.type) == ["OrderPlaced"])

        let plan = try await store.plan(to: SchemaVersion(2))
        #expect(plan.events == 1)
        let report = try await store.replay(to: SchemaVersion(2))
        #expect(report.rebuilt == ["orders"])
        #expect(
            try store.read(order).map { String(decoding: $0.payload, as: UTF8.self) } == [
                #"{"id":"1","customer":"Ada Lovelace","cents":1250}"#
            ])

        let seenOld = try store.read(order, at: SchemaVersion(1))
        #expect(seenOld.map(\.payload) == [placed.payload])
        _ = try await store.rollback()
        #expect(try store.versions.live == SchemaVersion(1))
        try await store.close()
    }

    @Test("the first guide's commands work in their order, and the rollback shows what was written since")
    func firstGuide() throws {
        let directory = try shop()
        let program = BuiltProgram(environment: ["EVSTORE_STORE": directory.path + "/shop"])
        let schemas = ["--schemas", directory.path + "/Schemas/shop"]
        func run(_ arguments: String...) throws -> String {
            let outcome = try program.run(arguments + schemas)
            #expect(outcome.exit == 0, "\(arguments): \(outcome.errors)")
            return outcome.output
        }
        _ = try run("schema", "check")
        _ = try run("init", "--at", "v1")
        _ = try run("append", "order-1", "OrderPlaced", #"{"id":"1","customer":"Ada Lovelace","total":"12.50"}"#)
        #expect(try run("query", "orders").contains("12.50"))
        #expect(try run("plan", "--to", "v2").contains("nothing was changed"))
        _ = try run("replay", "--to", "v2")
        _ = try run("append", "order-2", "OrderPlaced", #"{"id":"2","customer":"Grace Hopper","cents":900}"#)
        _ = try run("rollback")
        #expect(try run("query", "orders", "2").contains("9.00"))
        _ = try run("replay", "--to", "v2")
        #expect(try run("query", "orders", "2").contains("900"))
        _ = try run("finalize", "v2")
        #expect(try program.run("rollback").exit == 3)
    }
}
