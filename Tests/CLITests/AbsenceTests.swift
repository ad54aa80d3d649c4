import EvstoreTesting
import TestSupport
import Testing

/// What is not there is no line and exit code 0; standard error says it, so that nobody takes nothing for an answer.
@Suite("What is not there")
struct AbsenceTests {
    @Test(
        "an absent row, stream or event is said on standard error, with --json too",
        arguments: [
            ("query orders 9", #"orders at v1 has no row "9""#), ("query orders --prefix 9", #"has no rows whose key begins with "9""#),
            ("read order-9", #"there is no event in a stream "order-9""#),
            ("read order-1 --from 7", #"no event of "order-1" is what was asked for"#),
            ("read --from 99", "no event is what was asked for"),
        ])
    func absent(_ line: String, _ words: String) throws {
        let shop = try Shop.open()
        for options in ["", " --json"] {
            let outcome = try shop.must(line + options)
            #expect(outcome.output.isEmpty && outcome.lines.isEmpty)
            #expect(outcome.errors.contains(words), "\(outcome.errors)")
        }
    }

    @Test("rows that lack quarantined events come with a note that counts them and names the command; exit 0")
    func quarantined() throws {
        let shop = try Shop.open()
        try shop.must(#"append order-7 OrderPlaced {"id":"7","customer":"Ed","total":1,"code":"x"}"#)
        #expect(try shop.run("replay --to v3 --schemas SCHEMAS --on-error quarantine").exit == 8)
        for line in ["query orders", "query orders 1", "query orders --count", "query orders --json", "diff orders --at v1 --at v3"] {
            let outcome = try shop.must(line)
            #expect(
                outcome.errors.contains("note: orders at v3 lacks 1 quarantined event: evstore quarantine list --at v3"),
                "\(line): \(outcome.errors)")
            #expect(!outcome.output.contains("quarantin"))
        }
        for options in ["", " --json"] {
            let outcome = try shop.must("diff orders 99 --at v1 --at v3" + options)
            #expect(outcome.output.isEmpty && outcome.errors.contains(#"orders has no row "99", neither at v1 nor at v3"#))
        }
        #expect(try shop.must("quarantine list --at v3").lines.count == 1)
        #expect(try !shop.must("query orders --at v1").errors.contains("quarantined"))
    }
}
