import EvstoreTesting
import Foundation
import TestSupport
import Testing

/// The runs of a directory of backups, by their numbers.
@Suite("Runs of a backup")
struct BackupRunTests {
    /// A store with a run at 4 events, one at 5 and one at 6.
    private func shop() throws -> (shop: Shop, copies: String) {
        let shop = try Shop.open()
        let copies = shop.path("copies")
        try shop.must("backup \(copies)")
        for id in ["2", "3"] {
            try shop.must(#"append order-\#(id) OrderPaid {"id":"\#(id)"}"#)
            try shop.must("backup \(copies)")
        }
        return (shop, copies)
    }

    @Test("are listed, oldest first, and each is restored as the store was then")
    func list() throws {
        let (shop, copies) = try shop()
        let lines = try shop.must("backup \(copies) --list --json").lines
        #expect(
            try lines.map { try keys($0) }
                == Array(repeating: ["number", "time", "position", "epoch", "content", "bytes", "verdict"], count: 3))
        #expect(try lines.map { try member($0, "number") } == ["1", "2", "3"])
        #expect(try lines.map { try member($0, "position") } == ["4", "5", "6"])
        #expect(try lines.allSatisfy { try member($0, "verdict") == "null" })
        #expect(try shop.must("backup \(copies) --list").lines.map { $0.prefix(5) } == ["run 1", "run 2", "run 3"])
        let all = try shop.must("export").lines
        for (index, line) in lines.enumerated() {
            let into = shop.path("again-\(index)")
            let restored = try shop.must("restore \(copies) --run \(index + 1) --into \(into) --json").line
            #expect(try member(restored, "content") == member(line, "content"))
            #expect(try shop.must("export --store \(into)").lines == Array(all.prefix(4 + index)))
        }
        let unknown = try shop.run("restore \(copies) --run 9 --into \(shop.path("never")) --json")
        #expect(unknown.exit == 2 && unknown.line.contains("there are 1, 2, 3"))
        for line in [
            "backup \(shop.store) --list", "backup \(shop.path("none")) --verify", "backup \(copies) --list --keep 1", "backup - --list",
        ] {
            #expect(try shop.run(line).exit == 2, "\(line)")
        }
    }

    @Test("what a first run left that was killed is no damage, and no run: another is made there")
    func killedFirst() throws {
        let shop = try Shop.open()
        let copies = shop.path("copies")
        for name in ["runs", "rows"] {
            try FileManager.default.createDirectory(atPath: "\(copies)/\(name)", withIntermediateDirectories: true)
        }
        try shop.write("copies/blocks/1.new", "half")
        let verified = try shop.must("backup \(copies) --verify")
        #expect(verified.output.isEmpty && verified.errors == "note: there is no run yet: evstore backup \(copies) makes one\n")
        for line in ["restore \(copies) --into \(shop.path("again"))", "--store \(shop.path("again")) follow --from \(copies) --once"] {
            let outcome = try shop.run(line)
            #expect(outcome.exit == 7 && outcome.errors.contains("make one there: evstore backup \(copies)\n"), "\(outcome.errors)")
        }
        try shop.must("backup \(copies)")
        #expect(try shop.must("backup \(copies) --verify").output.hasSuffix("ok\n"))
        #expect(!FileManager.default.fileExists(atPath: copies + "/blocks/1.new"))
    }

