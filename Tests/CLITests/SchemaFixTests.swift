import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Mends that schema check makes itself")
struct SchemaFixTests {
    @Test("typos are mended, all other bytes stay, and what is printed is what was done")
    func typos() throws {
        let library = try Library()
        try library.change("v2.yaml", "      - add: {", "      # why   not\n      - ad: {")
        try library.change("v2.yaml", "using: integer-text", "using: integer-txt")
        let text = try library.directory.text("v2.yaml")
        let rehearsal = try library.must("check", "--fix", "--dry-run")
        #expect(rehearsal.output.contains("nothing was written"))
        #expect(try library.directory.text("v2.yaml") == text)
        let outcome = try library.must("check", "--fix")
        #expect(outcome.output.contains("fixed      \(library.url("v2.yaml").path):12:9: error OPS306"), "\(outcome.output)")
        let mended = text.replacing("- ad: {", with: "- add: {").replacing("integer-txt", with: "integer-text")
        #expect(try library.directory.text("v2.yaml") == mended)
        #expect(try library.must("check", "--fix", "--json").line.contains(#""fixed":[]"#))
    }

    @Test("what takes a reason or a value is left to its author, and the exit code says so")
    func open() throws {
        let library = try Library()
        try library.change("v2.yaml", ", because: \"nobody reads it\"", "")
        try library.change("v2.yaml", "      - add: {path: /branch, value: 1}\n", "")
        let text = try library.directory.text("v2.yaml")
        let outcome = try library.run("check", "--fix")
        #expect(outcome.exit == 3 && !outcome.output.contains("fixed "), "\(outcome.output)")
        #expect(try library.directory.text("v2.yaml") == text)
    }

    @Test("a released version is never edited, even where an edit is printed")
    func released() throws {
        let library = try Library()
        try library.change("v1.yaml", "kind:   {type: string, enum", "kind:   {type: strin, enum")
        let text = try library.directory.text("v1.yaml")
        let outcome = try library.run("check", "--fix")
        #expect(outcome.exit == 3 && outcome.output.contains("error FILE"), "\(outcome.output)")
        #expect(try library.directory.text("v1.yaml") == text)
    }

    @Test("a read model gets another definition where its type has another name, and the one that is right stays")
    func definition() throws {
        let library = try Library()
        try library.change("v2.yaml", "  - drop-event", "  - rename-event: {from: BookReturned, to: BookBroughtBack}\n  - drop-event")
        try library.change("v2.yaml", "  BookReturned:", "  BookBroughtBack:")
        let old = try library.directory.text("projections.yaml")
        let outcome = try library.must("check", "--fix")
        #expect(outcome.output.contains("PROJ102"), "\(outcome.output)")
        let new = try library.directory.text("projections.yaml")
        #expect(new.hasPrefix(old.trimmingCharacters(in: .newlines)) && new.contains("- since: 2"))
        #expect(new.contains("BookBroughtBack") && !old.contains("BookBroughtBack"))
    }

    @Test("an empty directory, and one that is not there, get a version 1 that passes check, lint and fmt")
    func first() throws {
        let library = try Library()
        for name in ["none", "empty/deep"] {
            let directory = library.url(name).path
            if name == "none" { try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true) }
            let program = BuiltProgram()
            let made = try program.run(["schema", "new", "--schemas", directory])
            #expect(made.exit == 0 && made.output.contains("v1.yaml"), "\(made.errors)")
            for command in [["check"], ["lint"], ["fmt", "--check"]] {
                let outcome = try program.run(["schema"] + command + ["--schemas", directory])
                #expect(outcome.exit == 0, "\(outcome.output)")
            }
            #expect(try library.directory.text("\(name)/v1.yaml").contains("# An event is a fact"))
        }
        let empty = try BuiltProgram().run(["schema", "check", "--schemas", library.url("fixtures").path])
        #expect(empty.exit == 3 && empty.output.contains("-> evstore schema new --schemas "), "\(empty.output)")
    }

    @Test("a type that a version lacks is shown where it is, under the name that it has there")
    func absent() throws {
        let library = try Library()
        try library.change("v2.yaml", "  - drop-event", "  - rename-event: {from: BookReturned, to: BookBack}\n  - drop-event")
        try library.change("v2.yaml", "  BookReturned:", "  BookBack:")
        try FileManager.default.removeItem(at: library.url("projections.yaml"))
        for (asked, words) in [
            ("BookReturned@v2", "BookReturned exists at v1 and at v2 is BookBack: evstore schema show BookBack@v2"),
            ("BookBack@v1", "BookBack exists at v2 and at v1 is BookReturned: evstore schema show BookReturned@v1"),
            ("ShelfMoved@v2", "ShelfMoved exists at v1 and has no image at v2: evstore schema show ShelfMoved@v1"),
            ("BookLend@v2", "did you mean BookLent?"),
        ] {
            let outcome = try library.run("show", asked)
            #expect(outcome.exit == 3 && outcome.errors.contains("-> \(words)"), "\(outcome.errors)")
        }
    }

    @Test("^C and SIGTERM end a check that computes, at once and with what to run again", arguments: [SIGINT, SIGTERM])
    func interrupted(_ signal: Int32) throws {
        // One that is over before the signal comes, or has not begun, tells nothing: on a busy machine.
        for _ in 0 ..< 20 {
            let outcome = try outcome(ofChecking: 4_000, interruptedBy: signal)
            if outcome.exit == 0 || outcome.signal == signal { continue }
            #expect(outcome.exit == 9 && outcome.line.contains("run it again: evstore schema check"), "\(outcome.exit) \(outcome.output)")
            return
        }
        Issue.record("each of twenty checks was over before its signal, or knew none")
    }

    private func outcome(ofChecking types: Int, interruptedBy signal: Int32) throws -> BuiltProgram.Outcome {
        let library = try Library()
        for version in 1 ... 3 {
            let step =
                version == 1
                ? "" : "upcast:\n" + (0 ..< types).map { "  - {on: T\($0), do: [{add: {path: /m\(version), value: 1}}]}\n" }.joined()
            let members = (1 ... version).map { "m\($0): {type: integer}" }.joined(separator: ", ")
            let required = (1 ... version).map { "m\($0)" }.joined(separator: ", ")
            try library.write(
                "large/v\(version).yaml",
                "evstore: 1\nversion: \(version)\n\(step)events:\n"
                    + (0 ..< types).map { "  T\($0): {required: [\(required)], properties: {\(members)}}\n" }.joined())
        }
        let directory = library.url("large").path
        let checking = try BuiltProgram(path: "/bin/sh").start([
            "-c", "echo $$ >'\(directory)/begun'; exec '\(BuiltProgram().path)' schema check --schemas '\(directory)' --json",
        ])
        // Signals are the program's own business once it catches them (proc_pid_status(5)).
        try waitUntil {
            guard FileManager.default.fileExists(atPath: directory + "/begun"),
                let pid = Int(try String(contentsOfFile: directory + "/begun", encoding: .utf8).trimmingCharacters(in: .newlines))
            else { return false }
            let status = try String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8)
            let mask = status.firstMatch(of: #/SigCgt:\t([0-9a-f]+)/#).flatMap { UInt64($0.1, radix: 16) } ?? 0
            return mask & 1 << UInt64(signal - 1) != 0
        }
        checking.send(signal: signal)
        return try checking.wait()
    }
}
