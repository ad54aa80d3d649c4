import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Exit codes")
struct ExitCodeTests {
    @Test(
        "on a store at v1, each refusal has its code",
        arguments: [
            ("read no-such-stream", 0, ""), ("query orders no-such-key", 0, ""), ("read --type NoSuchType", 3, "unknownType"),
            ("replay --to v9 --schemas SCHEMAS", 2, "unknownVersion"), ("read --at v9", 2, "unknownVersion"),
            ("query nothing", 2, "unknownProjection"), ("import /nonexistent --as v1", 2, "usage"),
            ("snapshot verify nothing", 2, "unknownSnapshot"), ("rollback --to-snapshot nothing --discard-tail", 2, "unknownSnapshot"),
            (#"append order-1 OrderPaid {"id":"1"} --expect none"#, 3, "expectationFailed"),
            (#"append order-1 OrderPaid {"id":1}"#, 3, "invalidEvent"), ("append order-1 OrderPaid {", 3, "invalidJSON"),
            ("append order-1 Nothing {}", 3, "unknownType"), (#"append order-2 OrderPaid {"id":"1"}"#, 3, "streamMismatch"),
            (#"append order-1 OrderPaid {"id":"1"} --at v3"#, 2, "unknownVersion"), ("rollback", 3, "nothingToRollBackTo"),
            (#"append {x} OrderPaid {"id":"1"}"#, 3, "invalidStreamName"), ("finalize v2 --schemas SCHEMAS", 3, "notLive"),
            ("init --schemas SCHEMAS", 2, "storeExists"), ("init", 2, "usage"),
            ("restore /nonexistent --into x", 2, "usage"), ("backup /nonexistent/x", 2, "usage"),
            ("salvage --into /nonexistent/x", 2, "usage"), ("recipher --plain --into /nonexistent/x", 2, "usage"),
            ("plan --to v1 --schemas /nonexistent", 2, "usage"), ("schema check --schemas /nonexistent", 2, "usage"),
            ("plan --to v1 --schemas NEWER", 6, "schemaInvalid"), ("schema check --schemas NEWER", 6, ""),
            ("status --expect v1", 0, ""), ("status --expect v2", 4, ""), ("status --exit-code", 0, ""),
            ("status --exit-code --schemas SCHEMAS", 4, ""), ("plan --to v1 --exit-code", 0, ""),
            ("plan --to v3 --schemas SCHEMAS --exit-code", 4, ""),
        ])
    func refusals(_ line: String, _ exit: Int, _ code: String) throws {
        let shop = try Shop()
        try FileManager.default.createDirectory(atPath: shop.path("only-v1"), withIntermediateDirectories: true)
        try shop.write("only-v1/v1.yaml", ShopHistory.v1)
        try shop.write("only-v1/projections.yaml", Shop.projections(through: 1))
        try shop.must("import - --as v1 --schemas \(shop.path("only-v1"))", input: Shop.orders)
        try shop.must("query orders --count")
        try shop.write("newer/v1.yaml", ShopHistory.v1.replacing("evstore: 1", with: "evstore: 2"))
        let outcome = try shop.run(line.replacing("NEWER", with: shop.path("newer")) + " --json")
        #expect(outcome.exit == Int32(exit), "\(outcome.output)")
        if !code.isEmpty { #expect(try member(#require(outcome.lines.first), "error", "code") == "\"\(code)\"") }
        if exit == 0 && line.contains("no-such") { #expect(outcome.output.isEmpty) }
    }

    @Test("a version that another file was registered as is refused with 3")
    func differing() throws {
        let shop = try Shop.migrated()
        for (name, version) in [("v2", ShopHistory.v2), ("v3", ShopHistory.v3)] {
            let short = version.replacing("customer: {type: string}", with: "customer: {type: string, maxLength: 9}")
            try shop.write("schemas/\(name).yaml", short)
        }
        #expect(try shop.run("replay --to v3 --schemas SCHEMAS --json").exit == 3)
    }

    @Test("a build that an event stops exits with 3, names its position and leaves v1 live")
    func stopped() throws {
        let shop = try Shop.open()
        try shop.must(#"append order-7 OrderPlaced {"id":"7","customer":"Ed","total":1,"code":"x"}"#)
        let outcome = try shop.run("replay --to v3 --schemas SCHEMAS --json")
        #expect(outcome.exit == 3)
        #expect(try member(outcome.line, "error", "code") == "\"buildStopped\"")
        #expect(try member(outcome.line, "error", "at", "position") == "5")
        #expect(try member(shop.must("status --json").line, "live") == "1")
    }

    @Test("a cut without its consent exits with 10 and changes nothing")
    func consent() throws {
        let shop = try Shop.open()
        try shop.must("snapshot take here")
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        #expect(try shop.run("rollback --to-snapshot here").exit == 10)
        #expect(try member(shop.must("status --json").line, "position") == "5")
        #expect(try shop.run("rollback --to-snapshot here --discard-tail").exit == 0)
        let status = try shop.must("status --json").line
        #expect(try member(status, "position") == "4")
        #expect(try member(status, "epoch") == "2")
    }

    @Test("snapshots are well also where a cut took one off, which is named")
    func cutSnapshot() throws {
        let shop = try Shop.open()
        try shop.must("snapshot take here")
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        try shop.must("snapshot take later")
        try shop.must("rollback --to-snapshot here --discard-tail")
        let list = try shop.must("snapshot list").output.split(separator: "\n")
        #expect(list.map { $0.hasSuffix("cut off") } == [false, true], "\(list)")
        #expect(try shop.must("status").output.contains("snapshots    here\n"))
        let back = try shop.run("rollback --to-snapshot later --discard-tail")
        #expect(back.exit == 3 && back.errors.contains("evstore snapshot list marks such snapshots"), "\(back.exit) \(back.errors)")
        #expect(try shop.run("rollback --to-snapshot heer --discard-tail").errors.contains("known: here\n"))
        let outcome = try shop.run("snapshot verify")
        #expect(outcome.exit == 0 && outcome.output.contains("note STORE303: the snapshot later"), "\(outcome.output)")
        #expect(outcome.output.contains("evstore snapshot prune removes it") && outcome.output.contains("ok: "), "\(outcome.output)")
    }

    @Test("a damaged block exits with 7")
    func damage() throws {
        let shop = try Shop.open()
        let path = shop.path("store/log/data.mdb")
        var bytes = try Data(contentsOf: URL(filePath: path))
        let place = try #require(bytes.range(of: Data("Ada".utf8)))
        bytes.replaceSubrange(place, with: Data("Eve".utf8))
        try bytes.write(to: URL(filePath: path))
        #expect(try shop.run("verify --json").exit == 7)
        #expect(try shop.run("read order-1 --json").exit == 7)
    }

    @Test("refused lines of an import exit with 3, or with 8 where they are listed and left out")
    func refusedLines() throws {
        let shop = try Shop()
        try shop.write("bad.jsonl", Shop.orders + #"{"stream":"order-4","type":"OrderPaid","data":{"id":4}}"# + "\n")
        let stop = try shop.run("import \(shop.path("bad.jsonl")) --as v1 --schemas SCHEMAS --json")
        #expect(stop.exit == 3)
        #expect(try member(stop.line, "error", "at", "line") == "5")
        #expect(!FileManager.default.fileExists(atPath: shop.store), "an import that appended nothing leaves no store behind")

        let rest = try shop.run("import \(shop.path("bad.jsonl")) --as v1 --schemas SCHEMAS --on-error quarantine --json")
        #expect(rest.exit == 8)
        #expect(rest.lines == [#"{"read":5,"added":4,"skipped":0,"repeated":0,"quarantined":1,"position":4,"adoption":null}"#])
        #expect(rest.errors.hasPrefix("\(shop.path("bad.jsonl")):5: refused: "))
    }

    @Test("a rehearsed import changes nothing, also where there is no store")
    func dryRun() throws {
        let shop = try Shop()
        let outcome = try shop.must("import - --as v1 --schemas SCHEMAS --dry-run --json", input: Shop.orders)
        #expect(try member(outcome.line, "read") == "4")
        #expect(!FileManager.default.fileExists(atPath: shop.store))
    }

    @Test("the code and what is printed say one thing, also of a store that is well but for what is in quarantine")
    func agreeing() throws {
        let shop = try Shop.open()
        let pending = try shop.run("status --exit-code --schemas SCHEMAS --json")
        let command = try #require(try member(pending.line, "pending"))
        #expect(pending.exit == 4 && command.contains("evstore replay --to v3 --schemas "), "\(command)")
        try shop.must(#"append order-7 OrderPlaced {"id":"7","customer":"Ed","total":1,"code":"x"}"#)
        #expect(try shop.run("replay --to v3 --schemas SCHEMAS --on-error quarantine").exit == 8)
        for line in [
            "verify", "verify --deep --strict", "verify --laws --strict", "snapshot verify", "schema check --schemas SCHEMAS",
            "schema lint --schemas SCHEMAS", "schema fmt --check --schemas SCHEMAS",
        ] {
            let outcome = try shop.run(line + " --json")
            let ok = try member(outcome.line, "ok")
            #expect(ok == (outcome.exit == 0 ? "true" : "false"), "\(line): \(outcome.exit)")
            let text = try shop.run(line)
            let isOK = text.output.contains("ok: ") && !text.output.contains("NOT OK")
            #expect(text.exit == outcome.exit && isOK == (text.exit == 0), "\(line): \(text.output)")
        }
        let verified = try shop.run("verify --json")
        #expect(try verified.exit == 8 && member(verified.line, "quarantined") == "1")
        let again = try shop.run("replay --to v3")
        #expect(again.exit == 8 && again.output.contains("quarantined 1 event"), "\(again.output)")
    }

    @Test("who runs the program can use what it makes, whatever mask it was started with")
    func mask() throws {
        let shop = try Shop()
        let shell = BuiltProgram(path: "/bin/bash", environment: ["EVSTORE_STORE": shop.store])
        for mask in ["0777", "0277", "0000"] {
            let made = shop.path("masked-\(mask)")
            let line = "umask \(mask); \(BuiltProgram().path) --store \(made) init --at v1 --schemas \(shop.path("schemas"))"
            let ended = try shell.run("-c", line)
            #expect(ended.exit == 0, "\(ended.errors)")
            for (name, mode) in [("", 0o700), ("/log", 0o700), ("/log/data.mdb", 0o600), ("/evstore.json", 0o600)] {
                let found = try FileManager.default.attributesOfItem(atPath: made + name)[.posixPermissions] as? Int
                #expect(found == mode, "\(mask), \(name): \(found ?? 0)")
            }
        }
    }

    @Test("the code is the outcome's, also where nobody reads the results, in a pipe that is closed at once")
    func unread() throws {
        let shop = try Shop.open()
        let shell = BuiltProgram(path: "/bin/bash", environment: ["EVSTORE_STORE": shop.store])
        for (line, exit) in [
            ("status --expect v2", 4), ("status --expect v2 --json", 4), ("read --at v9 --json", 2), ("read", 0), ("status", 0),
            (#"append order-1 OrderPaid '{"id":1}' --json"#, 3), ("query nothing --json", 2), ("snapshot verify nothing --json", 2),
        ] {
            let ended = try shell.run("-c", "\(BuiltProgram().path) \(line) 2>/dev/null | true; exit ${PIPESTATUS[0]}")
            #expect(ended.exit == Int32(exit), "\(line)")
        }
    }

    @Test("a standard stream that the program was started without is told as closed, where it is needed")
    func closed() throws {
        let shop = try Shop.open()
        let shell = BuiltProgram(path: "/bin/bash", environment: ["EVSTORE_STORE": shop.store])
        for (line, exit) in [
            ("import - --as v1 <&-", 2), ("append order-1 OrderPaid - <&-", 2), ("status >&-", 1), ("status <&-", 0), ("status 2>&-", 0),
            ("status <&- >&- 2>&-", 1), ("read <&- 2>&-", 0),
        ] {
            let ended = try shell.run("-c", "timeout \(Patience.seconds) \(BuiltProgram().path) \(line)")
            #expect(ended.exit == Int32(exit), "\(line): \(ended.errors)")
        }
        try shop.must("verify --deep")
    }
}
