import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// A store whose service has a read model in Swift, worked on by programs that do not know it.
@Suite("A program that lacks a read model of the service", .serialized)
struct ServiceTests {
    /// A store at v5 with the service's own read model, and the service.
    static func orders() throws -> (Orders, BuiltProgram) {
        let orders = try Orders(count: 60)
        let service = BuiltProgram("OrdersService", environment: orders.program.environment)
        try #require(try service.run("replay", "--to", "v4", "--schemas", Orders.schemas).exit == 0)
        try #require(try service.run("replay", "--to", "v5", "--schemas", Orders.schemas).exit == 0)
        try orders.program.must("append", "order-new", "OrderPlaced", Orders.v5Payload("new"))
        return (orders, service)
    }

    @Test("its rows are shown with their lag, and what has to fold says which program to run")
    func needed() throws {
        let (orders, service) = try Self.orders()
        let shown = try orders.program.must("query", "reviews", "order-o1")
        #expect(shown.output.contains(#""orders":2"#))
        #expect(shown.errors.contains("behind"), "\(shown.errors)")
        #expect(try service.run("query", "reviews", "order-new").output.contains(#""orders":1"#))
        for command in [["rollback"], ["rollback", "--to", "v1"]] {
            let refused = try orders.program.run(command)
            #expect(refused.exit == 6 && refused.errors.contains("reviews"), "\(command): \(refused.exit) \(refused.errors)")
        }
        #expect(try orders.live == 5)
        try orders.program.must("status")
        try orders.program.must("journal")
    }

    @Test("a rollback without it leaves it behind until its program opens the store")
    func without() throws {
        let (orders, service) = try Self.orders()
        try orders.program.must("rollback", "--without", "reviews")
        #expect(try orders.live == 4)
        #expect(try orders.program.must("query", "orders", "new").output.contains("Grace"))
        #expect(try service.run("query", "reviews", "order-new").output.contains(#""orders":1"#))
        #expect(try orders.program.run("rollback", "--without", "nothing").exit == 2)
    }

    @Test("a replay of one read model builds that one and flips nothing")
    func only() throws {
        let orders = try Orders(count: 60)
        let replay = ["replay", "--to", "v5", "--schemas", Orders.schemas, "--only", "orders", "--json"]
        #expect(try orders.program.must(replay).output.contains(#""rebuilt":["orders"]"#))
        #expect(try orders.live == 1)
        #expect(try orders.program.run(["replay", "--to", "v5", "--only", "nothing"]).exit == 2)
        #expect(try orders.program.must(["replay", "--to", "v5", "--json"]).output.contains(#""rebuilt":[]"#), "it is there already")
        #expect(try orders.live == 5)
    }

    @Test("a replay of one stream shows it at the version, flips nothing, and is in the journal")
    func stream() throws {
        let orders = try Orders(count: 60)
        let shown = try orders.program.must("replay", "--to", "v5", "--schemas", Orders.schemas, "--stream", "order-o3")
        #expect(shown.lines.filter { $0.contains(#""total":{"amount""#) }.count == 2)
        #expect(try orders.live == 1)
        let journal = try orders.program.must("journal", "--json").lines
        #expect(journal.contains { $0.contains("order-o3") && $0.contains("stream") }, "\(journal)")
        #expect(try orders.program.run("replay", "--to", "v5", "--schemas", Orders.schemas, "--stream", "none").exit == 0)
    }
}
