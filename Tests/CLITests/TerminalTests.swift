import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@testable import EvstoreCLI

@Suite("Terminals")
struct TerminalTests {
    /// A payload that would clear the screen and turn the direction of writing, as C1 and bidi controls.
    static let nasty = "{\"id\":\"8\",\"customer\":\"\u{9b}2J\u{202e}\\u001b[31m\",\"total\":1}"

    @Test("on a terminal, a payload's control characters are spelled out; in a pipe the bytes are as they were")
    func payload() throws {
        let shop = try Shop.open()
        try shop.must("append order-8 OrderPlaced - --json", input: Self.nasty)
        #expect(try shop.must("export").output.contains("\u{9b}2J\u{202e}\\u001b[31m"))

        let command = "'\(shop.program.path)' read order-8"
        let terminal = BuiltProgram(path: "/usr/bin/script", environment: shop.program.environment)
        let shown = try terminal.run("-qec", command, "/dev/null").output
        #expect(shown.contains("\\u009b2J\\u202e\\u001b[31m"))
        #expect(!shown.unicodeScalars.contains { $0 == "\u{9b}" || $0 == "\u{202e}" || $0 == "\u{1b}" })
    }

    @Test("fields of tab-separated values are escaped wherever they go")
    func fields() throws {
        let shop = try Shop.open()
        try shop.must("append order-8 OrderPlaced -", input: Self.nasty.replacing("2J", with: "2J\\t"))
        let row = try shop.must("query orders 8 --format tsv --columns /customer").lines
        #expect(row == ["8\t\\u009b2J\\t\\u202e\\u001b[31m"])
    }

    @Test("names in errors are shown, not carried out")
    func names() throws {
        let outcome = try BuiltProgram().run(["--store", "/nonexistent/\u{1b}[2J", "status"])
        #expect(outcome.exit == 2)
        #expect(!outcome.errors.contains("\u{1b}"))
    }

