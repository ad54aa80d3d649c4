import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The command salvage")
struct SalvageCommandTests {
    /// A store of three hundred orders, on many pages.
    private func shop() throws -> Shop {
        let shop = try Shop()
        for part in 0 ..< 30 {
            try shop.write("orders.jsonl", (part * 10 ..< part * 10 + 10).map { Shop.order("o\($0)", total: $0) }.joined())
            try shop.must("import \(shop.path("orders.jsonl")) --as v1 --schemas SCHEMAS")
        }
        return shop
    }

    private func data(_ shop: Shop) -> URL { URL(filePath: shop.path("store/log/data.mdb")) }

    private func change(_ shop: Shop, _ body: (inout Data) throws -> Void) throws {
        var bytes = try Data(contentsOf: data(shop))
        try body(&bytes)
        try bytes.write(to: data(shop))
    }

    /// Zeroes the root of the newest commit's main tree: no table can be found any more.
    private func loseTree(_ shop: Shop) throws {
        try change(shop) { bytes in
            func number(_ offset: Int) -> Int { (0 ..< 8).reduce(0) { $0 | Int(bytes[offset + $1]) << ($1 * 8) } }
            let newest = number(144) > number(4_096 + 144) ? 0 : 4_096
            let root = number(newest + 88 + 40) * 4_096
            bytes.replaceSubrange(root ..< root + 4_096, with: Data(count: 4_096))
        }
    }

    @Test("gives back a store that does not open, with its versions and journal; ends with 0 where nothing is lost")
    func whole() throws {
        let shop = try shop()
        let before = try shop.must("export").output
        let sound = try shop.must("salvage --into \(shop.path("sound"))")
        #expect(sound.output.contains("300 events") && sound.output.contains("nothing is known to be lost"))
        try loseTree(shop)
        let refused = try shop.run("read --json")
        #expect(refused.exit == 7)
        #expect(try member(refused.line, "error", "fix")?.contains("evstore salvage --into DIR") == true)
        let outcome = try shop.run("salvage --into \(shop.path("new")) --json")
        // The commit before the newest may not have had all rows.
        #expect(outcome.exit == 8)
        #expect(
            try keys(outcome.line) == [
                "position", "events", "gaps", "unconfirmed", "lostNames", "lostRows", "endKnown", "renumbered", "lostKeys", "unopened",
                "dataKeys", "bytesScanned", "seconds",
            ])
        #expect(
            outcome.line.hasPrefix(#"{"position":300,"events":300,"gaps":[],"unconfirmed":0,"lostNames":[],"lostRows":["definitions","#))
        let store = "--store \(shop.path("new"))"
        #expect(try shop.must("\(store) export").output == before)
        #expect(try shop.must("\(store) query orders --count").output == "300\n")
        #expect(try shop.must("\(store) verify --deep").exit == 0)
        let journal = try shop.must("\(store) journal --json").lines
        #expect(try journal.contains { try member($0, "what") == #""salvage""# })
        // What was imported is not imported again, as far as the commit before the newest one knows.
        try shop.write("orders.jsonl", (100 ..< 110).map { Shop.order("o\($0)", total: $0) }.joined())
        let again = try shop.must("\(store) import \(shop.path("orders.jsonl")) --as v1 --json")
        #expect(try member(again.line, "added") == "0")
        #expect(try shop.run("salvage --into \(shop.path("new"))").exit == 2)
    }

