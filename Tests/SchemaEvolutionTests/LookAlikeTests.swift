import Bytes
import EventModel
import JSONText
import Testing

@testable import SchemaEvolution

/// Two spellings that look alike, and that `String` calls equal.
struct LookAlike: CustomTestStringConvertible, Sendable {
    let one, other: String

    var testDescription: String { "\(one), \(other.unicodeScalars.map { String($0.value, radix: 16) })" }

    static let all = [
        LookAlike(one: "caf\u{e9}", other: "cafe\u{301}"), LookAlike(one: "\u{c5}rea", other: "\u{212b}rea"),
        LookAlike(one: "\u{3a9}", other: "\u{2126}"), LookAlike(one: "K", other: "\u{212a}"),
        LookAlike(one: "\u{ac00}", other: "\u{1100}\u{1161}"), LookAlike(one: "a\u{323}\u{307}", other: "a\u{307}\u{323}"),
    ]
}

@Suite("Names that look alike")
struct LookAlikeTests {
    private static func e(_ member: String, _ more: String = "") -> String {
        "events: {E: {\(more)required: [\"\(member)\"], properties: {\"\(member)\": {type: string}}}}"
    }

    @Test("are other names wherever a definition spells one, and the check says so", arguments: LookAlike.all)
    func spelledOtherwise(_ pair: LookAlike) throws {
        #expect(pair.one == pair.other, "what this is about")
        let (a, b) = (pair.one, pair.other)
        let x = "events: {E: {required: [x], properties: {x: {type: string}}}}"
        let types = { (name: String) in "events: {\"\(name)\": {properties: {x: {type: string}}}}" }
        let wrong: [[String]] = [
            [Self.e(a), "upcast: [{on: E, do: [{move: {from: \"/\(b)\", path: /x}}]}]\n\(x)"],
            [Self.e(a), "upcast: [{on: E, do: [{copy: {from: \"/\(b)\", path: /x}}, {move: {from: \"/\(a)\", path: /y}}]}]\n\(x)"],
            [
                Self.e(a),
                "upcast: [{on: E, do: [{remove: {path: \"/\(b)\", restore: \"\", because: gone}}]}]\nevents: {E: {properties: {}}}",
            ],
            [
                Self.e(a),
                "upcast: [{on: E, do: [{add: {path: /n, value: 1}}]}]\n"
                    + Self.e(b).replacing("properties: {", with: "properties: {n: {type: integer}, "),
            ],
            [types(a), "upcast: [{drop-event: {type: \"\(b)\", because: gone}}]\nevents: {F: {properties: {}}}"],
            [types(a), "upcast: [{rename-event: {from: \"\(b)\", to: F}}]\nevents: {F: {properties: {x: {type: string}}}}"],
            [types(a), "upcast: [{rename-event: {from: \"\(a)\", to: F}}]\n" + types(b)],
            [
                types(a),
                "upcast: [{on: \"\(b)\", do: [{add: {path: /n, value: 1}}]}]\nevents: {\"\(a)\": {required: [n], properties: {n: {type: integer}}}}",
            ],
            ["adopt: [{as: E, keep: [\"/\(b)\"]}, {otherwise: quarantine}]\n" + Self.e(a)],
            ["adopt: [{as: \"\(b)\"}, {otherwise: quarantine}]\n" + types(a)],
        ]
        for texts in wrong { #expect(try !history(texts).check().errors.isEmpty, "\(texts)") }
        for text in [Self.e(a).replacing("required: [\"\(a)\"", with: "required: [\"\(b)\""), Self.e(a, "stream: \"s-{/\(b)}\", ")] {
            #expect(throws: EvstoreError.self, "\(text)") { try history([text]) }
        }
    }

    @Test("may stand in one event, are told of, and keep their values; a step makes one of the other", arguments: LookAlike.all)
    func beside(_ pair: LookAlike) throws {
        let (a, b) = (pair.one, pair.other)
        func shape(_ names: [String]) -> String {
            let members = names.map { "\"\($0)\":{\"type\":\"integer\"}" }.joined(separator: ",")
            return "{\"required\":[\(names.map { "\"\($0)\"" }.joined(separator: ","))],\"properties\":{\(members)}}"
        }
        // In JSON: the parser of YAML takes them for one member, which is said.
        let move = "{\"on\":\"F\",\"do\":[{\"move\":{\"from\":\"/\(a)\",\"path\":\"/\(b)\"}}]}"
        let texts = [
            "\"version\":1,\"events\":{\"E\":\(shape([a, b])),\"F\":\(shape([a]))}}",
            "\"version\":2,\"upcast\":[\(move)],\"events\":{\"E\":\(shape([a, b])),\"F\":\(shape([b]))}}",
        ]
        #expect(throws: EvstoreError.self) {
            try SchemaEvolutionTests.history([String(texts[0].dropLast().dropFirst("\"version\":1,".count))])
        }
        let files = try texts.enumerated().map { try VersionFile(text: Array("{\"evstore\":1,\($1)".utf8), file: "v\($0 + 1).json") }
        let history = try History(files: files)
        let found = history.check()
        #expect(found.errors == [] && found.contains { $0.id == FileRule.lookAlike && $0.severity == .warning }, "\(found)")
        let viewer = PathRunner(history)
        let both = "{\"\(a)\":1,\"\(b)\":2}"
        #expect(Array(try viewer.image("E", both, from: 1, to: 2, validating: true).utf8) == Array(both.utf8))
        #expect(Array(try viewer.image("F", "{\"\(a)\":1}", from: 1, to: 2, validating: true).utf8) == Array("{\"\(b)\":1}".utf8))
        #expect(Array(try viewer.image("F", "{\"\(b)\":1}", from: 2, to: 1, validating: true).utf8) == Array("{\"\(a)\":1}".utf8))
    }
}
