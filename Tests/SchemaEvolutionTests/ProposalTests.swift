import EventModel
import Foundation
import JSONText
import Testing

@testable import SchemaEvolution

@Suite("Proposals of a check")
struct ProposalTests {
    /// What a check of two versions says, without what is odd about the directory.
    private func findings(_ before: String, _ after: String, upcast: String = "") throws -> [Finding] {
        try history(["events: {E: {\(before)}}", "\(upcast)events: {E: {\(after)}}"]).check()
    }

    @Test("a table that makes true and false explains a boolean")
    func booleanOfATable() throws {
        let words = "required: [a], properties: {a: {type: string, enum: [\"yes\", \"no\"]}}"
        let table = "upcast: [{on: E, do: [{convert: {path: /a, to: boolean, using: {table: {map: {\"yes\": true, \"no\": false}}}}}]}]\n"
        #expect(try findings(words, "required: [a], properties: {a: {type: boolean}}", upcast: table).isEmpty)
        let half = try findings(
            "required: [a], properties: {a: {type: string, enum: [x]}}", "required: [a], properties: {a: {type: boolean}}",
            upcast: "upcast: [{on: E, do: [{convert: {path: /a, to: boolean, using: {table: {map: {x: true}}}}}]}]\n")
        #expect(half.map(\.message) == ["E /a: false may stand there now"])
    }

    @Test(
        "a codec is proposed that reads the words there are, and asks where it can't know",
        arguments: [
            ("{type: string, enum: [\"yes\", \"no\"]}", "boolean", "{table: {map: {yes: true, no: false}}}", true),
            ("{type: string, enum: [OFF, ON]}", "boolean", "{table: {map: {OFF: false, ON: true}}}", true),
            ("{type: string, enum: [open, shut]}", "boolean", "{table: {map: {open: \"…\", shut: \"…\"}}}", false),
            ("{type: string, enum: [\"1\", \"20\"]}", "integer", "integer-text", true),
            ("{type: string, enum: [one, two]}", "integer", "{table: {map: {one: \"…\", two: \"…\"}}}", false),
            ("{type: string}", "boolean", "boolean-text", true),
        ])
    func codecs(old: String, kind: String, using: String, isSure: Bool) throws {
        let found = try findings("required: [a], properties: {a: \(old)}", "required: [a], properties: {a: {type: \(kind)}}")
        #expect(found.count == 1 && found[0].fix == "convert: {path: /a, to: \(kind), using: \(using)}", "\(found)")
        #expect(found[0].repairs.isEmpty != isSure)
    }

    @Test("words that a codec can't read are an error of its op; of a version that was released a warning", arguments: [false, true])
    func refusedWords(isReleased: Bool) throws {
        let found = try findings(
            "required: [a], properties: {a: {type: string, enum: [\"yes\", \"true\"]}}", "required: [a], properties: {a: {type: boolean}}",
            upcast: (isReleased ? "released: 2026-01-10\n" : "")
                + "upcast: [{on: E, do: [{convert: {path: /a, to: boolean, using: boolean-text}}]}]\n")
        let refused = found.filter { $0.message == "E: convert (op 1): boolean-text can't read \"yes\"" }
        #expect(refused.map(\.severity) == [isReleased ? .warning : .error] && refused[0].id == "COMPAT102", "\(found)")
    }

    @Test("values that a codec can't read are an error within each too, and a warning under a guard, which may keep them out")
    func refusedWithin() throws {
        func list(_ element: String) -> String {
            "properties: {l: {type: array, items: {type: object, required: [a], properties: {a: \(element)}}}}"
        }
        let each = try findings(
            list("{type: string, enum: [\"yes\", \"true\"]}"), list("{type: boolean}"),
            upcast: "upcast: [{on: E, do: [{each: {path: /l, do: [{convert: {path: /a, to: boolean, using: boolean-text}}]}}]}]\n")
        let refused = each.filter { $0.message == "E: each (op 1), convert (op 1): boolean-text can't read \"yes\"" }
        #expect(refused.map(\.severity) == [.error], "\(each)")
        let shape = "required: [n, k], properties: {k: {type: string}, n: {type: integer, enum: [5, 10]}}"
        let convert = "{convert: {path: /n, to: integer, using: {scale: {num: 1, den: 10}}}}"
        let guarded = try findings(
            shape, shape, upcast: "upcast: [{on: E, do: [{when: {path: /k, equals: tenths, do: [\(convert)]}}]}]\n")
        let warned = guarded.filter { $0.message.contains("scale can't read 5") }
        #expect(warned.map(\.severity) == [.warning], "\(guarded)")
    }

