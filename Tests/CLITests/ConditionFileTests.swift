import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Files of conditions")
struct ConditionFileTests {
    @Test("what read writes append takes back, until an event has come that was asked for; other events make no difference")
    func roundTrip() throws {
        let shop = try Shop.open()
        try shop.must("read --type OrderPaid --condition \(shop.path("paid.json"))")
        try shop.must(#"append order-9 OrderPlaced {"id":"9","customer":"Ada","total":1} --unless \#(shop.path("paid.json"))"#)
        try shop.must(#"append order-2 OrderPaid {"id":"2"} --unless \#(shop.path("paid.json"))"#)
        let refused = try shop.run(#"append order-3 OrderPaid {"id":"3"} --unless \#(shop.path("paid.json")) --json"#)
        #expect(refused.exit == 3 && refused.output.contains("conditionFailed"), "\(refused)")
        try shop.must("read --limit 0 --condition \(shop.path("all.json"))")
        #expect(try shop.text("all.json").contains(#""failIfMatches":"all","after":"1:6""#))
        try shop.write("lines.jsonl", Shop.order("11", total: 1) + Shop.order("12", total: 1))
        try shop.must("append --lines \(shop.path("lines.jsonl")) --unless \(shop.path("all.json"))")
        #expect(try shop.run("append --lines \(shop.path("lines.jsonl")) --unless \(shop.path("all.json"))").exit == 3)
        #expect(try shop.run("read order-1 --condition \(shop.path("no.json"))").exit == 2)
    }

    @Test(
        "what is no condition is refused with a reason, and appends nothing",
        arguments: [
            ("", "no condition"), ("[]", "no condition"), ("{}", "failIfMatches"),
            (#"{"failIfMatches":"some"}"#, "failIfMatches is a list"),
            (#"{"failIfMatches":[{"tag":["a"]}]}"#, "there are types, tags"), (#"{"failIfMatches":[{"tags":"a"}]}"#, "no condition"),
            (#"{"failIfMatches":[]}"#, ".all"), (#"{"failIfMatches":[{}]}"#, "names types or tags"),
            (#"{"failIfMatches":"all","after":"7"}"#, "checkpoint"), (#"{"failIfMatches":"all","after":7}"#, "no condition"),
            (#"{"failIfMatches":"all","after":"1:99"}"#, "the log ends at"), (#"{"failIfMatches":"all","after":"9:3"}"#, "the log ends at"),
            (#"{"failIfMatches":"all","version":9}"#, "v9"),
            (#"{"failIfMatches":"all","version":-1}"#, "no condition"), (#"{"failIfMatches":"all","version":99999999999}"#, "no condition"),
            (#"{"failIfMatches":"all","afer":"1:1"}"#, "there are failIfMatches, after, version, schema"),
            (#"{"failIfMatches":"all","after":"1:99999999999999999999"}"#, "checkpoint"),
        ])
    func hostile(text: String, reason: String) throws {
        let shop = try Shop.open()
        try shop.write("c.json", text)
        let outcome = try shop.run(#"append order-2 OrderPaid {"id":"2"} --unless \#(shop.path("c.json"))"#)
        #expect([1, 2, 3].contains(outcome.exit) && outcome.errors.contains(reason), "\(outcome)")
        #expect(try member(shop.must("status --json").line, "position") == "4")
    }
}
