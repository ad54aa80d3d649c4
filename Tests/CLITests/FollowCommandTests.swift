import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("A warm standby")
struct FollowCommandTests {
    /// The shop's store, with a backup of it.
    private func shop() throws -> (shop: Shop, copies: String, standby: String) {
        let shop = try Shop.migrated()
        try shop.must("backup \(shop.path("copies"))")
        return (shop, shop.path("copies"), shop.path("standby"))
    }

    @Test("is made once, then takes in what newer backups have: events, versions, read models of its own")
    func follows() throws {
        let (shop, copies, standby) = try shop()
        let follow = "--store \(standby) follow --from \(copies) --once --json"
        let made = try shop.must(follow).line
        #expect(try keys(made) == ["made", "new", "position", "epoch", "events", "backupTime", "bytes", "seconds"])
        #expect(try [member(made, "made"), member(made, "position"), member(made, "events")] == ["true", "4", "4"])
        #expect(try member(shop.must(follow).line, "new") == "false")
        try shop.must("query orders --store \(standby)")
        try shop.must(#"append order-10 OrderPlaced {"id":"10","customer":"Di","cents":5,"currency":"EUR"}"#)
        try shop.must("rollback")
        try shop.must("backup \(copies) --keep 1")
        let taken = try shop.must(follow).line
        #expect(
            try [member(taken, "made"), member(taken, "new"), member(taken, "events"), member(taken, "epoch")] == [
                "false", "true", "1", "1",
            ])
        for command in ["export", "query orders", "query orders --at v3", "snapshot list", "journal"] {
            #expect(try shop.must("\(command) --store \(standby)").lines == shop.must(command).lines, "\(command)")
        }
        try shop.must("status --expect v1 --store \(standby)")
        try shop.must("verify --deep --store \(standby)")
    }

