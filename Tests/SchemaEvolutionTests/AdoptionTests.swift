import Bytes
import EventModel
import Testing

@testable import SchemaEvolution

private func adopting(_ last: String = "- otherwise: quarantine") -> String {
    """
    adopt:
      - when: {path: /created, exists: true}
        as: Saved
        keep: [/id]
        from: {/name/first: /userName, /at: /created}
        default: {/notes: {value: ""}}
        convert: [{path: /at, to: string, using: {epoch-seconds: {origin: "2001-01-01T00:00:00Z", digits: 3}}}]
      - when: {path: /at, exists: true}
        as: Saved
        keep: [/id, /at, /name]
        default: {/notes: $time}
      \(last)
    events:
      Saved:
        stream: "entry-{/id}"
        required: [id, at, name, notes]
        properties:
          id: {type: string}
          at: {type: string, format: date-time}
          name: {type: object, required: [first], properties: {first: {type: string}}}
          notes: {type: string}
    """
}

private let second = """
    upcast:
      - on: Saved
        do:
          - move: {from: /notes, path: /text}
    events:
      Saved:
        stream: "entry-{/id}"
        required: [id, at, name, text]
        properties:
          id: {type: string}
          at: {type: string, format: date-time}
          name: {type: object, required: [first], properties: {first: {type: string}}}
          text: {type: string}
    """

