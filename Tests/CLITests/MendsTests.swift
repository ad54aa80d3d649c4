import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("What an error proposes works")
struct MendsTests {
    @Test("a query below the floor names the oldest version that there is, and one above says what comes first")
    func otherVersions() throws {
        let shop = try Shop.migrated()
        try shop.must("finalize v3")
        let below = try shop.run("query orders --at v1 --json")
        #expect(try below.exit == 3 && member(below.line, "error", "code") == "\"belowFloor\"", "\(below.output)")
        let fix = try #require(try member(below.line, "error", "fix"))
        #expect(fix.contains("v3 is the oldest that there is") && !fix.contains("update the program"), "\(fix)")
        try shop.must("query orders --at v3")
        let append = try shop.run(#"append order-8 OrderPaid {"id":"8"} --at v1 --json"#)
        #expect(try member(append.line, "error", "fix")?.contains("--at v3") == true, "\(append.output)")
        try shop.must(#"append order-8 OrderPaid {"id":"8"} --at v3"#)
    }

    @Test("a build that stops at an event names the projection where that can't fold it, and the step where it has no image")
    func stopped() throws {
        let step = try Shop.open()
        try step.must(#"append order-7 OrderPlaced {"id":"7","customer":"Ed","total":1,"code":"x"}"#)
        let noImage = try step.run("replay --to v3 --schemas SCHEMAS --json")
        #expect(try member(noImage.line, "error", "fix")?.contains("mend the event's step") == true, "\(noImage.output)")
        #expect(try step.run("replay --to v3 --schemas SCHEMAS --on-error quarantine").exit == 8)

        let key = try Shop.open()
        try key.must(#"append order-9 OrderPlaced {"id":"9","customer":"","total":1}"#)
        let customers = "  customers:\n    - since: 3\n      key: /customer\n      on: {OrderPlaced: {add: {/orders: {value: 1}}}}\n"
        try key.write("schemas/projections.yaml", Shop.projections + "\n" + customers)
        let noKey = try key.run("replay --to v3 --schemas SCHEMAS --json")
        #expect(try noKey.exit == 3 && member(noKey.line, "error", "code") == "\"buildStopped\"", "\(noKey.output)")
        let fix = try #require(try member(noKey.line, "error", "fix"))
        #expect(fix.contains("mend customers in projections.yaml") && !fix.contains("step"), "\(fix)")
        try key.write("schemas/projections.yaml", Shop.projections + "\n" + customers.replacing("/customer", with: "/id"))
        try key.must("replay --to v3 --schemas SCHEMAS")
    }

    @Test("what an event without an image proposes is a command that says what happens on the way")
    func noImage() throws {
        let shop = try Shop.migrated()
        let refused = try shop.run(#"append order-7 OrderPlaced {"id":"7","customer":"Ed","total":1,"code":"x"} --at v1 --json"#)
        #expect(try member(refused.line, "error", "code") == "\"noImage\"", "\(refused.output)")
        let fix = try #require(try member(refused.line, "error", "fix")?.split(separator: "evstore ").last)
        #expect(try shop.must(String(fix.dropLast())).output.hasPrefix("OrderPlaced, from v1 to v3"))
    }

    @Test("a store that is not there, and a name that is none, propose what can be done")
    func names() throws {
        let shop = try Shop()
        let missing = try shop.run("status --json")
        let fix = try #require(try member(missing.line, "error", "fix")?.split(separator: "evstore ").last)
        try shop.must(String(fix.dropLast()).replacing("DIR", with: "SCHEMAS"))
        let long = try shop.run("append \(String(repeating: "s", count: 201)) OrderPaid {} --json")
        #expect(try member(long.line, "error", "fix") == "\"choose a shorter name\"", "\(long.output)")
        let odd = try shop.run("append {x} OrderPaid {} --json")
        #expect(try member(odd.line, "error", "fix") == "\"percent-encode the rest\"", "\(odd.output)")
    }
}
