import Bytes
import EventModel
import EvstoreTesting
import Foundation
import JSONText
import SchemaEvolution
import Testing

private func file(_ text: String, _ name: String = "v1.yaml") throws -> VersionFile { try VersionFile(text: Array(text.utf8), file: name) }

private func simple(_ number: Int, _ more: String = "", member: String = "a") -> String {
    "evstore: 1\nversion: \(number)\n\(more)events: {A: {properties: {\(member): {type: string}}}}\n"
}

/// A directory with these files, removed when the body ends.
private func withDirectory<Result>(_ files: [String: String], _ body: (String) throws -> Result) throws -> Result {
    let directory = try TemporaryDirectory()
    for (name, text) in files { try directory.write(text, to: name) }
    return try body(directory.path)
}

private func findings(_ files: [String: String]) throws -> [Finding] {
    try withDirectory(files) { directory in
        do { return try History.load(directory: directory).warnings } catch let error as EvstoreError {
            guard case .schemaInvalid(let findings) = error else { throw error }
            return findings
        }
    }
}

@Test("a JSON file and its YAML twin have one digest")
func twins() throws {
    let yaml = try file(
        """
        evstore: 1
        version: 2
        upcast:
          - on: A
            do: [{add: {path: /b, value: 1.50}}]
        events:
          A:
            stream: "a-{/id}"
            required: [id]   # a comment
            properties: {id: {type: string}, b: {type: number, minimum: 1.0}}
        """, "v2.yaml")
    let json = try file(
        """
        {"version": 2, "evstore": 1, "events": {"A": {"properties": {"b": {"minimum": 1, "type": "number"}, "id": {"type": "string"}},
         "required": ["id"], "stream": "a-{/id}"}}, "upcast": [{"do": [{"add": {"value": 1.5, "path": "/b"}}], "on": "A"}]}
        """, "v2.json")
    #expect(yaml.digest == json.digest)
    #expect(yaml.canonical == json.canonical)
    let shapes = try [yaml, json].map { try #require($0.events["A"]) }
    #expect(ShapeDifference.compare(shapes[0], shapes[1]).isEmpty)
    let again = try VersionFile(text: yaml.canonical, file: "v2.json")
    #expect(again == yaml && again.digest == yaml.digest)
}

@Test("annotations are not in the digest, and what only looks like one is")
func annotations() throws {
    let plain = try file(
        "{evstore: 1, version: 1, events: {A: {properties: {a: {type: string}, l: {type: array, items: {type: string}}}}}}")
    let annotated = try file(
        """
        evstore: 1
        version: 1
        labels: [1.0.0]
        released: 2026-01-31
        description: The first.
        events:
          A:
            description: what happened
            deprecated: true
            properties:
              a: {type: string, description: x, deprecated: true}
              l: {type: array, items: {type: string, description: y}}
        """)
    #expect(plain.digest == annotated.digest)
    #expect(plain.canonical != annotated.canonical)
    let member = try file("{evstore: 1, version: 1, events: {A: {properties: {description: {type: string}}}}}")
    let none = try file("{evstore: 1, version: 1, events: {A: {properties: {}}}}")
    #expect(member.digest != none.digest)
    let constants = try ["x", "y"].map { text in
        try file("{evstore: 1, version: 1, events: {A: {properties: {o: {any: true, default: {description: \(text)}}}}}}")
    }
    #expect(constants[0].digest != constants[1].digest)
}

@Test("a directory is loaded, stored and restored as the same history")
func loaded() throws {
    let files = [
        "v1.yaml": simple(1), "v2.json": #"{"evstore":1,"version":2,"events":{"B":{},"A":{}}}"#, "README.md": "x", "v.yaml": "x",
        "projections.yaml": "x",
    ]
    let history = try withDirectory(files) { try History.load(directory: $0) }
    #expect(history.head == SchemaVersion(2))
    #expect(history.types(at: SchemaVersion(2)) == ["B", "A"])
    #expect(history.types(at: SchemaVersion(0)).isEmpty)
    #expect(history.shape(of: "A", at: SchemaVersion(1))?.shape.properties.map(\.name) == ["a"])
    #expect(history.warnings.map(\.id) == ["LOG002"])
    let stored = try History(stored: history.versions.map { StoredVersion(number: $0.number, canonical: $0.canonical) })
    #expect(stored.digest == history.digest)
    #expect(stored.versions == history.versions)
    #expect(history.through(SchemaVersion(1)).digest != history.digest)
    #expect(throws: EvstoreError.unknownType("C", version: SchemaVersion(2), known: ["B", "A"])) {
        try history.requireShape(of: "C", at: SchemaVersion(2))
    }
}

