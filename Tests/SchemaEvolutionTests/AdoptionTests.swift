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
    let viewer = Viewer(try history([adopting(), second]))
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
    let viewer = Viewer(try history([adopting()]))
    #expect(try failure { try viewer.images("$unknown", #"{"x":1}"#, from: 0, to: 1) }.op == "adopt")
    #expect(try failure { try viewer.images("$unknown", #"{"created":1}"#, from: 0, to: 1) }.op == "shape")
    #expect(try failure { try viewer.images("$unknown", #"{"id":"1","created":"x"}"#, from: 0, to: 1) }.pointer == "/at")
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
