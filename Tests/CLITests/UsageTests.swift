import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Usage")
struct UsageTests {
    @Test(
        "arguments that no command takes exit with 2 and point at the help",
        arguments: [
            "", "nope", "snapshot", "snapshot nope", "status extra", "read order-1 --limit many", "diff orders --at v1",
            "query orders --format xml", "query orders --columns /a", "query orders 1 --prefix 1", "append",
            "query orders 1 --from 1", "query orders --from 2 --to 1", "query orders --limit 0", "query orders --after 1",
            "query orders --count --limit 1",
            "append order-1 T --expect soon",
            "replay", "replay --to v1 --jobs 0", "replay --to v1 --from-events --only orders", "replay --to v1 --from-events --stream s",
            "rollback --discard-tail", "rollback --to v1 --to-snapshot s", "finalize",
            "schema validate T",
            "drill --to", "backup", "backup - --keep 2", "restore /tmp", "follow", "follow --from - --every 5s",
            "follow --from b --every soon",
            "follow --from b --once --every 5s", "promote s", "schema explode", "status --progress loud",
            "import x --as v1 --on-error ignore",
        ])
    func refused(_ line: String) throws {
        let words = line.split(separator: " ").map(String.init)
        let outcome = try BuiltProgram().run(["--store", "/nonexistent"] + words)
        #expect(outcome.exit == 2)
        #expect(outcome.output.isEmpty)
        #expect(outcome.errors.contains("evstore: "))
        #expect(outcome.errors.contains("--help"))
    }

    @Test("a value that begins with - is taken behind =, as the error says")
    func negative() throws {
        let outcome = try BuiltProgram().run(["query", "orders", "--limit", "-1"])
        #expect(outcome.exit == 2 && outcome.errors.contains("--name=-1"), "\(outcome.errors)")
        #expect(try BuiltProgram().run(["query", "orders", "--limit=-1"]).errors.contains("--limit is at least 1"))
    }

    @Test("an error names no command for v0, which none takes, and no place without a name, and comes before any claim of work")
    func advice() throws {
        let shop = try Shop.open()
        for command in ["read --at v0", "read order-1 --at v0", "export --at v0"] {
            let outcome = try shop.run(command)
            #expect(outcome.exit == 3 && outcome.errors.contains("-> v0 shows only data from before"), "\(command): \(outcome)")
        }
        let watched = try shop.run("watch --type Nope")
        #expect(watched.exit == 3 && !watched.errors.contains("watching"), "\(watched)")
        for arguments in [["read", "order-1", "--type", ""], ["read", ""]] {
            let outcome = try shop.program.run(arguments)
            #expect(outcome.exit == 3 && !outcome.errors.contains("  at "), "\(arguments): \(outcome)")
        }
    }

    @Test("results that can't be written are an error, as text and as JSON", arguments: ["", " --json"])
    func fullDisk(_ json: String) throws {
        let shop = try Shop.open()
        for command in ["export", "backup -", "status", "read --limit 2", "query orders"] {
            for end in [">/dev/full", ">&-"] {
                let outcome = try BuiltProgram(path: "/bin/sh").run(
                    ["-c", "'\(shop.program.path)' --store '\(shop.store)' \(command)\(json) \(end)"])
                #expect(outcome.exit == 1 && outcome.errors.contains("writing the results"), "\(command)\(json) \(end): \(outcome)")
            }
        }
    }

    @Test(
        "a command whose result can't be printed says that its work is done, and prints the result with that",
        arguments: [">/dev/full", ">&-"], ["", " --json"])
    func unprinted(_ end: String, _ json: String) throws {
        let shop = try Shop.open()
        let line = Shop.order("9", total: 100)
        try shop.write("more.jsonl", line)
        let commands = [
            ("append order-1 OrderPaid {\"id\":\"1\"} --id again", "revision"), ("import \(shop.path("more.jsonl")) --as v1", "added"),
            ("snapshot take here", "here"), ("replay --to v2 --schemas \(shop.schemas)", "orders"), ("rollback", "v1"),
        ]
        for (command, shown) in commands {
            let words = command.split(separator: " ").map { "'\($0)'" }.joined(separator: " ")
            let outcome = try BuiltProgram(path: "/bin/sh").run(
                ["-c", "'\(shop.program.path)' --store '\(shop.store)' \(words)\(json) \(end)"])
            #expect(outcome.exit == 1 && outcome.errors.contains("the work is done"), "\(command): \(outcome)")
            #expect(outcome.errors.contains(json.isEmpty ? shown : "\"code\":\"resultNotPrinted\""), "\(command): \(outcome)")
        }
        // What they did is there: an event and a line more, a snapshot, and the version before the replay.
        let status = try shop.must("status --json").line
        #expect(try member(status, "position") == "6" && member(status, "live") == "1" && member(status, "top") == "2")
        #expect(try shop.must("snapshot list").output.contains("here"))
        #expect(try member(shop.must("append order-1 OrderPaid {\"id\":\"1\"} --id again --json").line, "duplicate") == "true")
    }

    @Test("an empty value behind = is the empty text", arguments: ["--from=", "--to="])
    func empty(_ bound: String) throws {
        let shop = try Shop.open()
        let (one, two) = (
            try shop.run("query orders \(bound) --count"),
            try shop.program.run(["query", "orders", String(bound.dropLast()), "", "--count"])
        )
        #expect(one.exit == two.exit && one.output == two.output && one.errors == two.errors)
        #expect(one.exit != 0 || Int(one.line) != nil, "\(one)")
    }

    @Test("with --json, before the command or after it, an error is one object on standard output", arguments: [true, false])
    func json(_ isFirst: Bool) throws {
        let outcome = try BuiltProgram().run(isFirst ? ["--json", "status"] : ["status", "--json"])
        #expect(outcome.exit == 2)
        #expect(outcome.errors.isEmpty)
        #expect(outcome.lines.count == 1)
        #expect(try keys(outcome.line) == ["error"])
        let error = try #require(try member(outcome.line, "error"))
        #expect(try keys(error) == ["code", "exit", "message", "at", "fix"])
        #expect(try keys(#require(try member(error, "at"))) == ["file", "line", "column", "pointer", "position", "stream", "type"])
        #expect(try member(error, "exit") == "2")
    }

    @Test(
        "every command without a store exits with an error that shows how to make one",
        arguments: ["status", "read", "journal", "plan --to v1"])
    func noStore(_ line: String) throws {
        let shop = try Shop()
        let outcome = try shop.run(line)
        #expect(outcome.exit == 2)
        #expect(outcome.errors.contains("there is no store"))
        #expect(outcome.errors.contains("init"))
        #expect(!FileManager.default.fileExists(atPath: shop.store))
    }

    @Test("an option may stand before the command or after it")
    func eitherSide() throws {
        let shop = try Shop(environment: ["EVSTORE_STORE": ""])
        let before = try shop.run("--store \(shop.store) status --json")
        let after = try shop.run("status --json --store \(shop.store)")
        #expect(try member(before.line, "error", "code") == "\"storeNotFound\"")
        #expect(before.output == after.output)
    }
}
