import EventModel
import SchemaEvolution
import Testing

/// A version file that is wrong in one way, and what must be said of it.
struct BrokenFile: CustomTestStringConvertible, Sendable {
    let what: String
    let text: String
    let id: String
    let line: Int
    let column: Int
    let message: String
    var fix: String?
    var file = "v2.yaml"

    var testDescription: String { what }
}

/// A file with one event, whose lines from 4 on are given.
private func event(_ lines: String...) -> String {
    "evstore: 1\nversion: 2\nevents:\n" + lines.map { $0 + "\n" }.joined()
}

private let broken: [BrokenFile] = [
    // The text itself.
    .init(what: "empty", text: "", id: "FILE001", line: 1, column: 1, message: "empty"),
    .init(what: "tab", text: "evstore: 1\nversion:\t2\n", id: "FILE001", line: 2, column: 9, message: "tab", fix: "spaces"),
    .init(what: "byte order mark", text: "\u{feff}evstore: 1\n", id: "FILE001", line: 1, column: 1, message: "byte order mark"),
    .init(what: "anchor", text: event("  A: &a {properties: {}}"), id: "FILE001", line: 4, column: 6, message: "anchors"),
    .init(what: "alias", text: event("  A: {properties: {}}", "  B: *a"), id: "FILE001", line: 5, column: 6, message: "aliases"),
    .init(what: "tag", text: event("  A: !thing {properties: {}}"), id: "FILE001", line: 4, column: 6, message: "tags"),
    .init(what: "core tag", text: "evstore: !!int 1\n", id: "FILE001", line: 1, column: 10, message: "tags"),
    .init(what: "non-specific tag", text: "evstore: ! 1\n", id: "FILE001", line: 1, column: 10, message: "tags"),
    .init(what: "merge key", text: event("  A:", "    <<: {required: []}"), id: "FILE001", line: 5, column: 5, message: "merge keys"),
    .init(
        what: "member twice", text: "evstore: 1\nversion: 2\nversion: 3\n", id: "FILE001", line: 3, column: 1,
        message: "\"version\" is there twice"),
    .init(
        what: "member twice, once quoted", text: "evstore: 1\n1: a\n\"1\": b\n", id: "FILE001", line: 3, column: 1,
        message: "\"1\" is there twice"),
    .init(
        what: "member twice, once quoted, with one between that begins like it", text: "evstore: 1\n1: a\n10: b\n\"1\": c\n", id: "FILE001",
        line: 4, column: 1, message: "\"1\" is there twice"),
    .init(what: "merge key, also quoted", text: "<<: {a: 1}\n\"<<\": b\n", id: "FILE001", line: 1, column: 1, message: "merge keys"),
    .init(what: "two documents", text: "evstore: 1\n---\nevstore: 1\n", id: "FILE001", line: 2, column: 1, message: "second document"),
    .init(what: "no value", text: "evstore: 1\nversion:\nevents: {}\n", id: "FILE001", line: 2, column: 9, message: "no value"),
    .init(
        what: "broken brackets", text: "evstore: 1\nlabels: [a, b\nevents: {}\n", id: "FILE001", line: 3, column: 7,
        message: "not valid YAML"),
    .init(what: "name that is a list", text: "evstore: 1\n? [a]\n: b\n", id: "FILE001", line: 2, column: 3, message: "name of a member"),
    .init(what: "a list", text: "- evstore: 1\n", id: "FILE003", line: 1, column: 1, message: "is a map, not a list"),
    .init(
        what: "broken JSON", text: "{\"evstore\": 1,\n \"version\": 02}", id: "FILE001", line: 2, column: 14, message: "not valid JSON",
        file: "v2.json"),
    .init(
        what: "member twice in JSON", text: "{\"evstore\": 1,\n \"evstore\": 1}", id: "FILE001", line: 2, column: 2, message: "JSON",
        file: "v2.json"),
    // The frame.
    .init(what: "no evstore", text: "version: 2\nevents: {}\n", id: "FILE002", line: 1, column: 1, message: "no \"evstore\""),
    .init(
        what: "newer format", text: "evstore: 2\nversions: {}\n", id: "FILE007", line: 1, column: 10, message: "format 2",
        fix: "newer evstore"),
    .init(
        what: "misspelled member", text: "evstore: 1\nversion: 2\nevents: {}\nupcats: []\n", id: "FILE002", line: 4, column: 1,
        message: "\"upcats\"", fix: "did you mean upcast?"),
    .init(what: "no events", text: "evstore: 1\nversion: 2\n", id: "FILE002", line: 1, column: 1, message: "no \"events\""),
    .init(
        what: "version in quotes", text: "evstore: 1\nversion: \"2\"\nevents: {}\n", id: "FILE003", line: 2, column: 10,
        message: "whole number"),
    .init(what: "version 0", text: "evstore: 1\nversion: 0\nevents: {}\n", id: "FILE003", line: 2, column: 10, message: "at least 1"),
    .init(
        what: "released on no day", text: "evstore: 1\nversion: 2\nreleased: 2026-02-30\nevents: {}\n", id: "FILE003", line: 3, column: 11,
        message: "2026-02-30"),
    .init(
        what: "forward to itself", text: "evstore: 1\nversion: 2\nforward: 2\nevents: {}\n", id: "FILE003", line: 3, column: 10,
        message: "at most 1"),
    .init(
        what: "number as a label", text: "evstore: 1\nversion: 2\nlabels: [1.2.0, 1.10]\nevents: {}\n", id: "FILE003", line: 3, column: 17,
        message: "1.10 would be 1.1", fix: "\"1.10\""),
    .init(
        what: "word as a label", text: "evstore: 1\nversion: 2\nlabels: [latest]\nevents: {}\n", id: "FILE003", line: 3, column: 10,
        message: "dotted number"),
    .init(
        what: "label twice", text: "evstore: 1\nversion: 2\nlabels: [1.2.0, 1.2.0]\nevents: {}\n", id: "FILE003", line: 3, column: 17,
        message: "twice"),
    .init(
        what: "adopt in version 2", text: "evstore: 1\nversion: 2\nadopt: []\nevents: {}\n", id: "FILE003", line: 3, column: 8,
        message: "version 1 only"),
    .init(
        what: "upcast in version 1", text: "evstore: 1\nversion: 1\nupcast: []\nevents: {}\n", id: "FILE003", line: 3, column: 9,
        message: "no version before"),
    .init(what: "a type called all", text: event("  all: {}"), id: "FILE003", line: 4, column: 3, message: "\"all\""),
    // Shapes.
    .init(
        what: "no type", text: event("  A: {properties: {a: {}}}"), id: "FILE004", line: 4, column: 23, message: "no type", fix: "any: true"
    ),
    .init(
        what: "unknown type", text: event("  A: {properties: {a: {type: int}}}"), id: "FILE004", line: 4, column: 30,
        message: "no type \"int\""),
    .init(
        what: "misspelled keyword", text: event("  A: {requierd: []}"), id: "FILE004", line: 4, column: 7, message: "\"requierd\"",
        fix: "did you mean required?"),
    .init(
        what: "a pattern", text: event("  A: {properties: {a: {type: string, pattern: x}}}"), id: "FILE004", line: 4, column: 38,
        message: "\"pattern\"", fix: "no regular expressions"),
    .init(
        what: "null without quotes", text: event("  A: {properties: {a: {type: [string, null]}}}"), id: "FILE004", line: 4, column: 39,
        message: "not null", fix: "in quotes"),
    .init(
        what: "two types", text: event("  A: {properties: {a: {type: [string, integer]}}}"), id: "FILE004", line: 4, column: 30,
        message: "one type and \"null\""),
    .init(
        what: "required is not there", text: event("  A: {required: [nmae], properties: {name: {type: string}}}"), id: "FILE004", line: 4,
        column: 18, message: "\"nmae\"", fix: "did you mean name?"),
    .init(
        what: "closed by hand", text: event("  A: {additionalProperties: false}"), id: "FILE004", line: 4, column: 29, message: "not false",
        fix: "closed"),
    .init(
        what: "map and members", text: event("  A: {properties: {}, additionalProperties: {type: string}}"), id: "FILE004", line: 4,
        column: 45, message: "not both"),
    .init(
        what: "length of a number", text: event("  A: {properties: {a: {type: integer, maxLength: 3}}}"), id: "FILE004", line: 4,
        column: 39, message: "for string"),
    .init(
        what: "a format that is not known", text: event("  A: {properties: {a: {type: string, format: email}}}"), id: "FILE004", line: 4,
        column: 46, message: "no format", fix: "date-time, date"),
    .init(
        what: "enum of another type", text: event("  A: {properties: {a: {type: string, enum: [x, no, true]}}}"), id: "FILE004", line: 4,
        column: 52, message: "should be a string, found true"),
    .init(
        what: "enum value twice", text: event("  A: {properties: {a: {type: number, enum: [1, 1.0]}}}"), id: "FILE004", line: 4, column: 48,
        message: "twice"),
    .init(
        what: "null outside enum", text: event("  A: {properties: {a: {type: [string, \"null\"], enum: [x]}}}"), id: "FILE004", line: 4,
        column: 54, message: "null is allowed by type"),
    .init(
        what: "default that does not fit", text: event("  A: {properties: {a: {type: integer, minimum: 3, default: 2}}}"), id: "FILE004",
        line: 4, column: 60, message: "at least 3"),
    .init(
        what: "bounds crossed", text: event("  A: {properties: {a: {type: integer, minimum: 3, maximum: 2}}}"), id: "FILE004", line: 4,
        column: 48, message: "above maximum"),
    .init(
        what: "flag that is a word", text: event("  A: {properties: {a: {type: string, personal: yes}}}"), id: "FILE003", line: 4,
        column: 48, message: "true or false"),
    .init(
        what: "event that is an array", text: event("  A: {type: array}"), id: "FILE004", line: 4, column: 13,
        message: "payload is an object"),
    // References.
    .init(
        what: "reference to nothing", text: event("  A: {properties: {a: {$ref: \"#/$defs/Nam\"}}}", "$defs: {Name: {type: string}}"),
        id: "FILE005", line: 4, column: 30, message: "\"Nam\"", fix: "did you mean Name?"),
    .init(
        what: "reference elsewhere", text: event("  A: {properties: {a: {$ref: \"other.yaml\"}}}"), id: "FILE005", line: 4, column: 30,
        message: "local"),
    .init(
        what: "reference to itself",
        text: event("  A: {properties: {a: {$ref: \"#/$defs/T\"}}}", "$defs: {T: {type: array, items: {$ref: \"#/$defs/T\"}}}"),
        id: "FILE005", line: 5, column: 40, message: "leads back"),
    // Streams.
    .init(
        what: "stream of no member", text: event("  A: {stream: \"a-{/id}\", properties: {}}"), id: "FILE006", line: 4, column: 15,
        message: "no member /id"),
    .init(
        what: "stream without a slash", text: event("  A: {stream: \"a-{id}\", properties: {}}"), id: "FILE006", line: 4, column: 15,
        message: "{id} holds no pointer", fix: "write {/id}"),
    .init(
        what: "stream of a list", text: event("  A: {stream: \"a-{/b}\", properties: {b: {type: array}}}"), id: "FILE006", line: 4,
        column: 15, message: "names nothing"),
    .init(
        what: "stream with a space", text: event("  A: {stream: \"a b\", properties: {}}"), id: "FILE006", line: 4, column: 15,
        message: "can't"),
    .init(
        what: "stream that may be empty", text: event("  A: {stream: \"a-{/b}\", properties: {b: {type: string}}}"), id: "FILE006", line: 4,
        column: 15, message: "may be empty"),
]

