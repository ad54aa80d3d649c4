import EvstoreTesting
import TestSupport
import Testing

@Suite("Schema commands")
struct SchemaCommandTests {
    @Test("a sound directory is checked with 0 and the findings are one object")
    func sound() throws {
        let shop = try Shop(environment: ["EVSTORE_STORE": ""])
        let outcome = try shop.must("schema check --schemas SCHEMAS --json")
        #expect(try keys(outcome.line) == ["ok", "findings"])
        #expect(try member(outcome.line, "ok") == "true")
    }

    @Test("a version file that differs from what a store has registered is a finding where the store is named, and says what differs")
    func registered() throws {
        let shop = try Shop.open()
        try shop.must("replay --to v2 --schemas SCHEMAS")
        #expect(try !shop.must("schema check --schemas SCHEMAS --store \(shop.store)").output.contains("LOG006"))
        // Labels are no part of what a version means.
        try shop.write("schemas/v2.yaml", ShopHistory.v2.replacing("labels: [1.1.0]", with: "labels: [1.1.0, 1.1.1]"))
        #expect(try !shop.must("schema check --schemas SCHEMAS --store \(shop.store)").output.contains("LOG006"))
        try shop.write("schemas/v2.yaml", ShopHistory.v2.replacing("labels: [1.1.0]", with: "labels: [1.1.0]\nforward: 1"))
        #expect(try !shop.must("schema check --schemas SCHEMAS").output.contains("LOG006"))
        let checked = try shop.run("schema check --schemas SCHEMAS --store \(shop.store)")
        #expect(checked.exit == 3)
        let finding = "v2.yaml:1:1: error LOG006: v2 is not what the store has registered; what differs: forward"
        #expect(checked.output.contains(finding), "\(checked.output)")
        let plan = try shop.run("plan --to v3 --schemas SCHEMAS")
        #expect(plan.exit == 3 && plan.errors.contains("the file of v2 is not what the store has registered"), "\(plan.errors)")
        #expect(plan.errors.contains("a check of the schemas against the store says what differs"))
    }

    @Test("a step that does not explain its version is a finding with file, line and column, and exits with 3")
    func unexplained() throws {
        let shop = try Shop()
        try shop.write("schemas/v2.yaml", ShopHistory.v2.replacing("from: /total, path: /cents", with: "from: /total, path: /pence"))
        let text = try shop.run("schema check --schemas SCHEMAS")
        #expect(text.exit == 3)
        #expect(text.output.contains(#/v2\.yaml:\d+:\d+: error [A-Z]+\d+: /#))
        #expect(text.errors.isEmpty)

        let json = try shop.run("schema check --schemas SCHEMAS --json")
        #expect(json.exit == 3)
        #expect(try member(json.line, "ok") == "false")
        #expect(
            json.output.contains(
                #/\{"id":"[A-Z]+\d+","severity":"[a-z]+","file":"[^"]*","line":\d+,"column":\d+,"position":null,"message":"/#))
    }

    @Test("a file that can't be read as a version is a finding too")
    func unreadable() throws {
        let shop = try Shop()
        try shop.write("schemas/v2.yaml", "evstore: 1\nversion: 2\nevents: [")
        let outcome = try shop.run("schema check --schemas SCHEMAS --json")
        #expect(outcome.exit == 3)
        #expect(try keys(outcome.line) == ["ok", "findings"])
    }

    @Test("a shape is shown at a version, a label, or the newest")
    func show() throws {
        let shop = try Shop()
        let newest = try shop.must("schema show OrderPlaced --schemas SCHEMAS --json").line
        #expect(try keys(newest) == ["type", "version", "stream", "tags", "shape"])
        #expect(try member(newest, "version") == "3")
        #expect(try member(newest, "shape", "properties", "currency") != nil)
        let labelled = try shop.must("schema show OrderPlaced@1.1.0 --schemas SCHEMAS --json").line
        #expect(try member(labelled, "version") == "2")
        #expect(try shop.must("schema show OrderPlaced@v1 --schemas SCHEMAS").output.contains("order-{/id}"))
        #expect(try shop.run("schema show OrderPlaced@v9 --schemas SCHEMAS").exit == 2)
        #expect(try shop.run("schema show Nothing@v1 --schemas SCHEMAS").exit == 3)
    }

    @Test("payloads get a verdict a line, and one that does not fit exits with 3")
    func validate() throws {
        let shop = try Shop()
        let good = #"{"id":"1"}"# + "\n"
        #expect(try shop.must("schema validate OrderPaid@v1 - --schemas SCHEMAS", input: good).output == "1: ok\n")

        let mixed = good + #"{"id":7}"# + "\n\n" + #"{"id":"2","id":"3"}"# + "\n" + "{"
        let outcome = try shop.run("schema validate OrderPaid@v1 - --schemas SCHEMAS --json", input: mixed)
        #expect(outcome.exit == 3)
        try #require(try outcome.lines.map(keys) == Array(repeating: ["line", "ok", "pointer", "error"], count: 4))
        #expect(try outcome.lines.map { try member($0, "line") } == ["1", "2", "4", "5"])
        #expect(try outcome.lines.map { try member($0, "ok") } == ["true", "false", "false", "false"])
        #expect(try member(outcome.lines[1], "pointer") == #""/id""#)
    }

    @Test("a verdict is that of an append: a byte order mark is passed over, and a payload that names no stream is refused")
    func validateAsAppend() throws {
        let shop = try Shop()
        let payloads = [0, 193, 194].map { #"{"id":"1\#(String(repeating: "2", count: $0))"}"# }
        let outcome = try shop.run(
            "schema validate OrderPaid@v1 - --schemas SCHEMAS", input: "\u{feff}" + payloads.joined(separator: "\n"))
        #expect(outcome.exit == 3)
        #expect(
            outcome.output == "1: ok\n2: ok\n3: REFUSED /id should be short enough for a stream name of 200 bytes, found 201 bytes\n")
        #expect(try shop.run("schema validate OrderPaid@v1 - --schemas SCHEMAS", input: "\u{feff}").output == "")
        let second = payloads[0] + "\n\u{feff}" + payloads[0]
        #expect(try shop.run("schema validate OrderPaid@v1 - --schemas SCHEMAS", input: second).output.contains("2: REFUSED"))
    }
}
