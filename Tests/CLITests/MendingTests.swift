import Bytes
import EvstoreTesting
import Foundation
import JSONText
import TestSupport
import Testing

/// A version file that was right until one thing was changed, and the finding that must say so.
struct BrokenVariant: CustomTestStringConvertible, Sendable {
    let what: String
    /// What the library's files have instead of what they had; a whole new file where the old text is empty.
    let changes: [(file: String, old: String, new: String)]
    /// `file:line:column: severity id`, as it is printed.
    let finding: String

    init(_ what: String, _ old: String, _ new: String, _ finding: String, also: (file: String, old: String, new: String)...) {
        (self.what, changes, self.finding) = (what, [("v2.yaml", old, new)] + also, finding)
    }

    init(
        _ what: String, in file: String, _ old: String, _ new: String, _ finding: String, also: (file: String, old: String, new: String)...
    ) {
        (self.what, changes, self.finding) = (what, [(file, old, new)] + also, finding)
    }

    var testDescription: String { what }
}

@Suite("Fixes that work as they are printed")
struct MendingTests {
    @Test("the library is without a finding")
    func good() throws {
        let verdict = try Library().verdict()
        #expect(verdict.exits == [0, 0])
        #expect(!verdict.output.contains("error") && !verdict.output.contains("warning"), "\(verdict.output)")
    }

    @Test(
        "a broken variant gets its id and its place, and what is printed below mends it",
        arguments: brokenOps + brokenShapes + brokenFiles)
    func mended(_ variant: BrokenVariant) throws {
        let library = try Library()
        for change in variant.changes { try library.change(change.file, change.old, change.new) }
        try library.mend(variant.finding)
    }

    @Test("a lock that is missing is written as it is printed")
    func lock() throws {
        let library = try Library()
        let written = try Data(contentsOf: library.url("schemas.lock"))
        try FileManager.default.removeItem(at: library.url("schemas.lock"))
        try library.mend("schemas.lock: warning LOG002")
        #expect(try Data(contentsOf: library.url("schemas.lock")) == written)
    }

    @Test("a released version that was changed is brought back by the command that is printed")
    func released() throws {
        let library = try Library()
        for command in ["init -q", "add -A", "-c user.name=a -c user.email=a@example.org commit -qm all"] {
            try library.shell("git \(command)")
        }
        try library.change("v1.yaml", "metres: {type: number}", "metres: {type: integer}")
        let before = try library.verdict()
        #expect(before.exits == [3, 3] && before.output.contains("v1.yaml:1:1: error LOG002"), "\(before.output)")
        let command = try #require(before.output.firstMatch(of: #/-> undo the change \((git restore [^)]+)\)/#)?.1)
        try library.shell(String(command))
        #expect(try library.verdict().exits == [0, 0])
    }

    @Test(
        "files in JSON are mended in JSON",
        arguments: [
            (#"{"add": {"#, #"{"ad": {"#, "OPS306"), (#", "because": "nobody reads it""#, "", "LOSS201"),
            (#", {"add": {"path": "/branch", "value": 1}}"#, "", "COMPAT102"), (#", "pb": "paperback""#, "", "COMPAT102"),
        ])
    func json(old: String, new: String, id: String) throws {
        let library = try Library()
        try library.must("fmt", library.url("v2.yaml").path, "--to", "json", "--drop-comments")
        let text = try library.directory.text("v2.json").replacing(#/\s+/#, with: " ")
        try library.write("v2.json", text + "\n")
        try library.change("v2.json", old, new)
        let before = try library.verdict().output
        let finding = try #require(before.firstMatch(of: try Regex(#"v2\.json:\d+:\d+: error \#(id)"#)), "\(before)")
        try library.mend(String(before[finding.range]))
    }

    @Test("programs get the same edits")
    func programs() throws {
        let library = try Library()
        try library.change("v2.yaml", "- add: {", "- ad: {")
        let finding = try #require(try JSONValue(parsing: Array(library.run("check", "--json").output.utf8).lent)["findings"])
        guard case .array(let findings) = finding, let edits = findings.first(where: { $0["id"]?.text == "\"OPS306\"" })?["edits"] else {
            Issue.record("\(finding.text)")
            return
        }
        #expect(edits.text.contains(#""line":11,"remove":["      - ad: {path: /branch, value: 1}"]"#), "\(edits.text)")
        #expect(edits.text.contains(#""insert":["      - add: {path: /branch, value: 1}"],"renamed":null"#), "\(edits.text)")
    }
}
