import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// This process is the older program: it was built with the files of version 4 and has never seen version 5. The newer
/// one is a process of its own.
@Suite("An older program on a store that a newer one has migrated", .serialized)
struct OlderProgramTests {
    /// The version files up to 4, and the projections as they were then.
    static func olderFiles() throws -> Schemas {
        let directory = URL(filePath: Orders.schemas)
        let versions = try (1 ... 4).map { try String(contentsOf: directory.appending(path: "v\($0).yaml"), encoding: .utf8) }
        let projections = try String(contentsOf: directory.appending(path: "projections.yaml"), encoding: .utf8)
        let older = projections.components(separatedBy: "    - since: 5").first
        return try SchemaFiles(versions: versions, projections: older).load()
    }

    @Test("it reads what was born at version 5, appends at version 4, retries across the flip, and rolls back")
    func beside() async throws {
        let orders = try Orders(count: 60)
        try orders.program.must("replay", "--to", "v4", "--schemas", Orders.schemas)
        let older = try await EventStore.open(
            orders.store, schemas: try Self.olderFiles(), version: SchemaVersion(4), options: .forTests)
        let first = try await older.append([try Self.order("before")])

        // The other process knows version 5, migrates and writes.
        try orders.program.must("replay", "--to", "v5", "--schemas", Orders.schemas)
        try orders.program.must("append", "order-new", "OrderPlaced", Orders.v5Payload("new"))

        let born5 = try #require(try older.read(try StreamName("order-new")).first)
        #expect(born5.born == SchemaVersion(5) && born5.version == SchemaVersion(4))
        #expect(born5.json.contains(#""totalCents":900"#) && born5.json.contains("born at v5"))
        let again = try await older.append([try Self.order("before")])
        #expect(again.duplicate && again.position == first.position, "a retry across the flip finds the first")
        let receipt = try await older.append([try Self.order("after")])
        #expect(try older.event(position: receipt.position)?.born == SchemaVersion(4))
        #expect(try orders.program.must("read", "order-after").output.contains(#""total":{"amount":7"#), "the newer one sees it at 5")
        #expect(try orders.program.must("query", "orders", "after").output.contains(#""cents":7"#))

        let report = try await older.rollback()
        #expect(report.from == SchemaVersion(5) && report.to == SchemaVersion(4) && report.differing.isEmpty)
        #expect(try orders.live == 4)
        let fresh = try orders.program.must("replay", "--to", "v4", "--dry-run", "--json").output
        #expect(try fresh.contains(#require(orders.digests(at: 4)["orders"])))
        try await older.close()
        try orders.program.must("replay", "--to", "v5")
        #expect(try orders.program.must("read", "order-new").output.contains(Orders.v5Payload("new")), "byte for byte")
    }

    private static func order(_ id: String) throws -> NewEvent {
        let payload =
            #"{"id":"\#(id)","name":{"first":"Alan"},"contact":{"emails":[]},"placedAt":"2026-11-20T11:00:00Z","note":"","#
            + #""totalCents":7,"currency":"USD"}"#
        return try .event("order-\(id)", "OrderPlaced", payload, at: 4, id: "id-\(id)")
    }
}
