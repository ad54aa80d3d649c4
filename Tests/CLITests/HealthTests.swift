import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("What status says at three in the morning")
struct HealthTests {
    /// The exit code, the codes of the complaints, and whether it says that all is well.
    private func look(_ shop: Shop) throws -> (exit: Int32, codes: [String], isGood: Bool) {
        let shown = try shop.run("status --exit-code")
        let line = try shop.run("status --exit-code --json").line
        let complaints = try member(line, "complaints")
        let codes = try #require(complaints).matches(of: #/"code":"([^"]*)"/#).map { String($0.1) }
        #expect(try member(line, "healthy") == (codes.isEmpty ? "true" : "false"))
        return (shown.exit, codes, shown.output.contains("health       good"))
    }

    @Test("a parked event, a consumer that fails, a failed drill and a quarantined event are none of them well")
    func unwell() throws {
        let shop = try Shop.migrated()
        #expect(try look(shop) == (0, [], true))
        try shop.run("consume mailer --once --attempts 1 -- false")
        #expect(try look(shop) == (8, ["parked"], false))
        try shop.must("consumers drop mailer --all --reason gone")
        #expect(try look(shop) == (0, [], true))
        #expect(try shop.run("drill --with-binary /bin/false").exit == 7)
        #expect(try look(shop) == (4, ["drillFailed"], false))
        try shop.must("drill")
        #expect(try look(shop) == (0, [], true))
        let other = try Shop.open()
        try other.must(#"append order-7 OrderPlaced {"id":"7","customer":"Ed","total":1,"code":"x"}"#)
        #expect(try other.run("replay --to v3 --schemas SCHEMAS --on-error quarantine").exit == 8)
        #expect(try look(other) == (8, ["quarantined"], false))
    }

    @Test("a consumer that a cut has left behind is not well until its place is put elsewhere, as both say")
    func cutOff() throws {
        let shop = try Shop.open()
        try shop.must("snapshot take here")
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        try shop.must("consume mailer --once -- true")
        #expect(try look(shop) == (0, [], true))
        try shop.must("rollback --to-snapshot here --discard-tail")
        #expect(try look(shop) == (4, ["consumerCutOff"], false))
        let way = "evstore consumers reset mailer --to 4"
        #expect(try shop.must("status").output.contains(way))
        let outcome = try shop.run("consume mailer --once -- true")
        #expect(outcome.exit == 3 && outcome.errors.contains("note: to let it go on where the log was cut: \(way)\n"), "\(outcome.errors)")
        try shop.must("consumers reset mailer --to 4")
        #expect(try look(shop) == (0, [], true))
        try shop.must("consume mailer --once -- true")
    }
}