    @Test("two renames are two moves where the members can be told apart, and a question where they can't")
    func twoRenames() throws {
        func both(_ first: String, _ second: String) throws -> [Finding] {
            try findings(
                "required: [a, b], properties: {a: \(first), b: \(second)}", "required: [x, y], properties: {x: \(first), y: \(second)}")
        }
        let sure = try both("{type: string}", "{type: integer}")
        #expect(Set(sure.map(\.fix)) == ["did you mean move: {from: /a, path: /x}?", "did you mean move: {from: /b, path: /y}?"])
        let open = try both("{type: string}", "{type: string}")
        #expect(open.count == 4 && open.allSatisfy { $0.repairs.isEmpty }, "\(open)")
        #expect(open[0].fix?.contains("move: {from: /a, path: /x}, or move: {from: /a, path: /y}") == true)
        #expect(open.allSatisfy { $0.fix?.contains("restore: x") != true })
    }

    @Test("what an older version sees of a required member that is gone is asked for, not made up")
    func restore() throws {
        let found = try findings("required: [a], properties: {a: {type: string}}", "properties: {}")
        #expect(found.map(\.fix) == ["remove: {path: /a, restore: \"…\", because: \"…\"}, where restore is what v1 sees"])
        #expect(found[0].repairs.isEmpty)
    }

    @Test("what an op on several types gives rise to is said once, with the types")
    func once() throws {
        let event = "{required: [a], properties: {a: {type: string}}}"
        let after = "{required: [a], properties: {a: {type: integer, minimum: 1}, n: {type: string}}}"
        let found = try history([
            "events: {A: \(event), B: \(event), C: \(event)}",
            """
            upcast: [{on: [A, B, C], do: [{convert: {path: /a, to: integer, using: integer-text}}, {allow: {path: /n, down: block}}]}]
            events: {A: \(after), B: \(after), C: \(after)}
            """,
        ]).check()
        #expect(found.map(\.severity) == [.note, .note, .warning])
        #expect(found.allSatisfy { $0.message.hasPrefix("A, B and C") }, "\(found)")
    }

    @Test("a reference is only proposed to what there is")
    func references() throws {
        for (defs, text, fix) in [
            ("", "'#/$defs/Name'", "this file has no $defs: write the shape out"),
            ("$defs: {Name: {type: string}}\n", "Name.json#/Nam", "did you mean \"#/$defs/Name\"?"),
            ("$defs: {Name: {type: string}}\n", "'#/$defs/Person'", "known: #/$defs/Name"),
        ] {
            let file = "evstore: 1\nversion: 1\n\(defs)events: {E: {properties: {a: {$ref: \(text)}}}}"
            let error = #expect(throws: EvstoreError.self) { try VersionFile(text: Array(file.utf8), file: "v1.yaml") }
            guard case .schemaInvalid(let found)? = error else { return }
            #expect(found.map(\.fix) == [fix])
        }
    }

    @Test("hundreds of members that nothing explains are each said once", arguments: [100, 1_000])
    func manyMembers(_ count: Int) throws {
        func shape(_ prefix: String) -> String {
            let names = (0 ..< count).map { "\(prefix)\($0)x" }
            return "required: [\(names.joined(separator: ", "))], properties: {"
                + names.map { "\($0): {type: string}" }.joined(separator: ", ") + "}"
        }
        let matching = try findings(shape("old"), shape("fresh"))
        #expect(matching.count == 2 * count)
    }
}