@Test("a broken version file is refused with its place and what to do", arguments: broken)
func brokenFile(_ broken: BrokenFile) throws {
    let error = #expect(throws: EvstoreError.self) { try VersionFile(text: Array(broken.text.utf8), file: broken.file) }
    guard case .schemaInvalid(let findings)? = error else {
        Issue.record("\(broken.what): \(String(describing: error))")
        return
    }
    let finding = try #require(findings.first { $0.message.contains(broken.message) }, "\(findings.map(\.diagnosticLine))")
    #expect(finding.id == broken.id)
    #expect(finding.file == broken.file)
    #expect(finding.line == broken.line)
    #expect(finding.column == broken.column)
    if let fix = broken.fix { #expect(finding.fix?.contains(fix) == true, "\(finding.fix ?? "no fix")") }
}

@Test("all that is wrong with a file is said at once")
func everyProblem() throws {
    let text = event("  A: {properties: {a: {type: int}, b: {type: strin}}, required: [c]}", "  B: {pattern: x}")
    let error = #expect(throws: EvstoreError.self) { try VersionFile(text: Array(text.utf8), file: "v2.yaml") }
    guard case .schemaInvalid(let findings)? = error else { return }
    #expect(findings.map(\.line) == [4, 4, 4, 5])
}

@Test("text that only looks like a flag or a number stays text")
func strictScalars() throws {
    let text = "{a: yes, b: on, c: 012, d: 1.2.0, e: ~, f: True, g: .5, h: 0x1f, i: 2026-01-01, j: 1e3, k: -0.5, l: \"1\", m: 1_000}"
    let node = try FileReader.read(text: Array(text.utf8), file: "x.yaml")
    let kinds = "abcdefghijklm".map { node.member(String($0))?.kind }
    let texts = ["yes", "on", "012", "1.2.0", "~", "True", ".5", "0x1f", "2026-01-01"].map { FileNode.Kind.string($0) }
    #expect(kinds == texts + [.number("1e3"), .number("-0.5"), .string("1"), .string("1_000")])
}

@Test("brackets a thousand deep are refused, not followed", arguments: ["v2.yaml", "v2.json"], [70, 900, 5_000])
func deep(_ file: String, _ depth: Int) {
    let text = String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
    let error = #expect(throws: EvstoreError.self) { try FileReader.read(text: Array(text.utf8), file: file) }
    #expect(error?.code == "schemaInvalid")
}

@Test("bytes that are no text are refused")
func noText() {
    let error = #expect(throws: EvstoreError.self) { try FileReader.read(text: [0x61, 0xff, 0xfe], file: "v2.yaml") }
    #expect(error?.message.contains("UTF-8") == true)
    let control = #expect(throws: EvstoreError.self) { try FileReader.read(text: Array("a: b\nc: \u{1}\n".utf8), file: "v2.yaml") }
    #expect(control?.place.line == 2)
}

@Test("references that multiply are stopped")
func multiplying() {
    let levels = (1 ... 12).map { level in
        "  L\(level): {type: object, properties: {" + "abcdef".map { "\($0): {$ref: \"#/$defs/L\(level - 1)\"}" }.joined(separator: ", ")
            + "}}\n"
    }
    let text =
        "evstore: 1\nversion: 1\nevents:\n  A: {properties: {a: {$ref: \"#/$defs/L12\"}}}\n$defs:\n  L0: {type: string}\n" + levels.joined()
    let error = #expect(throws: EvstoreError.self) { try VersionFile(text: Array(text.utf8), file: "v1.yaml") }
    #expect(error?.message.contains("too large") == true)
}