    @Test("are read again without the store: any changed or missing byte is found, and of which run")
    func verify() throws {
        let (shop, copies) = try shop()
        try FileManager.default.removeItem(atPath: shop.store)
        func verdicts(_ exit: Int32) throws -> [Bool] {
            let outcome = try shop.run("backup \(copies) --verify --json")
            #expect(outcome.exit == exit, "\(outcome.errors)")
            return try outcome.lines.map { try member($0, "verdict") == #""ok""# }
        }
        #expect(try verdicts(0) == [true, true, true])
        let files = try FileManager.default.subpathsOfDirectory(atPath: copies).filter { $0.hasSuffix(".evf") }.sorted()
        try #require(files.count == 6)
        for (index, file) in files.enumerated() {
            let url = URL(filePath: copies + "/" + file)
            let whole = try Data(contentsOf: url)
            var changed = whole
            changed[whole.count * 2 / 3] ^= 4
            // Three files of blocks, which runs from theirs on share, then three of rows, one a run.
            let expected = (0 ..< 3).map { index < 3 ? $0 < index : $0 != index - 3 }
            for damaged in [changed, whole.prefix(whole.count - 1), whole + [0], Data()] {
                try damaged.write(to: url)
                #expect(try verdicts(7) == expected, "\(file), \(damaged.count) of \(whole.count) bytes")
            }
            try FileManager.default.removeItem(at: url)
            #expect(try verdicts(7) == expected, "without \(file)")
            try whole.write(to: url)
        }
        #expect(try verdicts(0) == [true, true, true])
    }

    @Test("that follow one whose note of its last frame was changed do not build on that frame, and can be restored")
    func changedNotes() throws {
        let (shop, copies) = try shop()
        let notes = [(#/"frameLink":"[0-9a-f]{8}/#, #""frameLink":"00000000"#), (#/"frame":\d+/#, #""frame":77"#)]
        for (index, (noted, other)) in notes.enumerated() {
            let file = URL(filePath: copies + "/runs/000000000\(3 + index).json")
            var text = try String(contentsOf: file, encoding: .utf8)
            text.replaceSubrange(try #require(text.ranges(of: noted).last), with: other)
            // As an older program wrote it, without the checksum.
            text.replace(#/,"xxh3":"[^"]*"/#, with: "")
            try text.write(to: file, atomically: true, encoding: .utf8)
            #expect(try shop.run("backup \(copies) --verify").exit == 7)
            try shop.must("backup \(copies)")
            try shop.must("restore \(copies) --into \(shop.path("again-\(index)"))")
            #expect(try shop.must("export --store \(shop.path("again-\(index)"))").lines == shop.must("export").lines)
        }
    }

    @Test("any changed byte of a run's own file is found by --verify and --list")
    func changedBytes() throws {
        var random = SeededGenerator.announced()
        let (shop, copies) = try shop()
        let file = URL(filePath: copies + "/runs/0000000003.json")
        let whole = try Data(contentsOf: file)
        for _ in 0 ..< 25 {
            var changed = whole
            let index = Int.random(in: 0 ..< changed.count, using: &random)
            changed[index] ^= UInt8.random(in: 1 ... 255, using: &random)
            try changed.write(to: file)
            let listed = try shop.must("backup \(copies) --list --json").lines
            #expect(try shop.run("backup \(copies) --verify").exit == 7, "byte \(index)")
            #expect(try member(listed[2], "verdict") != "null", "byte \(index)")
        }
        try whole.write(to: file)
        #expect(try shop.run("backup \(copies) --verify").exit == 0)
    }

    @Test("a file that is missing is damage of the backup, for all who read it; a directory without a listed run is no sound one")
    func missing() throws {
        let (shop, copies) = try shop()
        for file in ["rows/0000000003.evf"] + (try blockFiles(copies).sorted().map { "blocks/" + $0 }) {
            try BuiltProgram.shell("mv '\(copies)/\(file)' '\(shop.path("kept"))'")
            for command in [
                "restore \(copies) --into \(shop.path("again"))", "follow --store \(shop.path("copy")) --from \(copies) --once",
            ] {
                let refused = try shop.run(command)
                #expect(refused.exit == 7 && refused.errors.contains(file), "\(command): \(refused.exit) \(refused.errors)")
            }
            try BuiltProgram.shell("mv '\(shop.path("kept"))' '\(copies)/\(file)'")
        }
        try BuiltProgram.shell("rm \(copies)/runs/*")
        #expect(try shop.run("backup \(copies) --verify").exit == 7)
    }

    @Test("one whose own file can't be read is named; the others are listed, verified and restored, and what it may need is not removed")
    func unreadable() throws {
        let (shop, copies) = try shop()
        let (files, all) = (try blockFiles(copies), try shop.must("export").lines)
        for (number, spoil) in [(2, "echo '{' >"), (3, "truncate -s 0"), (3, "rm")] {
            let (file, kept) = ("\(copies)/runs/000000000\(number).json", shop.path("kept.json"))
            try BuiltProgram.shell("cp '\(file)' '\(kept)' && \(spoil) '\(file)'" + (spoil == "rm" ? " && mkdir '\(file)'" : ""))
            let listed = try shop.must("backup \(copies) --list --json").lines
            #expect(try listed.map { try member($0, "number") } == ["1", "2", "3"])
            #expect(try listed.map { try member($0, "verdict") == "null" } == (1 ... 3).map { $0 != number }, "\(spoil)")
            #expect(try member(listed[number - 1], "position") == "null" && member(listed[0], "position") == "4")
            let verified = try shop.run("backup \(copies) --verify --json")
            #expect(verified.exit == 7)
            #expect(try verified.lines.map { try member($0, "verdict") == #""ok""# } == (1 ... 3).map { $0 != number }, "\(spoil)")
            try shop.must("restore \(copies) --run 1 --into \(shop.path("again"))")
            #expect(try shop.must("export --store \(shop.path("again"))").lines == Array(all.prefix(4)))
            try FileManager.default.removeItem(atPath: shop.path("again"))
            try BuiltProgram.shell("rm -r '\(file)' && mv '\(kept)' '\(file)'")
        }
        // The newest one.
        try BuiltProgram.shell("cp \(copies)/runs/0000000003.json '\(shop.path("kept.json"))' && echo x > \(copies)/runs/0000000003.json")
        let refused = try shop.run("restore \(copies) --into \(shop.path("again"))")
        #expect(refused.exit == 7 && refused.errors.contains("run 2 is the newest one that can be read"), "\(refused.errors)")
        try shop.must("backup \(copies) --keep 1")
        #expect(try blockFiles(copies).isSuperset(of: files), "the run that can't be read may name them")
        #expect(try shop.must("backup \(copies) --list --json").lines.map { try member($0, "number") } == ["3", "4"])
        try BuiltProgram.shell("mv '\(shop.path("kept.json"))' \(copies)/runs/0000000003.json")
        #expect(try shop.run("backup \(copies) --verify").exit == 0)
        try shop.must("restore \(copies) --run 3 --into \(shop.path("again"))")
        #expect(try shop.must("export --store \(shop.path("again"))").lines == all)
    }

    private func blockFiles(_ copies: String) throws -> Set<String> {
        Set(try FileManager.default.contentsOfDirectory(atPath: copies + "/blocks"))
    }
}