@Test("old data becomes an event by the first case that takes it, and goes on from version 1")
func adopts() throws {
    let viewer = PathRunner(try history([adopting(), second]))
    #expect(viewer.history.check().errors == [])
    let old = #"{"id":"7","userName":"Ann","created":12.5,"legacy":true,"junk":[1]}"#
    let seen = try viewer.images("$unknown", old, from: 0, to: 2)
    #expect(seen.map(\.type) == ["Saved"])
    #expect(
        try canonical(seen[0].json) == canonical(#"{"id":"7","name":{"first":"Ann"},"at":"2001-01-01T00:00:12.500Z","text":""}"#))
    #expect(viewer.counts.notKept == 2)
    #expect(viewer.counts.defaulted == 1)
    let other = #"{"id":"8","at":"2020-01-01T00:00:00Z","name":{"first":"Bo"}}"#
    let next = try viewer.images("blob", other, from: 0, to: 1)
    #expect(try canonical(next[0].json).contains(#""notes":"2026-01-01T00:00:00Z""#))
}

@Test("data that no case takes has no image, and neither has data that does not fit version 1")
func refusesOldData() throws {
    let viewer = PathRunner(try history([adopting()]))
    #expect(try failure { try viewer.images("$unknown", #"{"x":1}"#, from: 0, to: 1) }.op == "adopt")
    #expect(try failure { try viewer.images("$unknown", #"{"created":1}"#, from: 0, to: 1) }.op == "shape")
    #expect(try failure { try viewer.images("$unknown", #"{"id":"1","created":"x"}"#, from: 0, to: 1) }.pointer == "/at")
}

@Test("an adoption whose template names no stream is one, with the reason, and says what each adoption leaves behind and no other one")
func adoptsWithoutStream() throws {
    let viewer = PathRunner(
        try history([
            "adopt: [{as: E, stream: \"e-{/who}\", keep: [/n]}, {otherwise: quarantine}]\nevents: {E: {properties: {n: {type: integer}}}}"
        ]))
    func adopt(_ json: String) throws -> AdoptionResult {
        try viewer.adopt(
            type: "$unknown", payload: Array(json.utf8).lent, time: Timestamp(microseconds: 0), metadata: [UInt8]().lent)
    }
    let unnamed = try adopt(#"{"n":1,"a":2}"#)
    #expect(unnamed.type == "E" && unnamed.stream == nil && unnamed.unnamed?.pointer == "/who" && unnamed.leftBehind == ["/a": 1])
    #expect(try failure { try adopt(#"{"n":"x","b":1}"#) }.pointer == "/n")
    let named = try adopt(#"{"n":1,"who":"w"}"#)
    #expect(named.stream?.text == "e-w" && named.unnamed == nil && named.leftBehind == ["/who": 1])
    #expect(named.counts.kept == 1 && named.counts.notKept == 1)
}

@Test(
    "an adoption that is wrong is reported with its line",
    arguments: [
        "- {as: Nothing, keep: [/id]}", "- {as: Saved, keep: [/none]}\n  - otherwise: quarantine",
        "- {as: Saved, default: {/id: {value: 5}}}\n  - otherwise: quarantine", "- otherwise: drop",
    ])
func refusesAdoptions(_ last: String) throws {
    let errors = try history([adopting(last)]).check().errors
    #expect(errors.count == 1)
    #expect(errors.first?.hasPrefix("v1.yaml:") == true, "\(errors)")
}

@Test(
    "each member gets its value, also where one is made of what another is made of, and what is left behind is counted",
    arguments: [
        // Two of one; a kept one of which another is made; an object and a member in it, both ways round; a member that comes to lie in another.
        ("from: {/a: /x, /b: /x}", #"{"x":{"z":1},"y":2}"#, #"{"a":{"z":1},"b":{"z":1}}"#, 1),
        ("keep: [/a], from: {/b: /a}", #"{"a":{"z":1}}"#, #"{"a":{"z":1},"b":{"z":1}}"#, 0),
        ("from: {/a: /x, /n: /x/z}", #"{"x":{"z":1},"n":5}"#, #"{"a":{"z":1},"n":1}"#, 1),
        ("from: {/n: /x/z, /a: /x}", #"{"x":{"z":1}}"#, #"{"n":1,"a":{"z":1}}"#, 0),
        ("from: {/a/z: /n, /a: /x}", #"{"x":{"z":1},"n":5}"#, #"{"a":{"z":5}}"#, 0),
        ("keep: [/n], from: {/a/z: /x/z}", #"{"n":5,"x":{"z":1,"y":2}}"#, #"{"n":5,"a":{"z":1}}"#, 1),
    ])
func adoptsOneSourceForSeveral(_ made: (cases: String, old: String, new: String, notKept: Int)) throws {
    let holder = "{type: object, properties: {z: {type: integer}}}"
    let viewer = PathRunner(
        try history([
            "adopt: [{as: E, \(made.cases)}, {otherwise: quarantine}]\n"
                + "events: {E: {properties: {a: \(holder), b: \(holder), n: {type: integer}}}}"
        ]))
    #expect(viewer.history.check().errors == [])
    #expect(try canonical(try viewer.image("E", made.old, from: 0, to: 1)) == canonical(made.new))
    #expect(viewer.counts.notKept == made.notKept)
}

@Test("conversions of one member each take what the one before them made, as ops of a step do")
func adoptsByAChainOfCodecs() throws {
    func files(_ convert: String) throws -> History {
        try history(["adopt: [{as: E, keep: [/at], convert: [\(convert)]}, {otherwise: quarantine}]\n" + at])
    }
    let at = "events: {E: {required: [at], properties: {at: {type: string, format: date-time}}}}"
    let chain = [
        "{path: /at, to: integer, using: integer-text}", "{path: /at, to: number, using: {scale: {den: 1000000}}}",
        "{path: /at, to: string, using: {epoch-seconds: {digits: 6}}}",
    ]
    let viewer = PathRunner(try files(chain.joined(separator: ", ")))
    #expect(viewer.history.check().errors == [])
    let old = #"{"at":"1767225600123456"}"#
    #expect(try viewer.image("E", old, from: 0, to: 1) == #"{"at":"2026-01-01T00:00:00.123456Z"}"#)
    let wrong = try files([chain[2], chain[0]].joined(separator: ", ")).check().errors
    #expect(wrong.count == 1 && wrong[0].contains("these codecs"), "\(wrong)")
}
