import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Drills")
struct DrillCommandTests {
    private func failed(_ outcome: BuiltProgram.Outcome) throws -> String? {
        let steps = try #require(try member(outcome.line, "steps"))
        return steps.firstMatch(of: #/"name":"([^"]*)","ok":false/#).map { String($0.1) }
    }

    @Test("a drill shows a migration, its rollback and a restore on a copy, and leaves the store as it was")
    func passes() throws {
        let shop = try Shop.open()
        let before = try shop.must("export").lines
        let line = try shop.must("drill --to v3 --schemas SCHEMAS --json").line
        #expect(try keys(line) == ["passed", "steps", "laws", "notExercised", "report"])
        #expect(try member(line, "passed") == "true")
        let steps = try #require(try member(line, "steps"))
        #expect(steps.matches(of: #/"ok":true/#).count == 8 && !steps.contains("false"))
        #expect(try member(line, "laws")?.contains(#""law":"L6""#) == true)
        #expect(try shop.must("export").lines == before)
        let status = try shop.must("status --json").line
        #expect(try member(status, "live") == "1")
        #expect(try member(status, "lastDrill", "passed") == "true")
        #expect(try shop.must("journal --json").lines.map { try member($0, "what") }.last == "\"drill\"")
        let report = try #require(try FileManager.default.contentsOfDirectory(atPath: shop.path("store/drills")).first)
        #expect(report.hasSuffix("-v3.json"))
        #expect(try member(shop.text("store/drills/\(report)"), "appended").flatMap { Int($0) } ?? 0 > 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: shop.path("store/scratch")).isEmpty)
    }

    @Test("where the newest version is live, the copy goes back first, as a rollback would; with the program of the release before too")
    func newestIsLive() throws {
        let shop = try Shop.migrated()
        let shown = try shop.must("drill --with-binary \(shop.program.path)")
        #expect(shown.output.contains("roll back to v1, keeping them") && shown.output.contains("PASSED"))
        let other = try shop.run("drill --json --with-binary /bin/false")
        #expect(try failed(other) == "roll back to v1, keeping them")
        #expect(other.exit == 7)
        #expect(try member(shop.must("status --json").line, "lastDrill", "passed") == "false")
        try shop.must("finalize v3")
        let closed = try shop.must("drill --json").line
        #expect(try member(closed, "notExercised")?.contains("a migration and a rollback") == true)
    }

    @Test("a store without events, or of none that a newer version shows, passes, and the drill names what it could not try")
    func nothingToTry() throws {
        let empty = try Shop()
        try empty.must("init --schemas SCHEMAS --at v1")
        let line = try empty.must("drill --to v3 --schemas SCHEMAS --json").line
        #expect(try member(line, "notExercised")?.contains("events: the store has none") == true)
        #expect(try member(line, "notExercised")?.contains("events born at v3: none could be made of those of the store") == true)
        let steps = try #require(try member(line, "steps"))
        #expect(steps.matches(of: #/"ok":true/#).count == 8)
        // A backup from before the first event is one of the store, which is so far behind.
        try empty.must("backup \(empty.path("copies"))")
        try empty.must("drill --to v3 --schemas SCHEMAS --backup \(empty.path("copies"))")
        try empty.must("import - --as v1 --schemas SCHEMAS", input: Shop.orders)
        let shown = try empty.must("drill --to v3 --schemas SCHEMAS --backup \(empty.path("copies"))").output
        #expect(shown.contains("events of the backup: it was made before the store had any"), "\(shown)")
        #expect(shown.contains("4 events behind"), "\(shown)")
    }

    @Test("a backup that is missing, damaged or of other events fails the drill")
    func fails() throws {
        let shop = try Shop.migrated()
        try shop.must("backup \(shop.path("copies"))")
        try shop.must(#"append order-9 OrderPlaced {"id":"9","customer":"Di","cents":5,"currency":"EUR"}"#)
        let good = try shop.must("drill --backup \(shop.path("copies"))")
        #expect(good.output.contains("1 event behind"))
        for spoil in ["rm '\(shop.path("copies"))'/rows/*", "rm -r '\(shop.path("copies"))'"] {
            try BuiltProgram.shell(spoil)
            let outcome = try shop.run("drill --json --backup \(shop.path("copies"))")
            #expect(try failed(outcome) == "restore the backup, content equal")
            #expect(outcome.exit != 0 && outcome.errors.contains("restore the backup, content equal: "))
        }
        let missing = try shop.run("drill --json --backup \(shop.path("copies"))")
        #expect(missing.exit == 2 && missing.errors.contains("there is no backup at \(shop.path("copies"))"))
        try FileManager.default.createDirectory(atPath: shop.path("copies"), withIntermediateDirectories: false)
        let unfinished = try shop.run("drill --backup \(shop.path("copies"))")
        #expect(unfinished.exit == 7 && unfinished.output.contains("no backup was ever finished there"))
        let other = try Shop.migrated()
        try other.must(#"append order-8 OrderPlaced {"id":"8","customer":"Di","cents":5,"currency":"EUR"}"#)
        try other.must("backup \(other.path("copies"))")
        let foreign = try shop.run("drill --json --backup \(other.path("copies"))")
        #expect(try failed(foreign) == "restore the backup, content equal")
        #expect(foreign.errors.contains("holds the backups of another store") && !foreign.errors.contains("evstore verify"))
    }
}
