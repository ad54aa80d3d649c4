import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Interruptions")
struct InterruptTests {
    @Test("a watch prints what another process appends, and ^C ends it, as it is meant to", arguments: [SIGINT, SIGTERM, SIGHUP])
    func watch(_ signal: Int32) throws {
        let shop = try Shop.open()
        let watching = try shell(shop, "exec '\(shop.program.path)' watch >\(shop.path("out")) 2>\(shop.path("err"))")
        try waitUntil { try shop.text("err").contains("watching after position 4") }
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        try waitUntil { try shop.text("out").contains("\n") }
        #expect(try member(shop.text("out").split(separator: "\n").map(String.init)[0], "position") == "5")
        watching.send(signal: signal)
        #expect(try watching.wait().exit == 0)
        #expect(try !shop.text("err").contains("interrupted"))
    }

    @Test(
        "an import that waits for its pipe stops with 9, keeps what came and says so, and a rerun adds the rest",
        arguments: [SIGINT, SIGHUP])
    func importing(_ signal: Int32) throws {
        let shop = try Shop()
        let lines = Shop.orders.split(separator: "\n").map { $0 + "\n" }
        try shop.write("first", lines[0 ... 1].joined())
        let go = "cd '\(shop.directory.path)'; "
        _ = try shell(shop, go + "mkfifo f").wait()
        let feeding = try shell(shop, go + "exec >f; cat first; exec sleep 600")
        let waiting = try shell(shop, go + "exec '\(shop.program.path)' import - --as v1 --schemas schemas --json <f")
        try waitUntil { FileManager.default.fileExists(atPath: shop.store) }
        try waitUntil { try shop.run("status --json").line.contains(#""position":2"#) }
        waiting.send(signal: signal)
        let outcome = try waiting.wait()
        feeding.send(signal: SIGTERM)
        _ = try feeding.wait()
        #expect(outcome.exit == 9)
        #expect(outcome.errors.contains("kept       2 events of the lines before, up to position 2"))
        #expect(try member(outcome.line, "error", "code") == "\"interrupted\"")
        let rest = try shop.must("import - --as v1 --schemas SCHEMAS --json", input: Shop.orders)
        #expect(try member(rest.line, "position") == "4")
    }

    @Test(
        "a signal ends a command that waits for somebody to read what it prints, be it results or an error", .timeLimit(.minutes(10)),
        arguments: ["export >f", "backup - >f", "$(head -c 100000 /dev/zero | tr '\\0' x) 2>f"])
    func unread(_ words: String) throws {
        let shop = try Shop()
        try shop.write("orders.jsonl", (0 ..< 4_000).map { Shop.order("o\($0)", total: $0) }.joined())
        try shop.must("import \(shop.path("orders.jsonl")) --as v1 --schemas SCHEMAS")
        let go = "cd '\(shop.directory.path)'; "
        _ = try shell(shop, go + "mkfifo f").wait()
        let reader = try shell(shop, go + "exec sleep 600 <f")
        let printing = try shell(shop, go + "exec '\(shop.program.path)' \(words)")
        // By then the pipe is full; where it is not, the command ends as any other.
        Thread.sleep(forTimeInterval: 2)
        printing.send(signal: SIGTERM)
        #expect(try printing.wait().exit == 9)
        reader.send(signal: SIGTERM)
        _ = try reader.wait()
        #expect(try shop.run("verify").exit == 0)
    }

    @Test("a proof of the laws that is stopped ends with 9 and changes nothing, and another one finishes")
    func laws() throws {
        let shop = try Shop()
        try shop.write("orders.jsonl", (0 ..< 4_000).map { Shop.order("o\($0)", total: $0) }.joined())
        try shop.must("import \(shop.path("orders.jsonl")) --as v1 --schemas SCHEMAS")
        let files = ["log/data.mdb", "anchor", "evstore.json"]
        let before = try files.map { try Data(contentsOf: URL(filePath: shop.path("store/\($0)"))) }
        let proving = try shell(
            shop, "exec '\(shop.program.path)' verify --laws --progress jsonl >\(shop.path("out")) 2>\(shop.path("err"))")
        try waitUntil { try shop.text("err").contains("\"step\":\"laws\"") }
        proving.send(signal: SIGINT)
        #expect(try proving.wait().exit == 9)
        #expect(try shop.text("err").contains("run it again: evstore verify"))
        #expect(try files.map { try Data(contentsOf: URL(filePath: shop.path("store/\($0)"))) } == before)
        #expect(try shop.run("verify --laws").exit == 0)
        let scratch = shop.path("store/scratch")
        #expect(try !FileManager.default.fileExists(atPath: scratch) || FileManager.default.contentsOfDirectory(atPath: scratch).isEmpty)
    }

    @Test("a reader that goes away is no failure")
    func brokenPipe() throws {
        let shop = try Shop.open()
        let outcome = try shell(shop, "'\(shop.program.path)' export | true; '\(shop.program.path)' read | head -n 1").wait()
        #expect(outcome.exit == 0)
        #expect(outcome.lines.count == 1)
        #expect(outcome.errors.isEmpty)
    }
}

/// Begins a line of the shell, in which the program has the shop's environment.
func shell(_ shop: Shop, _ script: String) throws -> Running {
    try BuiltProgram(path: "/bin/sh", environment: shop.program.environment).start(["-c", script])
}

/// Waits for something that another process does.
func waitUntil(_ isTrue: () throws -> Bool) throws {
    let deadline = ContinuousClock.now + .patience
    while try !isTrue() {
        try #require(ContinuousClock.now < deadline, "waited for \(Patience.seconds) s")
        usleep(20_000)
    }
}
