import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Linting and locking version files")
struct SchemaLintTests {
    private static let domains = Checkout.url("Schemas")

    @Test(
        "every worked example is checked and linted without a finding",
        arguments: ["cycles", "packages", "reminders", "saves", "settings", "tickets", "vault"])
    func domains(name: String) throws {
        let shop = try Shop(environment: ["EVSTORE_STORE": ""])
        for command in ["check", "lint"] {
            let outcome = try shop.must("schema \(command) --schemas \(Self.domains.path)/\(name)")
            #expect(!outcome.output.contains("warning") && !outcome.output.contains("error"), "\(outcome.output)")
        }
    }

    @Test("an op that rules.yaml forbids is an error, with its place")
    func forbidden() throws {
        let shop = try Shop()
        try shop.write("schemas/rules.yaml", "forbid: [move]\n")
        let outcome = try shop.run("schema lint --schemas SCHEMAS")
        #expect(outcome.exit == 3 && outcome.output.contains(#/v2\.yaml:\d+:\d+: error POLICY503: move is forbidden/#), "\(outcome.output)")
    }

    @Test("an op that is forbidden is forbidden within others, too")
    func forbiddenWithin() throws {
        let shop = try Shop()
        try shop.write("schemas/rules.yaml", "forbid: [convert]\n")
        let before = try shop.run("schema lint --schemas SCHEMAS").output.split(separator: "POLICY503").count
        let guarded = "when: {path: /id, equals: x, do: [{convert: {path: /cents, to: integer, using: {scale: {num: 10, den: 1}}}}]}"
        let move = "- move: {from: /total, path: /cents}"
        try shop.write("schemas/v2.yaml", ShopHistory.v2.replacing(move, with: "\(move)\n      - \(guarded)"))
        let outcome = try shop.run("schema lint --schemas SCHEMAS")
        #expect(outcome.exit == 3 && outcome.output.split(separator: "POLICY503").count == before + 1, "\(outcome.output)")
    }

    @Test("a rules.yaml that can't be read is an error of the check, too")
    func brokenRules() throws {
        let shop = try Shop()
        try shop.write("schemas/rules.yaml", "forbid: [mvoe]\n")
        let outcome = try shop.run("schema check --schemas SCHEMAS")
        #expect(outcome.exit == 3 && outcome.output.contains("rules.yaml:1:9: error OPS306"), "\(outcome.output)")
    }

    @Test("what a worked example forbids itself is refused, although it says why and what to restore")
    func forbiddenHere() throws {
        let library = try Library(domain: "cycles", before: 4)
        try library.change("v4.yaml", "      stress:       {type: integer, minimum: 1, maximum: 10}\n", "")
        try library.change(
            "v4.yaml", "  - add-event:",
            "  - on: CycleLogged\n    do:\n      - remove: {path: /stress, restore: absent, because: \"nobody asks\"}\n  - add-event:")
        try library.must("check")
        let outcome = try library.run("lint")
        #expect(outcome.exit == 3 && outcome.output.contains("v4.yaml:14:9: error POLICY503: remove is forbidden here by rules.yaml"))
    }

    @Test("rules.yaml makes a warning an error, and a waiver with a reason and an end takes it back until then")
    func waived() throws {
        let shop = try Shop()
        let undescribed = try shop.must("schema lint --schemas SCHEMAS").output
        #expect(undescribed.contains("warning STYLE404"))
        try shop.write("schemas/rules.yaml", "error: [STYLE404]\n")
        #expect(try shop.run("schema lint --schemas SCHEMAS").exit == 3)
        try shop.write("schemas/rules.yaml", "error: [STYLE404]\nwaive:\n  - {id: STYLE404, because: \"a sketch\", until: 2999-12-31}\n")
        #expect(try !shop.must("schema lint --schemas SCHEMAS").output.contains("STYLE404"))
        try shop.write("schemas/rules.yaml", "waive:\n  - {id: STYLE404, because: \"a sketch\", until: 2001-12-31}\n")
        let ended = try shop.run("schema lint --schemas SCHEMAS")
        #expect(ended.exit == 3 && ended.output.contains("POLICY501") && ended.output.contains("STYLE404"))
        try shop.write("schemas/rules.yaml", "waive:\n  - {id: STYLE404}\n")
        #expect(try shop.run("schema lint --schemas SCHEMAS").output.contains(#/rules\.yaml:2:\d+: error POLICY501/#))
    }

    @Test("a fixture that is no event of its version is named by its line, and a type without one by its declaration")
    func fixtures() throws {
        let shop = try Shop()
        let good = #"{"stream":"order-1","type":"OrderPaid","data":{"id":"1"}}"#
        try shop.write("schemas/fixtures/v1/events.jsonl", good + "\n" + #"{"stream":"order-1","type":"OrderPaid","data":{"id":1}}"# + "\n")
        let output = try shop.run("schema lint --schemas SCHEMAS").output
        #expect(output.contains("events.jsonl:2:1: error LOG005") && output.contains("the fixtures of v1 hold no OrderPlaced"))
    }

    @Test("a new version begins as the last one, is refused until it changes something, and overwrites nothing")
    func new() throws {
        let shop = try Shop()
        #expect(try shop.must("schema new --schemas SCHEMAS --json").line.contains("v4.yaml"))
        let same = try shop.run("schema check --schemas SCHEMAS")
        #expect(same.exit == 3 && same.output.contains("COMPAT106"), "\(same.output)")
        #expect(try shop.run("schema new --schemas SCHEMAS").exit == 3, "the last one says nothing yet")
        try shop.must("schema fmt --check \(shop.schemas)/v4.yaml")
        try shop.write("schemas/v4.yaml", try shop.text("schemas/v4.yaml").replacing("evstore: 1", with: "evstore: 2"))
        #expect(try shop.run("schema new --schemas SCHEMAS").exit == 6, "what is there has to be of a format that is known")
    }

    @Test("a lock holds released versions, and one that was changed afterwards is refused with the lock as it was")
    func lock() throws {
        let shop = try Shop()
        #expect(try shop.must("schema lock --schemas SCHEMAS").line == "locked     nothing; 3 not released yet")
        let released = ShopHistory.v1.replacing("version: 1\n", with: "version: 1\nreleased: 2026-01-01\n")
        try shop.write("schemas/v1.yaml", released)
        #expect(try shop.must("schema lock --schemas SCHEMAS --json").line.contains(#""versions":["v1"]"#))
        #expect(try shop.must("schema check --schemas SCHEMAS").output.contains("LOG002") == false)
        try shop.write("schemas/v1.yaml", released.replacing("order-{/id}", with: "orders-{/id}"))
        let changed = try shop.run("schema lock --schemas SCHEMAS")
        #expect(changed.exit == 3 && changed.errors.contains("LOG002"), "\(changed.errors)")
        try shop.write("schemas/v1.yaml", released)
        try shop.must("schema lock --schemas SCHEMAS")
    }
}