    @Test("says what is lost and ends with 8; lost version files are asked for")
    func gaps() throws {
        let shop = try shop()
        try change(shop) { bytes in
            // Every copy of the block that holds this order.
            for place in bytes.ranges(of: Data(#""id":"o155""#.utf8)) { bytes[place.lowerBound + 7] ^= 1 }
        }
        let outcome = try shop.run("salvage --into \(shop.path("new"))")
        #expect(outcome.exit == 8)
        #expect(outcome.output.contains("lost       positions 151 to 160") && outcome.output.contains("renumbered"))
        let store = "--store \(shop.path("new"))"
        #expect(try member(shop.must("\(store) status --json").line, "position") == "290")
        #expect(try shop.must("\(store) read order-o161").lines.count == 1)
        try change(shop) { $0.replaceSubrange(0 ..< 8_192, with: Data(count: 8_192)) }
        let asked = try shop.run("salvage --into \(shop.path("again")) --json")
        #expect(asked.exit == 2)
        #expect(try member(asked.line, "error", "fix")?.contains("--schemas DIR") == true)
        #expect(!FileManager.default.fileExists(atPath: shop.path("again")))
        #expect(try shop.run("salvage --into \(shop.path("again")) --schemas SCHEMAS").exit == 8)
        #expect(try shop.must("--store \(shop.path("again")) query orders --count").output == "290\n")
    }

    @Test("is announced by verify, which examines a store that does not open and ends with 7")
    func examined() throws {
        let shop = try shop()
        try loseTree(shop)
        let outcome = try shop.run("verify --json")
        #expect(outcome.exit == 7)
        #expect(try keys(outcome.line).starts(with: ["ok", "findings", "laws"]))
        #expect(try member(outcome.line, "ok") == "false")
        let findings = try #require(try member(outcome.line, "findings"))
        #expect(findings.contains("STORE007") && findings.contains("rule ") && findings.contains("300 of 300 events can be taken out"))
        let words = try shop.run("verify")
        #expect(words.exit == 7 && words.output.contains("salvage --into DIR") && words.output.contains("NOT OK"))
        #expect(try shop.run("--store \(shop.path("schemas")) verify").exit == 2)
        try FileManager.default.removeItem(atPath: shop.path("store/evstore.json"))
        #expect(try shop.run("verify").output.contains("300 of 300"))
    }

    @Test("of files without any event ends with 7, of nothing with 2")
    func nothing() throws {
        let shop = try Shop()
        try shop.write("data.mdb", String(repeating: "nothing ", count: 10_000))
        let outcome = try shop.run("--store \(shop.path("data.mdb")) salvage --into \(shop.path("new")) --json")
        #expect(outcome.exit == 7)
        #expect(try member(outcome.line, "error", "code") == #""nothingToSalvage""#)
        #expect(try shop.run("salvage --into \(shop.path("new"))").exit == 2)
        #expect(try shop.run("--store \(shop.schemas) salvage --into \(shop.path("new"))").exit == 2)
    }

    @Test("that is killed leaves a whole store or none, and another run finishes")
    func killed() throws {
        let shop = try shop()
        let target = shop.path("new")
        for step in ["scan", "chain", "write", "check"] {
            try shop.write("err", "")
            let salvaging = try shell(
                shop, "exec '\(shop.program.path)' --progress jsonl salvage --into '\(target)' >/dev/null 2>'\(shop.path("err"))'")
            try waitUntil { try shop.text("err").contains("\"step\":\"\(step)\"") }
            salvaging.send(signal: SIGKILL)
            _ = try salvaging.wait()
            guard FileManager.default.fileExists(atPath: target) else { continue }
            #expect(try shop.run("--store \(target) verify --deep").exit == 0)
            try FileManager.default.removeItem(atPath: target)
        }
        try shop.must("salvage --into \(target)")
        let names = try FileManager.default.contentsOfDirectory(atPath: shop.directory.path)
        #expect(!names.contains { $0.hasPrefix("new.new-") })
    }

    @Test("that is interrupted ends with 9 and leaves nothing")
    func interrupted() throws {
        let shop = try shop()
        // A file with much to look through.
        let big = shop.path("big.mdb")
        _ = try shell(shop, "cat '\(shop.store)/log/data.mdb' > '\(big)'; truncate -s 3G '\(big)'").wait()
        let salvaging = try shell(
            shop,
            "exec '\(shop.program.path)' --store '\(big)' salvage --into '\(shop.path("new"))' --json --progress jsonl 2>\(shop.path("err")) >\(shop.path("out"))"
        )
        try waitUntil { try shop.text("err").contains("\"step\":\"scan\"") }
        salvaging.send(signal: SIGINT)
        #expect(try salvaging.wait().exit == 9)
        #expect(try shop.text("out").contains("interrupted"))
        #expect(!FileManager.default.fileExists(atPath: shop.path("new")))
    }
}