@Test("a stored version of a newer format is refused as newer")
func newerFormat() throws {
    let stored = StoredVersion(number: SchemaVersion(1), canonical: Array(#"{"evstore":9,"version":1,"shapes":{}}"#.utf8))
    let error = #expect(throws: EvstoreError.self) { try History(stored: [stored]) }
    #expect(error?.code == "schemaNewer")
}

@Test(
    "a step of a stored version that can't be read is refused where it is crossed, whatever the reason, and never left out",
    arguments: [
        (
            "more parts than there may be",
            #"{"split":{"path":"/a","into":[\#(pointers(64))],"separator":",","at":"first","missing":"absent"}}"#
        ),
        ("a pointer that is too long", #"{"remove":{"path":"\#(String(repeating: "/a", count: 65))","restore":"absent","because":"no"}}"#),
        ("more ops than a type may have", Array(repeating: #"{"reserve":["/r"]}"#, count: 1_001).joined(separator: ",")),
        ("an argument that is not known", #"{"remove":{"path":"/b","restore":"absent","because":"no","softly":true}}"#),
        ("an op that is not known", #"{"shuffle":{"path":"/b"}}"#),
    ])
func unreadableStep(_ what: String, _ ops: String) throws {
    let history = try stored(upcast: #"[{"on":["A"],"do":[\#(ops)]}]"#)
    let (one, two) = (SchemaVersion(1), SchemaVersion(2))
    for (from, to) in [(one, two), (two, one)] {
        let error = #expect(throws: EvstoreError.self, "\(what)") { try history.path(type: "A", born: from, to: to) }
        #expect(error?.code == "schemaNewer" && error?.message.contains("v2") == true, "\(what): \(error?.message ?? "")")
    }
    #expect(try history.path(type: "A", born: one, to: one).isUntouched, "what does not cross it is as ever")
}

@Test("old data is refused where a stored version adopts it in a way that can't be read")
func unreadableAdoption() throws {
    let adopting = try stored(upcast: "[]", adopt: #"[{"as":"A","when":{"path":"/a","softly":true}},{"otherwise":"quarantine"}]"#)
    #expect(throws: EvstoreError.self) { try adopting.path(type: "$unknown", born: SchemaVersion(0), to: SchemaVersion(1)) }
}

private func pointers(_ count: Int) -> String { (1 ... count).map { #""/p\#($0)""# }.joined(separator: ",") }

/// A store's history of two versions of one type.
private func stored(upcast: String, adopt: String? = nil) throws -> History {
    let events = #""events":{"A":{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}"#
    let adopt = adopt.map { #""adopt":\#($0),"# } ?? ""
    return try History(stored: [
        StoredVersion(number: SchemaVersion(1), canonical: Array(#"{"evstore":1,"version":1,\#(adopt)\#(events)}"#.utf8)),
        StoredVersion(number: SchemaVersion(2), canonical: Array(#"{"evstore":1,"version":2,"upcast":\#(upcast),\#(events)}"#.utf8)),
    ])
}

@Test(
    "files that make no history are named",
    arguments: [
        ([:], "no version files"),
        (["v1.yaml": simple(1), "v2.yaml": simple(2), "v4.yaml": simple(4)], "version 3 is missing: there are v1, v2, v4"),
        (["v1.yaml": simple(1), "v1.json": #"{"evstore":1,"version":1,"events":{}}"#], "two files"),
        (["v1.yaml": simple(2)], "says version 2 and its name says 1"),
        (["v1.yml": simple(1)], "not a name"),
        (["v1.yaml": simple(1), "v02.yaml": simple(2)], "not a name"),
        (["v1.yaml": simple(1, "labels: [2.0.0]\n"), "v2.yaml": simple(2, "labels: [1.9.0]\n")], "1.9.0 of v2 is not above 2.0.0"),
    ] as [([String: String], String)])
func noHistory(_ files: [String: String], _ message: String) throws {
    let finding = try #require(try findings(files).first { $0.message.contains(message) })
    #expect(finding.id == "LOG001")
    #expect(finding.severity == .error)
    #expect(finding.fix != nil)
}

@Test("a directory that is not there is a word that was typed wrong, and is named")
func noDirectory() {
    let error = #expect(throws: EvstoreError.self) { try History.load(directory: "/no/such/directory") }
    #expect(error?.code == "usage")
    #expect(error?.message.contains("/no/such/directory") == true)
}

@Test("an unreadable file is not a gap as well")
func unreadable() throws {
    let found = try findings(["v1.yaml": simple(1), "v2.yaml": "a: [", "v3.yaml": simple(3)])
    #expect(found.filter { $0.severity == .error }.map(\.id) == ["FILE001"])
}

@Test("the lock holds released versions to what they were")
func locked() throws {
    let released = "released: 2026-01-31\n"
    let history = try withDirectory(["v1.yaml": simple(1, released)]) { try History.load(directory: $0) }
    let lock = SchemaLock(locking: history).text
    #expect(try findings(["v1.yaml": simple(1, released), "schemas.lock": lock]).isEmpty)
    #expect(try findings(["v1.yaml": "# note\n" + simple(1, released + "labels: [1.0.0]\n"), "schemas.lock": lock]).isEmpty)

    let changed = try #require(try findings(["v1.yaml": simple(1, released, member: "b"), "schemas.lock": lock]).first)
    #expect(changed.id == "LOG002" && changed.severity == .error && changed.message.contains("has been changed"))
    #expect(changed.fix?.contains("v2") == true)

    let two = ["v1.yaml": simple(1, released), "v2.yaml": simple(2, released), "schemas.lock": lock]
    #expect(try findings(two).map(\.severity) == [.warning])
    let gone = try findings(["v1.yaml": simple(1, released), "schemas.lock": lock.replacing("\"1\"", with: "\"2\"")])
    #expect(gone.contains { $0.severity == .error && $0.message.contains("its file is gone") })
    let other = try findings(["v1.yaml": simple(1), "schemas.lock": #"{"algorithm": "md5", "versions": {}}"#])
    #expect(other.map(\.id) == ["LOG003"])
}

@Test(
    "labels and numbers name versions",
    arguments: [
        ("v2", 2), ("2", 2), ("0", 0), ("1.2.0", 2), ("1.2", 2), ("v1.2.0", 2), ("1.2.5", 2), ("1.9", 2), ("1.10.0", 3), ("1.10.3", 3),
        ("1.0.7", 1), ("2.0.0", 3),
    ])
func resolved(_ text: String, _ number: Int) throws {
    #expect(try labelled().resolve(text) == SchemaVersion(number))
}

@Test(
    "what names no version is refused",
    arguments: [("4", "v3"), ("2.0.1", "newer than 2.0.0"), ("0.9", "older"), ("latest", "v1"), ("", "v1"), ("-1", "v1")])
func unresolved(_ text: String, _ hint: String) throws {
    let history = try labelled()
    let error = #expect(throws: EvstoreError.self) { try history.resolve(text) }
    #expect(error?.code == "unknownVersion")
    #expect(error?.fix?.contains(hint) == true, "\(error?.fix ?? "")")
}

private func labelled() throws -> History {
    try History(files: [
        file(simple(3, "labels: [1.10.0, 2.0.0]\n")), file(simple(1, "labels: [1.0.0]\n")), file(simple(2, "labels: [1.2.0]\n")),
    ])
}

@Test("registering the same files again changes nothing; a differing one is refused")
func registering() throws {
    let known = try History(files: [file(simple(1, "released: 2026-01-31\nlabels: [1.0.0]\n")), file(simple(2))])
    #expect(try known.adding(known.versions).changed.isEmpty)
    #expect(try History.empty.adding(known.versions).added.map(\.number.number) == [1, 2])

    let more = try known.adding([file(simple(1, "released: 2026-01-31\nlabels: [1.0.0, 1.0.1]\n")), file(simple(3))])
    #expect(more.annotated.map(\.number.number) == [1] && more.added.map(\.number.number) == [3])
    #expect(more.history.head == SchemaVersion(3))
    #expect(try more.history.adding(known.versions).changed.isEmpty, "an older checkout takes no labels away")

    let edited = try file(simple(2, member: "b"))
    let refused = #expect(throws: EvstoreError.self) { try known.adding([edited]) }
    #expect(refused?.code == "versionDiffers")
    #expect(try known.adding([edited]) { $0.number == SchemaVersion(2) }.replaced == [edited])
    let released = try file(simple(1, member: "b"))
    #expect(throws: EvstoreError.self) { try known.adding([released]) { _ in true } }
    #expect(throws: EvstoreError.self) { try known.adding([file(simple(4))]) }
}

@Test("a type is shown as it would stand in a file, references resolved")
func shown() throws {
    let version = try file(
        """
        {evstore: 1, version: 1, $defs: {Name: {type: object, required: [first], properties: {first: {type: string, description: "a: b # c"}}}},
         events: {A: {stream: "a-{/id}", required: [id], properties: {id: {type: string}, name: {$ref: "#/$defs/Name"}}}}}
        """)
    let shape = try #require(version.events["A"]).shape
    let text = JSONValue.object([.init(name: "A", value: shape.canonical)]).yaml
    let again = try file("evstore: 1\nversion: 1\nevents:\n" + text.split(separator: "\n").map { "  \($0)\n" }.joined())
    #expect(again.events["A"]?.shape == shape)
}

@Test("a payload line gets a verdict")
func verdicts() throws {
    let version = try file("{evstore: 1, version: 1, events: {A: {required: [a], properties: {a: {type: integer}}}}}")
    try version.validate(Array(#"{"a":1}"#.utf8), as: "A")
    let verdicts = [#"{"a":1"#, #"{"a":"1"}"#, #"{"a":1,"a":2}"#, "3"].map { line in
        #expect(throws: EvstoreError.self) { try version.validate(Array(line.utf8), as: "A") }?.code
    }
    #expect(verdicts == ["invalidJSON", "invalidEvent", "invalidJSON", "invalidEvent"])
}
