import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("What schema check --fix leaves alone")
struct FixKeepsTests {
    @Test(
        "of files one of which is lost or damaged, --fix takes no line out, renames and removes none, and leaves no error more",
        arguments: (1 ... 24).map(UInt64.init))
    func damaged(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let library = try Library(
            domain: try #require(["cycles", "packages", "reminders", "saves", "settings"].randomElement(using: &random)), before: 1)
        let what = try Self.damage(library, &random)
        let before = try Self.files(library)
        let errors = try Self.errors(library.run("check"))
        let outcome = try library.run("check", "--fix")
        #expect(outcome.signal == nil && Self.errors(outcome) <= errors, "seed \(seed): \(what)\n\(outcome.output)")
        let after = try Self.files(library)
        for (name, text) in before {
            let new = try #require(after[name], "seed \(seed): \(what): \(name) is gone\n\(outcome.output)")
            if new == text { continue }
            #expect(after[name + ".bak"] == text, "seed \(seed): \(what): \(name) has no copy\n\(outcome.output)")
            // A line may be mended in place, and lines may come; none goes.
            let (old, lines) = (text.components(separatedBy: "\n"), new.components(separatedBy: "\n"))
            let changes = lines.difference(from: old)
            #expect(changes.removals.count <= changes.insertions.count, "seed \(seed): \(what): \(name)\n\(outcome.output)")
            #expect(changes.removals.count <= Self.fixes(outcome), "seed \(seed): \(what): \(name)\n\(outcome.output)")
        }
        #expect(Set(after.keys).subtracting(before.keys).allSatisfy { $0.hasSuffix(".bak") }, "seed \(seed): \(what)\n\(outcome.output)")
    }

    @Test("a kill at any moment leaves each file as it was or as it was mended, and what it was beside it")
    func killed() throws {
        for round in 0 ..< 12 {
            let library = try Library()
            try library.change("v2.yaml", "      - add: {", "      - ad: {")
            let old = try library.directory.text("v2.yaml")
            let new = old.replacing("- ad: {", with: "- add: {")
            let fixing = try BuiltProgram().start(["schema", "check", "--fix", "--schemas", library.directory.path])
            usleep(UInt32(round) * 15_000)
            fixing.send(signal: SIGKILL)
            _ = try fixing.wait()
            let files = try Self.files(library)
            #expect(files["v2.yaml"] == old || files["v2.yaml"] == new && files["v2.yaml.bak"] == old, "round \(round)")
            try library.must("check", "--fix")
            #expect(try library.directory.text("v2.yaml") == new)
        }
    }

    @Test(
        "where nothing can be written, no file is made, changed or left half",
        arguments: ["new", "check --fix", "fmt", "lock", "fixtures record"])
    func noRoom(_ command: String) throws {
        let library = try Library()
        try library.shell("rm -rf fixtures")
        if command == "check --fix" { try library.change("v2.yaml", "      - add: {", "      - ad: {") }
        if command == "fmt" { try library.change("v2.yaml", "version: 2", "version:  2") }
        let before = try Self.files(library)
        // A program that may write no byte to a file gets an error for each.
        let words = "schema \(command) --schemas '\(library.directory.path)'"
        let outcome = try BuiltProgram(path: "/bin/sh").run(["-c", "trap '' XFSZ; ulimit -f 0; exec '\(BuiltProgram().path)' \(words)"])
        #expect(outcome.exit == 1, "\(outcome)")
        #expect(try Self.files(library) == before)
    }

    /// Loses a file, or a run of its bytes, or changes a word in it.
    private static func damage(_ library: Library, _ random: inout SeededGenerator) throws -> String {
        let names = try files(library).keys.filter { !$0.contains("/") && $0.hasSuffix("ml") }.sorted()
        let name = try #require(names.randomElement(using: &random))
        var bytes = Array(try library.directory.text(name).utf8)
        let place = Int.random(in: bytes.indices, using: &random)
        let end = min(bytes.count, place + Int.random(in: 1 ... 200, using: &random))
        switch random.next() % 5 {
        case 0, 1:
            try FileManager.default.removeItem(at: library.url(name))
            return "\(name) is lost"
        case 2: bytes.removeSubrange(place ..< end)
        case 3: bytes.removeSubrange(place...)
        default: bytes[place] = UInt8.random(in: 97 ... 122, using: &random)
        }
        try Data(bytes).write(to: library.url(name))
        return "\(name) from byte \(place)"
    }

    /// The texts of all files, by their names below the directory.
    private static func files(_ library: Library) throws -> [String: String] {
        var found: [String: String] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: library.directory.path) {
            let url = library.url(name)
            if !url.hasDirectoryPath, let data = FileManager.default.contents(atPath: url.path) {
                found[name] = String(decoding: data, as: UTF8.self)
            }
        }
        return found
    }

    private static func errors(_ outcome: BuiltProgram.Outcome) -> Int { outcome.output.matches(of: #/(?m)^[^ \n]+: error /#).count }

    private static func fixes(_ outcome: BuiltProgram.Outcome) -> Int { outcome.output.matches(of: #/(?m)^fixed /#).count }
}
