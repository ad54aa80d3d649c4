import Bytes
import EventModel
import Foundation
import JSONText
import SchemaTools
import Testing

@testable import SchemaEvolution

@Suite("JSON Schemas for editors")
struct EditorSchemaTests {
    @Test("the validator that these tests use agrees with the official suite")
    func validator() throws {
        var (ran, left) = (0, 0)
        for one in try SuiteCase.all() where !["format.json", "bignum.json", "date.json", "date-time.json"].contains(one.file) {
            let schema = EditorSchema(one.schema)
            for test in one.tests {
                do {
                    let refusal = try schema.refusal(of: test.data)
                    #expect((refusal == nil) == test.isValid, "\(one.name): \(test.what): \(refusal ?? "accepted")")
                    ran += 1
                } catch is EditorSchema.Unknown { left += 1 }
            }
        }
        #expect(ran == 452 && left == 714, "\(ran) tried, \(left) with keywords that it does not need")
    }

    /// The files of every domain, with the schema that each is for.
    private static func files() throws -> [(file: URL, schema: String)] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: EditorSchema.schemas.path).sorted()
        return names.compactMap { path in
            let (folders, name) = (path.split(separator: "/").dropLast(), path.split(separator: "/").last ?? "")
            let schema: String? =
                switch name {
                case "projections.yaml": "projections"
                case "rules.yaml": "rules"
                case "schemas.lock": "lock"
                case _ where name.wholeMatch(of: #/v\d+\.(yaml|json)/#) != nil: "version"
                // Data from before versions existed is no event line.
                case _ where name.hasSuffix(".jsonl") && folders.count == 3 && folders.last != "v0": "event"
                default: nil
                }
            return schema.map { (EditorSchema.schemas.appending(path: path), $0) }
        }
    }

    @Test("every file of the worked examples is what the schema for editors says")
    func worked() throws {
        var counts: [String: Int] = [:]
        for (file, name) in try Self.files() {
            let schema = try EditorSchema(named: name)
            let text = [UInt8](try Data(contentsOf: file))
            let values =
                name == "event"
                ? try text.split(separator: UInt8(ascii: "\n")).map { try JSONValue(parsing: Array($0).lent) }
                : [try FileReader.read(text: text, file: file.path).json]
            for value in values {
                let refusal = try schema.refusal(of: value)
                #expect(refusal == nil, "\(file.path): \(refusal ?? "")")
                counts[name, default: 0] += 1
            }
        }
        for name in ["version", "projections", "lock", "event", "rules"] { #expect(counts[name] ?? 0 > 0, "no \(name)") }
    }

    @Test(
        "an editor marks what the product refuses",
        arguments: [
            ("- add: {path: /b, value: 1}", true), ("- ad: {path: /b, value: 1}", false), ("- add: {path: b, value: 1}", false),
            ("- add: {path: /b}", false), ("- add: {path: /b, value: 1, form: $time}", false), ("- remove: {path: /b}", false),
            ("- convert: {path: /b, to: integer, using: integer-text}", true),
            ("- convert: {path: /b, to: integer, using: integer-txt}", false),
            ("- convert: {path: /b, to: integer, using: {scale: {num: 100, round: up}}}", false),
            ("- {when: {path: $time, below: \"2026-01-01T00:00:00Z\", do: [{add: {path: /b, value: 1}}]}}", true),
            ("- {when: {path: /a, do: [{add: {path: /b, value: 1}}]}}", false),
            ("- {each: {path: /b, do: [{mvoe: {from: /a, path: /b}}]}}", false),
            ("- split: {path: /b, into: [/a], separator: \" \", at: first, missing: absent}", false),
        ])
    func marks(op: String, isRight: Bool) throws {
        let text = "evstore: 1\nversion: 2\nupcast:\n  - on: E\n    do:\n      \(op)\nevents: {E: {properties: {b: {type: integer}}}}\n"
        let value = try FileReader.read(text: Array(text.utf8), file: "v2.yaml").json
        let refusal = try EditorSchema(named: "version").refusal(of: value)
        #expect((refusal == nil) == isRight, "\(refusal ?? "accepted")")
    }

    // MARK: what the parser knows

    /// What the parser says that a map may have, from how it refuses a member that nothing has.
    private func members(_ read: (FileNode) throws -> Void) -> [String] {
        let mark = FileLocation(file: "x.yaml", line: 1, column: 1)
        let odd = FileNode(.map([.init(name: "zzzzzzzzzzzz", place: mark, value: FileNode(.number("1"), at: mark))]), at: mark)
        do { try read(odd) } catch {
            let fix = (error as? FileProblem)?.finding.fix ?? ""
            return fix.split(separator: "may have: ").last?.split(separator: ", ").map(String.init) ?? []
        }
        return []
    }

    private func node(_ name: String, _ value: FileNode) -> FileNode {
        FileNode(.map([.init(name: name, place: value.mark, value: value)]), at: value.mark)
    }

    private func expect(_ schema: JSONValue?, has names: [String], _ what: String) {
        #expect(Set((schema?["properties"]?.members ?? []).map(\.name)) == Set(names), "\(what)")
    }

    @Test("the ops, their arguments and the codecs are those that the program knows")
    func ops() throws {
        let definitions = try #require(try EditorSchema(named: "version").root["$defs"])
        expect(definitions["op"], has: OpRegistry.payloadOps.map { $0.name }, "op")
        expect(definitions["eventOp"], has: OpRegistry.eventOps.map { $0.name } + [Reserve.name], "eventOp")
        for type in OpRegistry.payloadOps where type.name != Reserve.name {
            expect(definitions["op"]?["properties"]?[type.name], has: members { _ = try type.init($0) }, type.name)
        }
        for type in OpRegistry.eventOps {
            expect(definitions["eventOp"]?["properties"]?[type.name], has: members { _ = try type.init($0) }, type.name)
        }
        let downs = definitions["op"]?["properties"]?["swift"]?["properties"]?["down"]?["enum"]?.elements.compactMap(\.string)
        #expect(Set(downs ?? []) == Set(SwiftOp.Down.allCases.map(\.rawValue)), "what becomes of an event above a swift op")
        let codecs = definitions["codec"]?["oneOf"]?.elements ?? []
        let named = codecs.flatMap { $0["enum"]?.elements.compactMap(\.string) ?? $0["properties"]?.members.map(\.name) ?? [] }
        #expect(Set(named) == Set(CodecRegistry.names))
        for codec in codecs {
            guard let member = codec["properties"]?.members.first else { continue }
            expect(member.value, has: members { _ = try CodecRegistry.codec(node(member.name, $0)) }, member.name)
        }
    }

    @Test("the members of files, shapes, cases and guards are those that the program knows")
    func frames() throws {
        let version = try EditorSchema(named: "version").root
        let definitions = try #require(version["$defs"])
        expect(version, has: VersionFile.members, "version file")
        expect(definitions["shape"], has: ShapeReader.keywords, "shape")
        expect(definitions["event"], has: ShapeReader.keywords + ["stream", "tags"], "event")
        expect(definitions["adoptCase"], has: Adopt.members, "case of adopt")
        expect(definitions["guard"], has: Guard.members, "guard")
        let down = definitions["allowedDown"]?["oneOf"]?.elements.last
        expect(down, has: members { _ = try AllowedDown($0) }, "down")
        let events = definitions["eventOp"]?["properties"]
        let split = events?["split-event"]?["properties"]?["into"]?["items"]
        expect(split, has: members { _ = try SplitEvent.PartRule($0) }, "part of split-event")
        let parts = events?["add-event"]?["properties"]?["down"]?["oneOf"]?.elements.last?["properties"]?["as"]?["items"]
        expect(parts, has: members { _ = try AddEvent.PartRule($0) }, "part of add-event")
    }

    @Test("rules and the lock have the members that the program knows")
    func others() throws {
        let rules = try EditorSchema(named: "rules").root
        expect(rules, has: members { _ = try LintRules($0) }, "rules")
        let waiver = rules["properties"]?["waive"]?["items"]
        expect(waiver, has: members { _ = try LintRules(node("waive", FileNode(.list([$0]), at: $0.mark))) }, "waiver")
        let ops = (OpRegistry.payloadOps.map { $0.name } + OpRegistry.eventOps.map { $0.name }).sorted()
        #expect(rules["properties"]?["forbid"]?["oneOf"]?.elements.first?["enum"]?.elements.compactMap(\.string).sorted() == ops)
        let lock = try EditorSchema(named: "lock").root
        expect(lock, has: ["algorithm", "versions"], "lock")
        #expect(lock["properties"]?["algorithm"]?["const"] == .string(SchemaLock.algorithm))
    }
}