    @Test("refuses what would change it, by name, and what it does on its own is not in the journal")
    func refuses() throws {
        let (shop, copies, standby) = try shop()
        try shop.must("--store \(standby) follow --from \(copies) --once")
        let journal = try shop.must("journal").lines
        for line in [
            #"append order-10 OrderPlaced {"id":"10","customer":"Di","cents":5,"currency":"EUR"}"#, "rollback", "finalize v3",
            "snapshot take s",
            "replay --to v3", "consume mailer --once -- true", "rollback --to-snapshot before-v3 --discard-tail", "snapshot prune --keep 0",
        ] {
            let outcome = try shop.run("--store \(standby) --json \(line)")
            #expect(try outcome.exit == 1 && member(outcome.line, "error", "code") == #""replica""#, "\(line): \(outcome.output)")
        }
        let imported = try shop.run("import - --as v3 --store \(standby)", input: Shop.order("9", total: 1))
        #expect(
            imported.exit == 1 && imported.errors.contains("is a replica of backups in \(copies)") && imported.errors.contains("promote"))
        try shop.must("drill --store \(standby)")
        #expect(try shop.must("journal --store \(standby)").lines == journal)
        try shop.must("verify --deep --store \(standby)")
    }

    @Test("plans say that a replay and a rollback of it are refused, and its status advises neither")
    func plans() throws {
        let (shop, copies, standby) = try shop()
        try shop.must("--store \(standby) follow --from \(copies) --once")
        for line in ["rollback --plan", "plan --to v1", "plan --to v3"] {
            let outcome = try shop.run("\(line) --store \(standby) --json")
            #expect(try outcome.exit == 1 && member(outcome.line, "refused")?.contains(#""replica""#) == true, "\(line): \(outcome.output)")
        }
        let status = try shop.must("status --store \(standby)").output
        #expect(!status.contains("evstore rollback") && !status.contains("evstore finalize") && !status.contains("evstore replay"))
    }

    @Test("is promoted once, says how old it is, appends then, and follows no more")
    func promotes() throws {
        let (shop, copies, standby) = try shop()
        try shop.must("--store \(standby) follow --from \(copies) --once")
        let promoted = try shop.must("promote --store \(standby) --json").line
        #expect(try keys(promoted) == ["position", "epoch", "backupTime", "ageSeconds"])
        try shop.must(#"append order-10 OrderPlaced {"id":"10","customer":"Di","cents":5,"currency":"EUR"} --store \#(standby)"#)
        #expect(try shop.must("journal --json --store \(standby)").lines.contains { $0.contains(#""what":"promote""#) })
        for line in ["promote", "follow --from \(copies) --once"] { #expect(try shop.run("\(line) --store \(standby)").exit == 2) }
        #expect(try shop.run("promote").exit == 2)
        try shop.must("verify --deep --store \(standby)")
    }

    @Test("comes through a pipe, and from a file, with no more of it than is new")
    func pipe() throws {
        let (shop, _, standby) = try shop()
        let shell = BuiltProgram(path: "/bin/sh", environment: ["EVSTORE_STORE": shop.store])
        let line = "'\(shop.program.path)' backup - | '\(shop.program.path)' --store '\(standby)' follow --from - --json"
        #expect(try member(shell.must(["-c", line]).line, "made") == "true")
        try shop.must(#"append order-10 OrderPlaced {"id":"10","customer":"Di","cents":5,"currency":"EUR"}"#)
        #expect(try member(shell.must(["-c", line]).line, "events") == "1")
        _ = try shell.must(["-c", "'\(shop.program.path)' backup - > '\(shop.path("file.evf"))'"])
        #expect(try member(shop.must("--store \(standby) follow --from \(shop.path("file.evf")) --json").line, "events") == "0")
        #expect(try shop.must("export --store \(standby)").lines == shop.must("export").lines)
        #expect(try shop.run("append order-10 OrderPaid {\"id\":\"10\"} --store \(standby)").errors.contains("that come through a pipe"))
    }

    @Test("looks again where the directory of backups is not there yet, is empty, or goes away; one of other things ends it with 2")
    func away() throws {
        let shop = try Shop.migrated()
        let (copies, standby) = (shop.path("copies"), shop.path("standby"))
        #expect(try shop.run("--store \(standby) follow --from \(copies) --once").exit == 2)
        let following = try BuiltProgram(path: "/bin/sh").start([
            "-c",
            "exec '\(shop.program.path)' --store '\(standby)' follow --from '\(copies)' --every 50ms >\(shop.path("out")) 2>\(shop.path("err"))",
        ])
        func notes() throws -> Int { try shop.text("err").components(separatedBy: "is no directory of backups").count - 1 }
        try waitUntil { try notes() == 1 }
        try FileManager.default.createDirectory(atPath: copies, withIntermediateDirectories: false)
        try shop.must("backup \(copies)")
        try waitUntil { try shop.text("out").contains("position 4") }
        try FileManager.default.moveItem(atPath: copies, toPath: copies + ".away")
        try waitUntil { try notes() == 2 }
        try FileManager.default.moveItem(atPath: copies + ".away", toPath: copies)
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        try shop.must("backup \(copies)")
        try waitUntil { try shop.text("out").contains("up to position 5, 1 event taken in") }
        following.send(signal: SIGTERM)
        #expect(try following.wait().exit == 0)
        try shop.write("other/file", "x")
        #expect(try shop.run("--store \(standby) follow --from \(shop.path("other"))").exit == 2)
    }

    @Test("waits for the first backup, takes in each later one, says nothing meanwhile, and ends with 0", arguments: [SIGINT, SIGTERM])
    func keepsLooking(_ signal: Int32) throws {
        let shop = try Shop.migrated()
        let (copies, standby) = (shop.path("copies"), shop.path("standby"))
        for name in ["copies", "copies/runs"] {
            try FileManager.default.createDirectory(atPath: shop.path(name), withIntermediateDirectories: true)
        }
        let shell = BuiltProgram(path: "/bin/sh")
        let following = try shell.start([
            "-c",
            "exec '\(shop.program.path)' --store '\(standby)' follow --from '\(copies)' --every 50ms >\(shop.path("out")) 2>\(shop.path("err"))",
        ])
        try waitUntil { try shop.text("err").contains("no backup was ever finished there") }
        try shop.must("backup \(copies)")
        try waitUntil { try shop.text("out").contains("position 4") }
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        try shop.must("backup \(copies)")
        try waitUntil { try shop.text("out").contains("up to position 5, 1 event taken in") }
        following.send(signal: signal)
        #expect(try following.wait().exit == 0)
        #expect(try shop.text("out").split(separator: "\n").count == 2 && shop.text("err").split(separator: "\n").count == 1)
    }

    @Test("of a log that was cut below its end stops with 3 and says to make it anew; of another store, or sealed, with 2")
    func otherwise() throws {
        let (shop, copies, standby) = try shop()
        try shop.must("snapshot take here")
        try shop.must(#"append order-3 OrderPaid {"id":"3"}"#)
        try shop.must("backup \(copies)")
        try shop.must("--store \(standby) follow --from \(copies) --once")
        try shop.must("rollback --to-snapshot here --discard-tail")
        try shop.must("backup \(copies)")
        let cut = try shop.run("--store \(standby) follow --from \(copies)")
        #expect(cut.exit == 3 && cut.errors.contains("make the replica anew"))
        #expect(try shop.run("--store \(shop.store) follow --from \(copies) --once").exit == 2)
        #expect(try shop.run("--store \(standby) follow --from \(shop.path("none")) --once").exit == 2)
        let other = try Shop.migrated()
        try other.must("backup \(other.path("copies"))")
        #expect(try shop.run("--store \(standby) follow --from \(other.path("copies"))").exit == 2)
        let sealed = try SealedShop().open()
        try sealed.must("backup \(shop.path("sealed"))")
        let refused = try shop.run("--store \(shop.path("never")) follow --from \(shop.path("sealed"))")
        #expect(refused.exit == 2 && refused.errors.contains("restore the backup instead"))
        #expect(!FileManager.default.fileExists(atPath: shop.path("never")))
    }
}
