import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Backups")
struct BackupCommandTests {
    /// The shop's store, with some appends after the migration.
    private func shop() throws -> Shop {
        let shop = try Shop.migrated()
        for number in 10 ..< 14 {
            try shop.must(#"append order-\#(number) OrderPlaced {"id":"\#(number)","customer":"Di","cents":5,"currency":"EUR"}"#)
        }
        return shop
    }

    @Test("runs into a directory share what they have, and the newest is restored as the store was: events, versions, read models")
    func directory() throws {
        let shop = try shop()
        let first = try shop.must("backup \(shop.path("copies")) --json").line
        #expect(try keys(first) == ["position", "content", "bytes", "seconds"])
        try shop.must("append order-10 OrderPaid {\"id\":\"10\"}")
        let second = try shop.must("backup \(shop.path("copies")) --json").line
        #expect(try [member(first, "position"), member(second, "position")] == ["8", "9"])
        #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("copies/blocks")).count == 2)
        let restored = try shop.must("restore \(shop.path("copies")) --into \(shop.path("again")) --json").line
        #expect(try keys(restored) == ["position", "content", "bytes", "seconds", "leftOut"])
        #expect(try member(restored, "leftOut") == "null")
        #expect(try member(restored, "content") == member(second, "content"))
        let again = "--store \(shop.path("again"))"
        for command in ["export", "query orders", "query orders --at v1", "snapshot list"] {
            #expect(try shop.must("\(command) \(again)").lines.map(withoutEpoch) == shop.must(command).lines)
        }
        try shop.must("status --expect v3 \(again)")
        #expect(try shop.must("verify --deep \(again)").exit == 0)
        #expect(try shop.must("journal --json \(again)").lines.contains { $0.contains(#""what":"restore""#) })
        #expect(try shop.must("rollback \(again)").exit == 0)
    }

    private func withoutEpoch(_ line: String) -> String { line.replacing(#/,"epoch":\d+/#, with: "") }

    @Test("goes through a pipe, and to any position or time")
    func pipe() throws {
        let shop = try shop()
        let shell = BuiltProgram(path: "/bin/sh", environment: ["EVSTORE_STORE": shop.store])
        let evstore = shop.program.path
        let piped = try shell.run(["-c", "'\(evstore)' backup - | '\(evstore)' restore - --into '\(shop.path("piped"))'"])
        #expect(piped.exit == 0, "\(piped.errors)")
        #expect(try shop.must("export --store \(shop.path("piped"))").lines == shop.must("export").lines)
        let filed = try shell.run(["-c", "'\(evstore)' backup - --json > '\(shop.path("file.evf"))'"])
        #expect(try member(filed.errors, "position") == "8")
        try shop.must("restore \(shop.path("file.evf")) --into \(shop.path("early")) --to 6")
        #expect(try shop.must("export --store \(shop.path("early"))").lines == Array(shop.must("export").lines.prefix(6)))
        try shop.must("restore \(shop.path("file.evf")) --into \(shop.path("late")) --to 2999-01-01T00:00:00Z")
        #expect(try member(shop.must("status --json --store \(shop.path("late"))").line, "position") == "8")
        for (to, exit) in [("99", 2), ("2001-01-01T00:00:00Z", 2), ("yesterday", 2)] {
            #expect(try shop.run("restore \(shop.path("file.evf")) --into \(shop.path("never")) --to \(to)").exit == exit)
        }
        #expect(!FileManager.default.fileExists(atPath: shop.path("never")))
    }

    @Test("a position within an append says what was left out and how to have it; within the first there is nothing to restore")
    func withinAnAppend() throws {
        let shop = try Shop.migrated()
        try shop.must("backup \(shop.path("copies"))")
        // The import of four events was one append.
        let first = try shop.run("restore \(shop.path("copies")) --into \(shop.path("none")) --to 3 --json")
        #expect(try member(first.line, "error", "code") == #""notInBackup""# && first.line.contains("positions 1 to 4"))
        #expect(!FileManager.default.fileExists(atPath: shop.path("none")))
        let more = (5 ... 7).map { Shop.order("\($0)", total: 1) }.joined()
        try shop.must("import - --as v1 --schemas SCHEMAS", input: more)
        try shop.must("backup \(shop.path("copies"))")
        let parted = try shop.must("restore \(shop.path("copies")) --into \(shop.path("parted")) --to 6 --json")
        #expect(try member(parted.line, "position") == "4")
        #expect(try member(parted.line, "leftOut") == #"{"from":5,"to":7}"#)
        #expect(parted.errors.contains("position 6 lies within one append, 5 to 7") && parted.errors.contains("--to 7"))
        let whole = try shop.must("restore \(shop.path("copies")) --into \(shop.path("whole")) --to 7")
        #expect(whole.errors.isEmpty)
    }

    @Test("after a cut the next run holds the log as it is, and older runs of the same history are forgotten")
    func cuts() throws {
        let shop = try shop()
        try shop.must("snapshot take here")
        try shop.must("append order-10 OrderPaid {\"id\":\"10\"}")
        try shop.must("backup \(shop.path("copies"))")
        try shop.must("rollback --to-snapshot here --discard-tail")
        try shop.must("append order-11 OrderPaid {\"id\":\"11\"}")
        try shop.must("backup \(shop.path("copies"))")
        try shop.must("append order-12 OrderPaid {\"id\":\"12\"}")
        try shop.must("backup \(shop.path("copies")) --keep 1")
        // The run that holds what the cut took off is the only one that does.
        #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("copies/runs")).count == 2)
        try shop.must("restore \(shop.path("copies")) --into \(shop.path("again"))")
        #expect(try shop.must("export --store \(shop.path("again"))").lines == shop.must("export").lines)
        #expect(try shop.must("verify --deep --store \(shop.path("again"))").exit == 0)
    }

    @Test("a run that finds an older one's blocks missing or cut off writes them again")
    func missingBlocks() throws {
        let shop = try shop()
        let copies = shop.path("copies")
        try shop.must("backup \(copies)")
        for spoil in ["rm \(copies)/blocks/*", "truncate -s 100 \(copies)/blocks/*"] {
            try BuiltProgram.shell(spoil)
            #expect(try shop.run("restore \(copies) --into \(shop.path("again"))").exit != 0)
            try shop.must("backup \(copies)")
            try shop.must("restore \(copies) --into \(shop.path("again"))")
            try FileManager.default.removeItem(atPath: shop.path("again"))
        }
    }

    @Test("a directory of other things is left alone")
    func otherThings() throws {
        let shop = try shop()
        try shop.write("mine/blocks/thesis.txt", "mine")
        #expect(try shop.run("backup \(shop.path("mine"))").exit == 2)
        #expect(try shop.run("backup \(shop.store)").exit == 2)
        try shop.must("backup \(shop.path("copies"))")
        try shop.write("copies/blocks/thesis.txt", "mine")
        try shop.must("backup \(shop.path("copies")) --keep 1")
        #expect(try shop.text("copies/blocks/thesis.txt") == "mine")
    }

    @Test("what is made of a store does not lie in its own directory, whatever link leads there")
    func places() throws {
        let shop = try shop()
        try FileManager.default.createSymbolicLink(atPath: shop.path("link"), withDestinationPath: shop.store)
        for place in [shop.store, shop.path("link")] {
            for line in ["backup \(place)/new", "salvage --into \(place)/new", "recipher --plain --into \(place)/new"] {
                let outcome = try shop.run(line)
                #expect(outcome.exit == 2 && outcome.errors.contains("lies in the directory of the store"), "\(line): \(outcome.errors)")
            }
        }
        #expect(!FileManager.default.fileExists(atPath: shop.store + "/new"))
    }

    @Test("what can't be restored is refused and says why; what is there is never overwritten")
    func refused() throws {
        let shop = try shop()
        try shop.must("backup \(shop.path("copies"))")
        func refusal(_ line: String) throws -> String {
            let outcome = try shop.run(line + " --json")
            return "\(outcome.exit) \(try member(outcome.line, "error", "code") ?? "")"
        }
        #expect(try refusal("restore \(shop.path("copies")) --into \(shop.store)") == #"2 "storeExists""#)
        #expect(try refusal("restore \(shop.path("nothing")) --into \(shop.path("again"))") == #"2 "usage""#)
        #expect(try refusal("restore \(shop.path("orders.jsonl")) --into \(shop.path("again"))") == #"7 "backupDamaged""#)
        let other = try Shop.open()
        #expect(try member(other.run("backup \(shop.path("copies")) --json").line, "error", "code") == #""otherBackup""#)
        let blocks = try #require(try FileManager.default.contentsOfDirectory(atPath: shop.path("copies/blocks")).first)
        var bytes = try Data(contentsOf: shop.directory.url("copies/blocks/\(blocks)"))
        bytes[bytes.count / 2] ^= 1
        try bytes.write(to: shop.directory.url("copies/blocks/\(blocks)"))
        #expect(try refusal("restore \(shop.path("copies")) --into \(shop.path("again"))") == #"7 "backupDamaged""#)
        #expect(!FileManager.default.fileExists(atPath: shop.path("again")))
        #expect(try shop.run("backup \(shop.path("copies")) --keep 0").exit == 2)
    }
}
