import EvstoreTesting
import TestSupport
import Testing

@Suite("verify --laws")
struct LawsCommandTests {
    @Test("every law is listed with how often it was tried, every op with how often events went through it")
    func counts() throws {
        let shop = try Shop.migrated()
        let outcome = try shop.must("verify --laws --strict --seed 7")
        for law in ["L1", "L2", "L3", "L4", "L5", "L6", "L7", "L8", "T-down", "T-up"] {
            #expect(outcome.lines.contains { $0.hasPrefix("law \(law) ") && $0.contains(" failed") }, "\(law): \(outcome.output)")
        }
        #expect(outcome.lines.contains { $0.hasPrefix("op  v2 move (op 1)") && $0.contains(" up ") && $0.contains(", down ") })
        let cases = try #require(outcome.lines.first { $0.hasPrefix("cases ") })
        #expect(cases.contains("of the log") && cases.contains("(seed 7)") && cases.contains("read models of the first 4 events"))
        let json = try shop.must("verify --laws --json --seed 7").line
        #expect(try member(json, "cases", "replayed") == "4")
        for name in ["log", "generated", "mutated"] { #expect(try member(json, "cases", name).flatMap { UInt64($0) } ?? 0 > 0, "\(name)") }
        #expect(try shop.must("verify --laws --json --seed 7").line == json, "the same seed makes the same events")
    }

    @Test("an op that no event can reach is named, and fails only with --strict")
    func strict() throws {
        let shop = try Shop()
        // No text is a time of RFC 3339 in five characters.
        let impossible = "{required: [at], properties: {at: {type: string, format: date-time, maxLength: 5}}}"
        try shop.write("odd/v1.yaml", "evstore: 1\nversion: 1\nevents: {Odd: \(impossible), Even: {properties: {a: {type: string}}}}\n")
        let step = "upcast:\n  - on: [Odd, Even]\n    do:\n      - add: {path: /n, value: 0}\n"
        try shop.write(
            "odd/v2.yaml",
            "evstore: 1\nversion: 2\n\(step)events:\n"
                + "  Odd: {required: [at, n], properties: {at: {type: string, format: date-time, maxLength: 5}, n: {type: integer}}}\n"
                + "  Even: {required: [n], properties: {a: {type: string}, n: {type: integer}}}\n")
        try shop.must("init --at v2 --schemas \(shop.path("odd"))")
        let outcome = try shop.must("verify --laws")
        #expect(outcome.lines.contains("NOT EXERCISED v2 Odd: add (op 1) up"))
        #expect(!outcome.output.contains("NOT EXERCISED v2 Even"))
        let strict = try shop.run("verify --laws --strict --json")
        #expect(strict.exit == 3)
        #expect(
            try member(strict.line, "ok") == "false" && member(strict.line, "notExercised")?.contains("v2 Odd: add (op 1) down") == true)
    }

    @Test("a down that gives back something else is caught by L1, with its smallest payload, and kept from going live")
    func wrongDown() throws {
        let shop = try Shop()
        func write(down: String) throws {
            let table = "{map: {cc: card, bt: transfer}, down: \(down)}"
            try shop.write("pay/v1.yaml", "evstore: 1\nversion: 1\n\(events("cc, bt"))")
            try shop.write(
                "pay/v2.yaml",
                "evstore: 1\nversion: 2\nupcast:\n  - on: Paid\n    do:\n"
                    + "      - convert: {path: /method, to: string, using: {table: \(table)}}\n\(events("card, transfer"))")
        }
        func events(_ words: String) -> String {
            "events:\n  Paid: {required: [method], properties: {method: {type: string, enum: [\(words)]}, note: {type: string}}}\n"
        }
        try write(down: "{card: bt, transfer: cc}")
        try shop.write("paid.jsonl", #"{"stream":"p-1","type":"Paid","data":{"method":"cc","note":"long"}}"# + "\n")
        try shop.must("import \(shop.path("paid.jsonl")) --as v1 --schemas \(shop.path("pay"))")
        let replay = try shop.run("replay --to v2 --schemas \(shop.path("pay")) --json")
        #expect(try replay.exit == 10 && member(shop.must("status --json").line, "live") == "1")
        let wrong = try shop.run("verify --laws")
        #expect(wrong.exit == 3)
        let finding = try #require(wrong.lines.first { $0.contains("error LAW102: L1: Paid born at v1") })
        #expect(finding.contains(#"{"method":"#) && !finding.contains("note"), "\(finding)")
        try write(down: "{card: cc, transfer: bt}")
        try shop.must("replay --to v2 --schemas \(shop.path("pay"))")
        try shop.must("verify --laws")
    }

    @Test("an event of the log whose quarantine was accepted is no finding: it is named, and counts as not exercised")
    func accepted() throws {
        let shop = try Shop.open()
        try shop.must(#"append order-9 OrderPlaced {"id":"9","customer":"Secret","total":1,"code":"twelve"}"#)
        #expect(try shop.run("replay --to v3 --schemas SCHEMAS --on-error quarantine").exit == 8)
        let outcome = try shop.run("verify --laws")
        #expect(outcome.exit == 8 && !outcome.output.contains("LAW101"), "\(outcome.output)")
        #expect(outcome.lines.contains("NOT EXERCISED the laws of 1 event without an image at v3"), "\(outcome.output)")
        #expect(try shop.run("verify --laws --strict").exit == 3)
    }
}
