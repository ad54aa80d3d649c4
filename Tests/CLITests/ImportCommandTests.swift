import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The import command")
struct ImportCommandTests {
    private static func lines(_ range: Range<Int>) -> String { range.map { Shop.order("\($0)", total: $0) }.joined() }

    private func position(_ shop: Shop) throws -> String? { try member(shop.must("status --json").line, "position") }

    @Test("an import that is killed at the end of a batch, again and again, has each line once when it is done")
    func killed() throws {
        let shop = try Shop()
        try shop.must("init --at v1 --schemas SCHEMAS")
        try shop.write("all", Self.lines(0 ..< 22_000))
        for end in [10_000, 20_000] {
            try shop.write("some", Self.lines(0 ..< end))
            let pipe = shop.path("pipe-\(end)")
            _ = try shell(shop, "mkfifo '\(pipe)'").wait()
            let feeding = try shell(shop, "exec >'\(pipe)'; cat '\(shop.path("some"))'; exec sleep 600")
            let importing = try shell(shop, "exec '\(shop.program.path)' import - --as v1 <'\(pipe)'")
            try waitUntil { try position(shop) == "\(end)" }
            importing.send(signal: SIGKILL)
            _ = try importing.wait()
            feeding.send(signal: SIGTERM)
            _ = try feeding.wait()
            if end == 20_000 { #expect(try member(shop.must("import \(shop.path("some")) --as v1 --json").line, "added") == "0") }
        }
        for added in ["2000", "0", "0"] {
            #expect(try member(shop.must("import \(shop.path("all")) --as v1 --json").line, "added") == added)
        }
        #expect(try position(shop) == "22000")
    }

    @Test("of a pipe that stays open nothing is lost by a kill that came more than a second before, and a rerun adds the rest")
    func killedWhileWaiting() throws {
        let shop = try Shop()
        try shop.must("init --at v1 --schemas SCHEMAS")
        try shop.write("earlier", Self.lines(1_000 ..< 5_000))
        try shop.must("import \(shop.path("earlier")) --as v1")
        try shop.write("some", Self.lines(0 ..< 3))
        try shop.write("all", Self.lines(0 ..< 5))
        let pipe = shop.path("pipe")
        _ = try shell(shop, "mkfifo '\(pipe)'").wait()
        let feeding = try shell(shop, "exec >'\(pipe)'; cat '\(shop.path("some"))'; exec sleep 600")
        let importing = try shell(shop, "exec '\(shop.program.path)' import - --as v1 <'\(pipe)'")
        try waitUntil { try position(shop) == "4003" }
        importing.send(signal: SIGKILL)
        _ = try importing.wait()
        feeding.send(signal: SIGTERM)
        _ = try feeding.wait()
        for added in ["2", "0"] { #expect(try member(shop.must("import \(shop.path("all")) --as v1 --json").line, "added") == added) }
        #expect(try position(shop) == "4005")
    }

    @Test("two imports of one file at once append it once")
    func atOnce() throws {
        let shop = try Shop()
        try shop.must("init --at v1 --schemas SCHEMAS")
        try shop.write("all", Self.lines(0 ..< 11_000))
        let all = shop.path("all")
        let running = try ["'\(all)'", "- <'\(all)'", "'\(all)'"].map {
            try shell(shop, "exec '\(shop.program.path)' import --as v1 \($0)")
        }
        for process in running { #expect(try [0, 5].contains(process.wait().exit)) }
        #expect(try position(shop) == "11000")
    }

    @Test("of first imports at once one makes the store and all go into it, also beside one that nothing comes of")
    func firstAtOnce() throws {
        for round in 0 ..< 4 {
            let shop = try Shop()
            try shop.write("all", Self.lines(0 ..< 300))
            try shop.write("other", Self.lines(1_000 ..< 1_300))
            try shop.write("bad", "{}\n")
            let running = try ["all", "bad", "other", "bad"].map { name in
                let process = try shell(
                    shop, "exec '\(shop.program.path)' import --as v1 --schemas '\(shop.schemas)' '\(shop.path(name))'")
                return (name, process)
            }
            for (name, process) in running {
                let outcome = try process.wait()
                #expect(outcome.exit == (name == "bad" ? 3 : 0), "round \(round), \(name): \(outcome.errors)")
            }
            #expect(try position(shop) == "600", "round \(round)")
        }
    }
}

@Suite("What an import tells of its lines")
struct ImportToldTests {
    @Test("refused lines begin with their file and line, the first thousand of them, and each run tells them")
    func refused() throws {
        let shop = try Shop()
        try shop.must("init --at v1 --schemas SCHEMAS")
        let bad = #"{"stream":"order-4","type":"OrderPaid","data":{"id":4}}"# + "\n"
        try shop.write("lines", Shop.order("1", total: 1) + String(repeating: bad, count: 1_005))
        let lines = shop.path("lines")
        for round in 0 ..< 2 {
            let outcome = try shop.run("import \(lines) --as v1 --on-error quarantine")
            let notes = outcome.errors.split(separator: "\n").map(String.init)
            let refused = notes.filter { $0.contains(": refused: ") }
            #expect(outcome.exit == 8 && refused.count == 1_000)
            #expect(refused.first?.hasPrefix("\(lines):2: ") == true && refused.last?.hasPrefix("\(lines):1001: ") == true)
            #expect(notes.contains("… and 5 more refused"))
            #expect(notes.contains { $0.hasPrefix("note: 1,005 lines that an earlier import refused") } == (round == 1))
            #expect(outcome.output.contains("an earlier import appended") == (round == 1))
        }
        let stopped = try shop.run("import \(lines) --as v1")
        #expect(stopped.exit == 3 && stopped.errors.hasPrefix("note: ") && stopped.errors.contains("\(lines):2: "))
    }

    @Test("a line whose id is there is not counted as imported before, and one that says something else names the way to keep the first")
    func ids() throws {
        let shop = try Shop.open()
        func line(_ total: Int) -> String { Shop.order("9", total: total).replacing("}}", with: #"},"id":"x"}"#) }
        let same = try shop.must("import - --as v1", input: line(1) + line(1))
        #expect(same.output.contains("skipped    1 whose id is there already") && !same.output.contains("an earlier import"))
        try shop.write("lines", line(2).replacing("\"x\"", with: "\"y\"") + line(3).replacing("\"x\"", with: "\"y\""))
        let other = try shop.run("import \(shop.path("lines")) --as v1 --json")
        #expect(try (other.exit, member(other.line, "error", "code")) == (3, "\"idReused\""))
        #expect(try member(other.line, "error", "message")?.contains("lines:2: ") == true && other.line.contains("in line 1"))
        #expect(try member(other.line, "error", "fix")?.contains("--same-id keep") == true)
    }

    @Test("what an import does not take is told with what was found and what to do")
    func fixes() throws {
        let shop = try Shop.open()
        let old = try shop.run("import - --as 0", input: #"{"id":"1"}"# + "\n")
        #expect(old.exit == 3 && old.errors.contains("adopt:") && !old.errors.contains("--at "))
        let time = try shop.run(
            "import - --as v1", input: Shop.order("9", total: 1).replacing("}}", with: #"},"time":"yesterday"}"#))
        #expect(time.exit == 3 && time.errors.contains(#"found "yesterday""#))
        try Data([0x1f, 0x8b, 8, 0]).write(to: shop.directory.url("orders.gz"))
        let packed = try shop.run("import \(shop.path("orders.gz")) --as v1")
        #expect(packed.exit == 2 && packed.errors.contains("zcat FILE | evstore import -"))
        try shop.write("document", "[]")
        #expect(try shop.run("import \(shop.path("document")) --as v1 --each a").exit == 2)
    }
}

@Suite("Several events of one append on the command line")
struct AppendLinesTests {
    @Test("append --lines appends a file's events together, all of them or none, and once where the first has an id")
    func lines() throws {
        let shop = try Shop.open()
        let paid = #"{"stream":"order-8","type":"OrderPaid","data":{"id":"8"}}"# + "\n"
        let placed = Shop.order("8", total: 1)
        let first = try shop.must("append --lines - --expect none --json", input: placed + "\n" + paid)
        #expect(try (member(first.line, "position"), member(first.line, "revision")) == ("6", "1"))
        let bad = try shop.run("append --lines - --json", input: paid + paid.replacing("\"id\"", with: "\"di\""))
        #expect(try (bad.exit, member(bad.line, "error", "at", "line")) == (3, "2"))
        let astray = try shop.run("append --lines - --json", input: paid + "\n" + paid.replacing("order-8", with: "order-9"))
        #expect(try (astray.exit, member(astray.line, "error", "at", "line")) == (3, "3"))
        let named = paid.replacing("}}", with: #"},"id":"n"}"#)
        let twice = try shop.run("append --lines - --json", input: named + paid + named)
        #expect(try (twice.exit, member(twice.line, "error", "at", "line")) == (3, "3"))
        #expect(twice.line.contains("in line 1"))
        let noEvent = try shop.run("append --lines - --json", input: paid + "\n" + "nonsense\n")
        #expect(try (noEvent.exit, member(noEvent.line, "error", "at", "line")) == (3, "3"))
        #expect(try shop.run("append --lines - --expect none", input: paid).exit == 3)
        try shop.write("once", paid.replacing("}}", with: #"},"id":"p-8"}"#) + paid)
        for duplicate in ["false", "true"] {
            let outcome = try shop.must("append --lines \(shop.path("once")) --json")
            #expect(try (member(outcome.line, "duplicate"), member(outcome.line, "position")) == (duplicate, "8"))
        }
        #expect(try shop.must("append --lines -", input: paid).output.contains("appended 1 event at revision 4 of order-8, position 9"))
    }

    @Test("each line of an append may expect something of its stream as it is before; --expect speaks for one stream only")
    func expectations() throws {
        let shop = try Shop.open()
        func line(_ id: String, _ expect: String) -> String {
            #"{"stream":"order-\#(id)","type":"OrderPaid","data":{"id":"\#(id)"},"expect":\#(expect)}"# + "\n"
        }
        let before = try member(shop.must("status --json").line, "position")
        for (wrong, number) in [
            (line("1", "1") + line("2", "7"), "2"), (line("1", "\"none\""), "1"), (line("1", "1") + line("1", "2"), "2"),
        ] {
            let refused = try shop.run("append --lines - --json", input: wrong)
            #expect(try (refused.exit, member(refused.line, "error", "code")) == (3, "\"expectationFailed\""))
            #expect(try member(refused.line, "error", "at", "line") == number)
        }
        let several = line("1", "\"any\"") + line("2", "\"any\"")
        let refused = try shop.run("append --lines - --expect 1", input: several)
        #expect(refused.exit == 2 && refused.errors.contains("several"))
        #expect(try member(shop.must("status --json").line, "position") == before)
        try shop.must("append --lines -", input: line("1", "1") + line("2", "\"exists\"") + line("1", "1"))
        for bad in ["-1", "1.5", "\"some\"", "null"] {
            #expect(try shop.run("append --lines -", input: line("1", bad)).exit == 3)
        }
        try shop.write("import", line("1", "1"))
        #expect(try shop.run("import \(shop.path("import")) --as v1").errors.contains("appended together"))
    }

    @Test(
        "append wants one event or a file of them, not both and not neither",
        arguments: [
            "append", "append order-1", "append order-1 OrderPaid {} --lines x", "append --lines x --id y", "append --lines /nowhere",
            "append --lines /dev/null",
        ])
    func usage(line: String) throws { #expect(try Shop.open().run(line).exit == 2) }
}