    @Test("results are on standard output, progress and notes on standard error")
    func separation() throws {
        let shop = try Shop.open()
        let outcome = try shop.must("replay --to v3 --schemas SCHEMAS --json --progress jsonl")
        #expect(outcome.lines.count == 1)
        let progress = outcome.errors.split(separator: "\n").map(String.init).filter { $0.hasPrefix("{") }
        #expect(!progress.isEmpty)
        for line in progress { #expect(try keys(line) == ["step", "done", "total", "quarantined", "seconds", "note"]) }
        #expect(try shop.must("replay --to v3 --progress none").errors.isEmpty)
    }

    @Test("colour is for terminals without NO_COLOR")
    func colour() throws {
        for (value, isColoured) in [("1", false), ("", true)] {
            let environment = ["NO_COLOR": value, "TERM": "xterm", "EVSTORE_STORE": ""]
            let terminal = BuiltProgram(path: "/usr/bin/script", environment: environment)
            let shown = try terminal.run("-qc", "'\(BuiltProgram().path)' status", "/dev/null").output
            #expect(shown.contains("which store?"))
            #expect(shown.contains("\u{1b}[") == isColoured)
        }
    }
}

@Suite("Words for people")
struct WordTests {
    @Test(
        "counts have thousands separators",
        arguments: [(0, "0"), (999, "999"), (1_000, "1,000"), (1_204_511, "1,204,511"), (-12_345, "-12,345")])
    func counts(_ number: Int, _ text: String) { #expect(grouped(number) == text) }

    @Test("sizes, rates and spans are rounded to what a person reads")
    func amounts() {
        #expect(size(bytes: 210_000_000) == "210 MB")
        #expect(size(bytes: 1_500) == "1.5 kB")
        #expect(rate(perSecond: 1_100_000) == "1.1 M/s")
        #expect(rate(perSecond: 250) == "250/s")
        #expect(duration(seconds: 0.0018) == "1.8 ms")
        #expect(duration(seconds: 0.31) == "0.3 s")
        #expect(duration(seconds: 125) == "2 min 5 s")
        #expect(duration(seconds: 11_520) == "3 h 12 min")
        #expect(Duration.microseconds(1_800).inWords == "1.8 ms" && Duration.seconds(125).inWords == "2 min 5 s")
    }

    @Test("whatever number a file or a row says, there are words for it")
    func extremes() {
        var random = SeededGenerator.announced()
        let ends: [Double] = [0, -0.0, 1e300, -1e300, .nan, .infinity, -.infinity, 9.3e18, 59.99, 0x1p63, .leastNonzeroMagnitude]
        let numbers = ends + (0 ..< 20_000).map { _ in Double(bitPattern: random.next()) }
        for number in numbers {
            let words = [
                duration(seconds: number), Duration.bounded(seconds: number).inWords, rate(perSecond: number),
                "\(number.json.count)",
            ]
            #expect(words.allSatisfy { (1 ... 40).contains($0.utf8.count) }, "\(number): \(words)")
        }
        for number in [.min, .max, 0, -1, -1_000_000_000_000] + (0 ..< 5_000).map({ _ in Int64(truncatingIfNeeded: random.next()) }) {
            let event = ProgressEvent(step: "x", done: UInt64(bitPattern: number), total: random.next())
            let words = [size(bytes: number), grouped(number), age(since: Timestamp(microseconds: number))]
            #expect(words.allSatisfy { (1 ... 40).contains($0.utf8.count) }, "\(number): \(words)")
            #expect(!ProgressBar.line(event, seconds: 1e-9, bar: true).isEmpty)
        }
        #expect(size(bytes: Int64.min) == "-9,223,372 TB" && duration(seconds: -90) == "-1 min 30 s")
        #expect(Duration.seconds(-90).inWords == "-1 min 30 s" && Duration.bounded(seconds: .nan) == .zero)
        #expect(age(since: .now) == "just now" && age(since: Timestamp(microseconds: .max)).hasPrefix("in "))
    }

    @Test("what a replay says of its work is one list, also where it is from events and from rows")
    func replayed() throws {
        let (schemas, directory) = (try TemporaryDirectory(copying: Checkout.path("Schemas/vault")), try TemporaryDirectory())
        // A read model that is new at v2 has no rows to be made from.
        let added = "  count:\n    - since: 2\n      key: {value: all}\n      on:\n        EntrySaved: {add: {/saves: {value: 1}}}\n"
        try schemas.write(schemas.text("projections.yaml") + "\n" + added, to: "projections.yaml")
        let program = BuiltProgram(environment: ["EVSTORE_STORE": directory.store])
        try program.must("import", schemas.path + "/fixtures/v1/events.jsonl", "--as", "v1", "--schemas", schemas.path)
        try program.must("query", "entries", "--count")
        let output = try program.must("replay", "--to", "v2", "--schemas", schemas.path).output
        #expect(output.contains("replay     4 events, 4 of them not born at v2, and 3 rows of v1, in "), "\(output)")
    }

    @Test("a bar shows the share, the rate and the time left")
    func bar() {
        let event = ProgressEvent(step: "replay", done: 855_200, total: 1_204_511)
        #expect(
            ProgressBar.line(event, seconds: 0.7775, bar: true)
                == "replay     [##############------]  71 %  855,200 / 1,204,511   1.1 M/s   0.3 s left   0 quarantined")
    }

    @Test("a progress bar leaves out a whole part for which it has no room")
    func narrow() {
        let event = ProgressEvent(step: "replay", done: 855_200, total: 1_204_511, note: "v5 after a snapshot")
        let whole = ProgressBar.line(event, seconds: 0.7775, bar: true)
        #expect(whole.count > 79 && ProgressBar.line(event, seconds: 0.7775, bar: true, width: whole.count) == whole)
        #expect(
            ProgressBar.line(event, seconds: 0.7775, bar: true, width: 79)
                == "replay     [##############------]  71 %  855,200 / 1,204,511   1.1 M/s")
    }

    @Test("an object keeps its order, escapes its texts and writes null where nothing is known")
    func objects() {
        let object: Members = [
            "b": "\"\\\n\u{1b}\u{9b}é", "a": nil as Int?, "c": 1.23456, "d": Double.infinity, "e": ["x", "y"], "f": true,
        ]
        let text = #"{"b":"\"\\\n\u001b\u009bé","a":null,"c":1.235,"d":null,"e":["x","y"],"f":true}"#
        #expect(String(decoding: object.json, as: UTF8.self) == text)
    }

    @Test("a command line to run again is what a shell takes for the same words")
    func shellWords() {
        #expect("replay".shellWord == "replay")
        #expect("it's".shellWord == #"'it'\''s'"#)
        #expect("".shellWord == "''")
    }
}
