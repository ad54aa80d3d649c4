import Evstore
import EvstoreTesting
import Foundation
import SchemaTools
import TestSupport
import Testing

/// Makes the cents of version 2 whole units.
private struct Units: ReversibleSwiftStep {
    let id = "units"
    let revision = 4
    var size = 100

    func up(_ members: inout StepMembers) throws { try members.write("/units", (members.read("/total", as: Int.self) ?? 0) / size) }

    func down(_ members: inout StepMembers) throws { try members.write("/total", (members.read("/units", as: Int.self) ?? 0) * size) }
}

@Suite("Steps in Swift on the command line")
struct StepTests {
    private static let swift = ShopHistory.v2.replacing(
        "move: {from: /total, path: /cents}",
        with: "swift: {id: units, revision: 4, class: widen, reads: [/total], writes: [/total, /units]}"
    )
    .replacing("cents", with: "units")

    /// A directory with the step as version 2, and a store at v1 with orders of whole units.
    private func shop() throws -> Shop {
        let shop = try Shop()
        try shop.write("schemas/v2.yaml", Self.swift)
        try FileManager.default.removeItem(atPath: shop.path("schemas/v3.yaml"))
        try shop.write("schemas/projections.yaml", Shop.projections.replacing("/cents", with: "/units"))
        try shop.write("orders.jsonl", Shop.orders)
        try shop.must("import \(shop.path("orders.jsonl")) --as v1 --schemas SCHEMAS")
        return shop
    }

    private func refused(_ shop: Shop, _ line: String) throws {
        let outcome = try shop.run(line + " --json")
        #expect(outcome.exit == 6, "\(line): \(outcome.output)")
        #expect(try member(outcome.line, "error", "code") == "\"programNeeded\"")
        #expect(outcome.output.contains("the step units (revision 4) of v2 is written in Swift"), "\(outcome.output)")
        #expect(try shop.run(line).errors.contains("the step units (revision 4) of v2"))
    }

    @Test("without the code, what is checked and shown works, and a replay past the step exits with 6 and names it")
    func before() throws {
        let shop = try shop()
        try shop.must("schema check --schemas SCHEMAS")
        try shop.must("schema lint --schemas SCHEMAS")
        #expect(try shop.must("schema explain OrderPlaced --from v1 --to v2 --schemas SCHEMAS").output.contains("Swift step units"))
        let plan = try shop.run("plan --to v2 --schemas SCHEMAS")
        #expect(plan.exit == 6 && plan.output.contains("swift units"))
        #expect(plan.output.contains("needs        the step units (revision 4) of v2"))
        #expect(plan.output.contains("a program without the step units (revision 4) of v2 can't append OrderPlaced (needs --yes)"))
        let object = try shop.run("plan --to v2 --schemas SCHEMAS --json").line
        #expect(try member(object, "needs") == #"["the step units (revision 4) of v2"]"#)
        #expect(try member(object, "appendsRefused") == #"[{"step":"the step units (revision 4) of v2","types":["OrderPlaced"]}]"#)
        try refused(shop, "replay --to v2 --schemas SCHEMAS")
        let drill = try shop.run("drill --to v2 --schemas SCHEMAS")
        #expect(drill.exit == 6 && drill.output.contains("the step units (revision 4) of v2"), "\(drill.output)")
        #expect(drill.errors.contains("the application's own command line") && drill.errors.contains("EVSTORE_PROGRAM"), "\(drill.errors)")
        try refused(shop, "replay --to v2 --schemas SCHEMAS --dry-run")
        #expect(try member(shop.must("status --json").line, "head") == "1")
    }

    @Test("in a store that its application took to v2, what needs the step exits with 6, and going back works")
    func after() async throws {
        let shop = try shop()
        let store = try await EventStore.open(shop.store, schemas: try Schemas.load(shop.schemas), steps: [Units()])
        _ = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        try await store.close()
        for line in ["read order-1", "read --type OrderPlaced", "export --at v2", "verify --laws"] { try refused(shop, line) }
        try refused(shop, #"append order-1 OrderPlaced {"id":"1","customer":"Di","total":100} --at v1"#)
        #expect(try shop.must("query orders 1").output.contains(#""total":5"#))
        #expect(try shop.must("read order-1 --at v1").lines.count == 2)
        #expect(try shop.must("read --type OrderPaid").lines.count == 1)
        try shop.must("export")
        try shop.must("verify --deep")
        try shop.must(#"append order-2 OrderPaid {"id":"2"}"#)
        try shop.must("plan --to v2")
        try shop.must("replay --to v2")
        try shop.must("rollback")
        #expect(try member(shop.must("status --json").line, "live") == "1")
        #expect(try shop.must("query orders 1").output.contains(#""total":500"#))
    }

    @Test("fixtures are looked at by the application's own code; a change of it under one revision is found")
    func fixtures() throws {
        let shop = try shop()
        try shop.write("schemas/fixtures/v1/events.jsonl", Shop.orders)
        try refused(shop, "schema fixtures verify --schemas SCHEMAS")
        try refused(shop, "schema fixtures record --schemas SCHEMAS")
        let schemas = try Schemas.load(shop.schemas)
        let history = try History.load(directory: shop.schemas).with(SwiftSteps([Units()]))
        let fixtures = try #require(try Fixtures.load(directory: shop.schemas, history))
        var files = FixtureFiles()
        try files.add(try fixtures.renderings(history), history)
        try files.write()
        #expect(try schemas.verifyFixtures(steps: [Units()]) == [])
        let changed = try schemas.verifyFixtures(steps: [Units(size: 10)]).filter { $0.severity == .error }
        #expect(changed.count == 1 && changed[0].id == "LOG005" && changed[0].message.contains(#""units":50"#), "\(changed)")
    }
}
