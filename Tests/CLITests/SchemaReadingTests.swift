import Bytes
import EvstoreTesting
import Foundation
import JSONText
import TestSupport
import Testing

@Suite("Explaining, comparing and laying out version files")
struct SchemaReadingTests {
    private static let domains = Checkout.url("Schemas")

    @Test("an explanation goes member by member, up by default and down where the versions say so")
    func explain() throws {
        let library = try Library()
        let up = try library.must("explain", "BookLent", "--from", "v1", "--to", "v2").output
        #expect(
            up == """
                BookLent, from v1 to v2

                BookLent, in stream book-{/id}
                  /id             string, unchanged
                  /title          string, unchanged
                  /kind           string
                      v2  becomes a string: hc is hardcover, pb is paperback, anything else is refused
                  /days           string -> integer
                      v2  becomes an integer: a text <-> its value
                  /reader         string, unchanged
                  /note -> gone   optional string
                      v2  is removed: nobody reads it
                  new -> /branch  integer
                      v2  is added: 1

                """)
        let down = try library.must("explain", "BookLost", "--from", "v2", "--to", "v1").output
        #expect(down.contains("no event\n  v2  it is hidden: version 1 has no losses"), "\(down)")
        #expect(try library.must("explain", "ShelfMoved").output.contains("it is dropped: shelves are on a plan"))
    }

    @Test("an explanation for programs has every outcome with its members")
    func explainJSON() throws {
        let line = try Library().must("explain", "BookLent", "--json").line
        #expect(try keys(line) == ["type", "from", "to", "opByOp", "outcomes"])
        #expect(try member(line, "from") == "1" && member(line, "to") == "2")
        #expect(line.contains(#""from":"/note","to":null,"was":"optional string","is":null"#), "\(line)")
    }

    @Test("old data is explained from v0, and there is no way back to it")
    func old() throws {
        let outcome = try BuiltProgram().run(
            "schema", "explain", "$unknown", "--from", "v0", "--to", "v1", "--schemas", Self.domains.path + "/saves")
        #expect(outcome.exit == 0, "\(outcome.errors)")
        #expect(outcome.output.contains("it is adopted as GameSaved, where /player is there"), "\(outcome.output)")
        #expect(outcome.output.contains("it is quarantined, where no case takes it"))
        let back = try BuiltProgram().run(
            "schema", "explain", "GameSaved", "--from", "v1", "--to", "v0", "--schemas", Self.domains.path + "/saves")
        #expect(back.exit == 2)
    }

    @Test("a type or a version that is not there is refused with those that are")
    func unknown() throws {
        let library = try Library()
        let type = try library.run("explain", "BookLend")
        #expect(type.exit == 3 && type.errors.contains("BookLent"), "\(type.errors)")
        let version = try library.run("diff", "v1", "v7")
        #expect(version.exit == 2 && version.errors.contains("v2 (1.1.0)"), "\(version.errors)")
    }

    @Test("without a type, every version is shown with its types")
    func list() throws {
        let library = try Library()
        #expect(
            try library.must("show").output == """
                v1 (1.0.0), released 2026-01-10: Books are lent and brought back.
                  BookLent
                  BookReturned
                  ShelfMoved
                v2 (1.1.0), not released: Words are whole, days are numbers, losses are told.
                  BookLent
                  BookReturned
                  BookLost

                """)
        let first = try #require(try JSONValue(parsing: Array(library.must("show", "--json").line.utf8).lent)["versions"])
        #expect(
            first.text.hasPrefix(
                #"[{"version":1,"labels":["1.0.0"],"released":"2026-01-10","description":"Books are lent and brought back.","types":["BookLent""#
            ))
    }

    @Test("a difference names the types that came, went and changed, and how")
    func diff() throws {
        let library = try Library()
        let outcome = try library.must("diff", "v1", "v2")
        #expect(outcome.lines.first == "v1 -> v2")
        for line in ["+ BookLost", "- ShelfMoved", "~ BookLent", "= BookReturned"] {
            #expect(outcome.lines.contains(line), "\(outcome.output)")
        }
        let json = try library.must("diff", "1.0.0", "1.1.0", "--json").line
        #expect(try keys(json) == ["from", "to", "added", "removed", "changed", "unchanged"])
        #expect(try member(json, "added") == #"["BookLost"]"# && member(json, "removed") == #"["ShelfMoved"]"#)
        #expect(json.contains(#"{"pointer":"/note","kind":"gone""#), "\(json)")
    }

    @Test(
        "every worked example is in its layout, hints for editors and all",
        arguments: ["cycles", "packages", "reminders", "saves", "settings", "tickets", "vault"])
    func layouts(name: String) throws {
        let outcome = try BuiltProgram().run("schema", "fmt", "--check", "--schemas", Self.domains.path + "/" + name)
        #expect(outcome.exit == 0, "\(outcome.output)")
        let text = try String(contentsOf: Self.domains.appending(path: "\(name)/v1.yaml"), encoding: .utf8)
        #expect(text.hasPrefix("# yaml-language-server: $schema=../evstore/version.json\n"))
    }

    @Test("a file out of its layout is a finding where it first differs; laid out, it has the same digest")
    func format() throws {
        let library = try Library()
        try library.change("v1.yaml", "      id:     {type: string}", "      id: { type: \"string\" }  # a number")
        let checked = try library.run("fmt", "--check")
        #expect(checked.exit == 3)
        #expect(checked.output.contains(#/v1\.yaml:12:1: error STYLE400: the file is not in its layout/#), "\(checked.output)")
        try library.must("fmt")
        try library.must("fmt", "--check")
        #expect(try library.directory.text("v1.yaml").contains(#"id:     {type: "string"}  # a number"#))
        #expect(try library.verdict().exits == [0, 0], "the lock holds")
    }

    @Test("a file becomes JSON and YAML again, and comments are given up only where that is said")
    func forms() throws {
        let library = try Library()
        try library.must("fmt", "--to", "json")
        #expect(FileManager.default.fileExists(atPath: library.url("v1.json").path))
        #expect(!FileManager.default.fileExists(atPath: library.url("v1.yaml").path))
        #expect(try library.verdict().exits == [0, 0])
        try library.must("fmt", "--to", "yaml")
        try library.change("v2.yaml", "evstore: 1\n", "# the second\nevstore: 1\n")
        let refused = try library.run("fmt", "--to", "json")
        #expect(refused.exit == 3 && refused.output.contains("--drop-comments"), "\(refused.output)")
        try library.must("fmt", "--to", "json", "--drop-comments")
        #expect(try library.verdict().exits == [0, 0])
    }
}
