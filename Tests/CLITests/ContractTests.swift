import EvstoreTesting
import TestSupport
import Testing

/// The members of what each command prints with --json, in their order, are a contract with scripts.
@Suite("The JSON contract")
struct ContractTests {
    @Test("import, and a second one that adds nothing")
    func importing() throws {
        let shop = try Shop()
        let line = "import - --as 1.0.0 --schemas SCHEMAS --json"
        let first = try shop.must(line, input: Shop.orders).lines
        try #require(first.count == 1)
        #expect(try keys(first[0]) == ["read", "added", "skipped", "repeated", "quarantined", "position", "adoption"])
        #expect(first[0] == #"{"read":4,"added":4,"skipped":0,"repeated":0,"quarantined":0,"position":4,"adoption":null}"#)
        #expect(
            try shop.must(line, input: Shop.orders).lines == [
                #"{"read":4,"added":0,"skipped":4,"repeated":0,"quarantined":0,"position":4,"adoption":null}"#
            ])
    }

    @Test("append, and its repetition")
    func appending() throws {
        let shop = try Shop.open()
        let line = #"append order-3 OrderPaid {"id":"3"} --expect 0 --id pay-3 --json"#
        let outcome = try shop.must(line)
        #expect(outcome.lines == [#"{"position":5,"revision":1,"id":"pay-3","duplicate":false}"#])
        #expect(try shop.must(line).lines == [#"{"position":5,"revision":1,"id":"pay-3","duplicate":true}"#])
    }

    @Test("status")
    func status() throws {
        let shop = try Shop.migrated()
        let line = try shop.must("status --json").line
        #expect(
            try keys(line) == [
                "floor", "live", "top", "head", "position", "epoch", "births", "types", "projections", "window", "snapshots", "lastDrill",
                "healthy", "freeBytes", "ballastBytes", "cluster", "replica", "complaints", "quarantined", "passingPlace", "pending",
            ])
        #expect(line.hasPrefix(#"{"floor":1,"live":3,"top":3,"head":3,"position":4,"epoch":1,"births":{"1":4},"types":[{"type":"#))
        let projection = try #require(line.firstMatch(of: #/"projections":\[(\{.*?\})[,\]]/#)?.1)
        #expect(
            try keys(String(projection)) == ["name", "version", "fingerprint", "checkpoint", "rows", "digest", "quarantined"])
        #expect(try member(line, "window") == "true")
        #expect(try member(line, "lastDrill") == "null")
        #expect(try member(line, "healthy") == "true")
        for name in ["freeBytes", "ballastBytes"] { #expect(try (member(line, name).flatMap(UInt64.init) ?? 0) > 0) }
        #expect(try shop.must("status").lines.contains { $0.wholeMatch(of: #/disk +[0-9.,]+ .B free, 8\.4 MB of ballast/#) != nil })
    }

    @Test("plan, replay, rollback, finalize")
    func migrating() throws {
        let shop = try Shop.open()
        let plan = try shop.must("plan --to v3 --schemas SCHEMAS --json").line
        #expect(
            try keys(plan) == [
                "from", "to", "events", "rebuild", "ways", "carry", "loss", "oneWay", "seconds", "bytes", "types", "refused", "adoption",
                "needs",
                "appendsRefused", "quarantined", "notSeen", "tail", "bornAbove", "sample", "rows", "gone", "rollback",
            ])

        let replay = try shop.must("replay --to v3 --schemas SCHEMAS --json").line
        #expect(
            try keys(replay) == [
                "from", "to", "position", "events", "upcast", "rebuilt", "fromRows", "rows", "carried", "quarantined", "seconds",
                "eventsPerSecond",
                "flipPauseMilliseconds", "digests",
            ])
        #expect(replay.hasPrefix(#"{"from":1,"to":3,"position":4,"#))

        let again = try shop.must("replay --to v3 --json").line
        #expect(try member(again, "rebuilt") == "[]")

        try shop.must(#"append order-9 OrderPlaced {"id":"9","customer":"Di","cents":5,"currency":"EUR"}"#)
        let rollback = try shop.must("rollback --json").line
        let members = [
            "from", "to", "tail", "seconds", "loss", "bornAbove", "sample", "rebuilt", "without", "floor", "nodes", "differing",
            "forgotten",
        ]
        #expect(try keys(rollback) == members)
        #expect(rollback.hasPrefix(#"{"from":3,"to":1,"tail":1,"#))

        #expect(try shop.must("finalize 1 --json").lines == [#"{"floor":1,"top":1}"#])
    }

    @Test("a plan for what a replay would refuse says why, and exits as the replay does")
    func refusedPlan() throws {
        let shop = try Shop.open()
        try shop.must(#"append order-9 OrderPlaced {"id":"9","customer":"Di","total":5,"code":"x"}"#)
        let plan = try shop.run("plan --to v3 --schemas SCHEMAS --json")
        #expect(plan.exit == 3)
        #expect(try #require(try member(plan.line, "refused")).contains(#""code":"buildStopped","exit":3"#))
        let types = try #require(try member(plan.line, "types"))
        #expect(types.contains(#""type":"OrderPlaced","born":1,"count":4,"becomes":["OrderPlaced"]"#) && types.contains(#""noImage":1"#))
        let told = try shop.run("plan --to v3 --schemas SCHEMAS")
        #expect(told.exit == 3 && told.output.contains("\nrefused      ") && told.output.hasSuffix("nothing was changed\n"))
        #expect(try shop.run("replay --to v3 --schemas SCHEMAS").exit == 3)
    }

    @Test("event lines: read, export, and what they leave out")
    func events() throws {
        let shop = try Shop.migrated()
        let all = try shop.must("read --json").lines
        try #require(all.count == 4)
        for name in ["stream", "type", "data", "position", "revision", "born", "version", "id", "time"] {
            #expect(try member(all[0], name) != nil, "an event line has no \(name)")
        }
        #expect(try member(all[0], "epoch") == nil)
        #expect(try member(all[0], "born") == "1")
        #expect(try member(all[0], "version") == "3")
        #expect(try member(all[0], "data", "currency") == #""USD""#)
        #expect(try shop.must("read").lines == all)

        let exported = try shop.must("export").line
        #expect(try member(exported, "data") == #"{"id":"1","customer":"Ada","total":500}"#)
        let clouds = try shop.must("export --at 1.1.0 --format cloudevents").line
        #expect(try member(clouds, "specversion") == #""1.0""#)
        #expect(try member(clouds, "subject") == #""order-1""#)
        #expect(try member(clouds, "data", "cents") == "500")
    }

    @Test("rows: query and diff")
    func rows() throws {
        let shop = try Shop.migrated()
        let rows = try shop.must("query orders --json").lines
        try #require(
            rows == [
                #"{"key":"1","value":{"customer":"Ada","state":"paid","total":500}}"#,
                #"{"key":"2","value":{"customer":"Bo","state":"open","total":700}}"#,
                #"{"key":"3","value":{"customer":"Cy","state":"open","total":900}}"#,
            ])
        #expect(try shop.must("query orders").lines == rows)
        #expect(try shop.must("query orders 2").lines == [rows[1]])
        #expect(try shop.must("query orders --from 2").lines == [rows[1], rows[2]])
        #expect(try shop.must("query orders --to 3 --backwards").lines == [rows[1], rows[0]])
        let first = try shop.must("query orders --limit 2")
        #expect(first.lines == [rows[0], rows[1]] && first.errors == "note: more rows follow: --after k2\n")
        let rest = try shop.must("query orders --limit 2 --after k2")
        #expect(rest.lines == [rows[2]] && rest.errors.isEmpty)
        #expect(try shop.must("query orders --count --from 2 --to 3").output == "1\n")
        #expect(try shop.must("query orders --count").output == "3\n")
        #expect(try shop.must("query orders --count --json").output == "{\"count\":3}\n")
        #expect(
            try shop.must("query orders --format tsv --columns /customer,/state").lines == ["1\tAda\tpaid", "2\tBo\topen", "3\tCy\topen"])
        #expect(try shop.must("query orders --at v1").lines == rows)
        #expect(try shop.must("diff orders --at v1 --at v3 --json").lines.isEmpty)
    }

    @Test("a difference has the key and both rows")
    func differences() throws {
        let shop = try Shop()
        try shop.write("schemas/projections.yaml", Shop.projections.replacing("/total: /cents", with: "/cents: /cents"))
        try shop.must("import - --as v1 --schemas SCHEMAS", input: Shop.orders)
        try shop.must("replay --to v3 --schemas SCHEMAS")
        let lines = try shop.must("diff orders --at v1 --at v3 2 --json").lines
        #expect(
            lines == [#"{"key":"2","a":{"customer":"Bo","state":"open","total":700},"b":{"cents":700,"customer":"Bo","state":"open"}}"#])
    }

    @Test("snapshots, journal, verify")
    func records() throws {
        let shop = try Shop.open()
        let taken = try shop.must("snapshot take first --json").line
        #expect(try keys(taken) == ["name", "position", "epoch", "live", "time", "cutOff"])
        #expect(try shop.must("snapshot list --json").lines == [taken])
        #expect(try keys(shop.must("snapshot verify first --json").line) == ["ok", "findings"])
        #expect(try shop.must("snapshot prune --keep 0 --json").lines == [#"{"pruned":["first"]}"#])

        let journal = try shop.must("journal --json").lines
        #expect(!journal.isEmpty)
        for line in journal { #expect(try keys(line) == ["time", "what", "from", "to", "position", "seconds", "outcome", "by"]) }

        let verified = try shop.must("verify --deep --laws --json").lines
        try #require(verified.count == 1)
        let members = ["ok", "findings", "laws", "loss", "cases", "exercised", "notExercised", "seed", "head", "since", "quarantined"]
        #expect(try keys(verified[0]) == members)
    }

    @Test("quarantine")
    func quarantine() throws {
        let shop = try Shop.open()
        try shop.must(#"append order-7 OrderPlaced {"id":"7","customer":"Ed","total":1,"code":"x"}"#)
        let replay = try shop.run("replay --to v3 --schemas SCHEMAS --on-error quarantine --json")
        #expect(replay.exit == 8)
        #expect(try member(replay.line, "quarantined") == "1")

        let listed = try shop.must("quarantine list --json").lines
        try #require(listed.count == 1)
        #expect(try keys(listed[0]) == ["projection", "position", "type", "error"])
        #expect(try member(listed[0], "position") == "5")
        let shown = try shop.must("quarantine show 5 --json").line
        #expect(try keys(shown) == ["position", "event", "refusals"])
        #expect(try member(shown, "event", "data", "code") == #""x""#)
        let retried = try shop.run("quarantine retry --json")
        #expect(retried.exit == 8)
        #expect(try keys(retried.line) == ["rebuilt", "before", "after"])
        #expect(try shop.run("status --exit-code").exit == 8)
    }
}
