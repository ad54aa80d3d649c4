import Bytes
import EventModel
import Testing

@testable import SchemaEvolution

private let before = """
    events:
      Placed:
        stream: "o-{/id}"
        required: [id, total, contact]
        properties:
          id: {type: string}
          total: {type: integer}
          contact: {type: object, required: [emails], properties: {emails: {type: array, items: {type: string}}}}
    """

private let after = """
    upcast:
      - split-event:
          type: Placed
          into:
            - {type: Placed, pick: [/id, /total], down: {as: {/contact: {emails: []}}}}
            - type: ContactRecorded
              pick: [/id, /contact]
              when: {path: /contact/emails, in: [["a"], ["b"]]}
              do:
                - move: {from: /contact/emails, path: /emails}
              down: {hide: "version 1 reads contacts of orders only"}
    events:
      Placed:
        stream: "o-{/id}"
        required: [id, total]
        properties: {id: {type: string}, total: {type: integer}}
      ContactRecorded:
        stream: "o-{/id}"
        required: [id, emails]
        properties: {id: {type: string}, emails: {type: array, items: {type: string}}}
    """

/// The images, at version 1, of parts of one event of version 2.
private func joined(_ viewer: PathRunner, _ parts: [Seen], to target: Int = 1, from born: Int = 2) throws -> [Seen] {
    var seen: [Seen] = []
    let none: [UInt8] = []
    let time = try #require(Timestamp("2026-01-01T00:00:00Z"))
    try viewer.view(
        group: parts.map { GroupPart(type: $0.type, payload: Array($0.json.utf8)) }, born: SchemaVersion(born),
        EventContext(time: time, stream: "o-1", metadata: none.lent), at: SchemaVersion(target), validating: true
    ) { image in
        seen.append(Seen(type: image.type, json: String(decoding: [UInt8](copying: image.payload), as: UTF8.self), part: image.part))
    }
    return seen
}

private let whole = #"{"id":"1","total":5,"contact":{"emails":["a"]}}"#

@Test("an event is split into parts at one position, each with what it picks")
func splitsAnEvent() throws {
    let viewer = PathRunner(try history([before, after]))
    #expect(viewer.history.check().errors == [])
    let seen = try viewer.images("Placed", whole, from: 1, to: 2, validating: true)
    #expect(
        seen == [
            Seen(type: "Placed", json: #"{"id":"1","total":5}"#, part: 0),
            Seen(type: "ContactRecorded", json: #"{"id":"1","emails":["a"]}"#, part: 1),
        ])
    #expect(viewer.counts.lost == 0)
}

@Test("the parts of one event are joined again to what it was")
func joinsParts() throws {
    let viewer = PathRunner(try history([before, after]))
    let back = try joined(viewer, try viewer.images("Placed", whole, from: 1, to: 2))
    #expect(back.map(\.type) == ["Placed"])
    #expect(try canonical(back[0].json) == canonical(whole))
}

@Test("a guard leaves a part out, and what only that part takes is a counted loss unless it is restored")
func guardsParts() throws {
    let viewer = PathRunner(try history([before, after]))
    let none = #"{"id":"1","total":5,"contact":{"emails":[]}}"#
    let seen = try viewer.images("Placed", none, from: 1, to: 2, validating: true)
    #expect(seen.map(\.type) == ["Placed"])
    #expect(viewer.counts.lost == 0)
    #expect(try canonical(joined(viewer, seen)[0].json) == canonical(none))
    _ = try viewer.images("Placed", #"{"id":"1","total":5,"contact":{"emails":["c"]}}"#, from: 1, to: 2)
    #expect(viewer.counts.lost == 1)
}

@Test("a member that the event did not have stays absent where a part is there that would have brought it")
func inventsNothing() throws {
    let viewer = PathRunner(
        try history([
            "events: {A: {required: [id], properties: {id: {type: string}, n: {type: integer}}}}",
            """
            upcast:
              - split-event:
                  type: A
                  into: [{type: A, pick: [/id], down: {as: {/n: 0}}}, {type: B, pick: [/id, /n], down: {hide: it is of A}}]
            events:
              A: {required: [id], properties: {id: {type: string}}}
              B: {required: [id], properties: {id: {type: string}, n: {type: integer}}}
            """,
        ]))
    let parts = try viewer.images("A", #"{"id":"1"}"#, from: 1, to: 2)
    #expect(parts.map(\.type) == ["A", "B"])
    #expect(try joined(viewer, parts).map(\.json) == [#"{"id":"1"}"#])
    #expect(try joined(viewer, [parts[0]]).map(\.json) == [#"{"id":"1","n":0}"#])
}

@Test(
    "a lone part whose way down gives an event without that part is a warning",
    arguments: [
        ("equals: q", "{as: {/k: p}}", true), ("equals: q", "{as: {/k: q}}", false), ("exists: false", "{as: {/k: q}}", true),
        ("exists: true", "as", true), ("exists: false", "as", false), ("in: [a, b]", "{as: {/k: b}}", false),
        ("equals: q", "{hide: x}", false),
    ])
func contradicts(_ test: String, _ down: String, _ warns: Bool) throws {
    let history = try history([
        "events: {A: {required: [id], properties: {\(whole1), k: {type: string}}}}",
        """
        upcast:
          - split-event:
              type: A
              into: [{type: P, pick: [/id, /k], down: {hide: x}}, {type: Q, pick: [/id], when: {path: /k, \(test)}, down: \(down)}]
        events:
          P: {required: [id], properties: {\(whole1), k: {type: string}}}
          Q: {required: [id], properties: {\(whole1)}}
        """,
    ])
    let found = history.check().filter { $0.message.contains("as does not give what when asks for") }
    #expect(found.map(\.severity) == (warns ? [.warning] : []), "\(history.check())")
    // The warning is right: an event that was born as the lone part does not have it again.
    let lone = PathRunner(history)
    let below = try lone.images("Q", #"{"id":1}"#, from: 2, to: 1)
    let again = try below.flatMap { try lone.images("A", $0.json, from: 1, to: 2) }
    #expect(below.isEmpty || again.contains { $0.type == "Q" } != warns)
}

/// A type whose members lie in an object, and parts that take some of them.
private func parted(_ shape: String, _ parts: String, _ shapes: [String]) throws -> PathRunner {
    let types = zip(["P", "Q", "R"], shapes).map { "  \($0): {\($1)}" }.joined(separator: "\n")
    let viewer = PathRunner(
        try history([
            "events: {A: {\(shape)}}", "upcast: [{split-event: {type: A, because: unread, into: [\(parts)]}}]\nevents:\n\(types)",
        ]))
    #expect(viewer.history.check().errors == [])
    return viewer
}

private let (whole1, x) = ("id: {type: integer}", "{type: object, properties: {x: {type: integer}}}")

@Test("a part has the objects around what it takes that it always has, and so has the event that is joined of it")
func requiredObjects() throws {
    let viewer = try parted(
        "required: [id, o], properties: {\(whole1), o: \(x)}",
        "{type: P, pick: [/id], down: {hide: x}}, {type: Q, pick: [/o/x], down: {hide: x}}",
        ["required: [id], properties: {\(whole1)}", "required: [o], properties: {o: \(x)}"])
    let parts = try viewer.images("A", #"{"id":1,"o":{}}"#, from: 1, to: 2, validating: true)
    #expect(parts.map(\.json) == [#"{"id":1}"#, #"{"o":{}}"#])
    #expect(try joined(viewer, parts).map(\.json) == [#"{"id":1,"o":{}}"#])
}

@Test("a value of a part does not stand in for an object of which another part takes a member")
func takenWithin() throws {
    let viewer = try parted(
        "required: [id], properties: {\(whole1), o: \(x)}",
        "{type: P, pick: [/id], down: {as: {/o: {x: 1}}}}, {type: Q, pick: [/o/x], down: {hide: x}}",
        ["required: [id], properties: {\(whole1)}", "properties: {o: \(x)}"])
    #expect(try joined(viewer, try viewer.images("A", #"{"id":1}"#, from: 1, to: 2)).map(\.json) == [#"{"id":1}"#])
    #expect(viewer.history.opClass(from: SchemaVersion(1), to: SchemaVersion(2)).contains(.partial), "{} and nothing become the same")
}

@Test("of parts of which one takes an object and another a member of it, the object comes back whole, in whatever order they stand")
func overlappingPicks() throws {
    let object = "{type: object, properties: {x: {type: integer}, y: {type: integer}}}"
    let viewer = try parted(
        "required: [id, o], properties: {\(whole1), o: \(object)}",
        "{type: P, pick: [/id, /o/x], down: {hide: x}}, {type: Q, pick: [/o/x, /o], down: {hide: x}}",
        ["required: [id, o], properties: {\(whole1), o: \(x)}", "required: [o], properties: {o: \(object)}"])
    let parts = try viewer.images("A", #"{"id":1,"o":{"x":1,"y":2}}"#, from: 1, to: 2, validating: true)
    #expect(parts.map(\.json) == [#"{"id":1,"o":{"x":1}}"#, #"{"o":{"x":1,"y":2}}"#])
    #expect(try joined(viewer, parts).map(\.json) == [#"{"id":1,"o":{"x":1,"y":2}}"#])
    #expect(try canonical(joined(viewer, parts.reversed())[0].json) == #"{"id":1,"o":{"x":1,"y":2}}"#)
}

@Test(
    "what comes back by an as around it or within it is not lost, nor what a part takes within what another would take",
    arguments: [
        ("{type: P, pick: [/id], down: {as: {/o: {x: 1}}}}, {type: Q, pick: [/o/x], when: {path: /id, equals: 2}, down: {hide: x}}", 0, 1),
        ("{type: P, pick: [/id], down: {as: {/o/x: 1}}}, {type: Q, pick: [/id], down: {hide: x}}", 0, 1),
        (
            "{type: P, pick: [/id], down: {hide: x}}, {type: Q, pick: [/o/x], when: {path: /id, equals: 1}, down: {hide: x}}, "
                + "{type: R, pick: [/o], when: {path: /id, equals: 2}, down: {hide: x}}", 0, 0
        ),
    ])
func countsLosses(_ parts: String, _ restored: Int, _ other: Int) throws {
    let object = "properties: {o: \(x)}"
    let second = parts.contains("Q, pick: [/id]") ? "required: [id], properties: {\(whole1)}" : object
    let viewer = try parted(
        "required: [id], properties: {\(whole1), o: \(x)}", parts,
        ["required: [id], properties: {\(whole1)}", second] + (parts.contains("R,") ? [object] : []))
    _ = try viewer.images("A", #"{"id":1,"o":{"x":1}}"#, from: 1, to: 2)
    #expect(viewer.counts.lost == restored)
    _ = try viewer.images("A", #"{"id":1,"o":{"x":2}}"#, from: 1, to: 2)
    #expect(viewer.counts.lost == restored + other)
}

@Test("older versions may see an event as any number of others", arguments: [1, 63, 64, 65, 100])
func manyParts(count: Int) throws {
    let shape = "{required: [id], properties: {id: {type: string}}}"
    let parts = Array(repeating: "{type: A, pick: [/id]}", count: count).joined(separator: ", ")
    let viewer = PathRunner(
        try history([
            "events: {A: \(shape)}", "upcast: [{add-event: {type: N, down: {as: [\(parts)]}}}]\nevents: {A: \(shape), N: \(shape)}",
        ]))
    #expect(try viewer.images("N", #"{"id":"1"}"#, from: 2, to: 1).count == count)
    let byOps = try viewer.history.path(type: "N", born: SchemaVersion(2), to: SchemaVersion(1))
    var images = 0
    let (payload, none) = (Array(#"{"id":"1"}"#.utf8), [UInt8]())
    try viewer.interpreter.run(byOps, SourceEvent(payload: payload.lent, time: .now, metadata: none.lent), stream: "s") { _ in images += 1 }
    #expect(images == count)
}

@Test("a part that stands alone uses its own way down")
func loneParts() throws {
    let viewer = PathRunner(try history([before, after]))
    let placed = try viewer.images("Placed", #"{"id":"1","total":5}"#, from: 2, to: 1, validating: true)
    #expect(try canonical(placed[0].json) == canonical(#"{"id":"1","total":5,"contact":{"emails":[]}}"#))
    let hidden = try viewer.images("ContactRecorded", #"{"id":"1","emails":["a"]}"#, from: 2, to: 1)
    #expect(hidden.isEmpty)
    #expect(viewer.counts.hidden == 1)
    #expect(try viewer.history.path(type: "Placed", born: .init(1), to: .init(2)).description == "split into Placed + ContactRecorded")
}

@Test("the parts of a newer event that an older split made are joined on the way further down")
func joinsWithinAFan() throws {
    let combined = """
        upcast:
          - add-event:
              type: Both
              down: {as: [{type: Placed, pick: [/id, /total]}, {type: ContactRecorded, pick: [/id, /emails]}]}
        events:
          Placed:
            stream: "o-{/id}"
            required: [id, total]
            properties: {id: {type: string}, total: {type: integer}}
          ContactRecorded:
            stream: "o-{/id}"
            required: [id, emails]
            properties: {id: {type: string}, emails: {type: array, items: {type: string}}}
          Both:
            stream: "o-{/id}"
            required: [id, total, emails]
            properties: {id: {type: string}, total: {type: integer}, emails: {type: array, items: {type: string}}}
        """
    let viewer = PathRunner(try history([before, after, combined]))
    #expect(viewer.history.check().errors == [])
    let both = #"{"id":"1","total":5,"emails":["a"]}"#
    #expect(try viewer.images("Both", both, from: 3, to: 2, validating: true).count == 2)
    let seen = try viewer.images("Both", both, from: 3, to: 1, validating: true)
    #expect(seen.map(\.type) == ["Placed"])
    #expect(try canonical(seen[0].json) == canonical(whole))
}

@Test(
    "a split that could lose an event or a member unseen is refused",
    arguments: [
        ("{type: Placed, pick: [/id, /total], down: block}", "/contact"),
        ("{type: Placed, pick: [/id, /total, /contact], when: {path: /id, exists: true}, down: as}", "without when"),
        ("{type: Placed, pick: [/id, /total, /none], down: as}", "/none"),
        ("{type: Placed, pick: [/id, /contact], down: as}", "/total"),
    ])
func refusesSplits(_ part: String, _ words: String) throws {
    let text = after.split(separator: "\n").map(String.init)
    let head = text.firstIndex { $0.hasPrefix("events:") } ?? 0
    let step = "upcast:\n  - split-event:\n      type: Placed\n      into:\n        - \(part)\n"
    let errors = try history([before, step + text[head...].joined(separator: "\n")]).check().errors
    #expect(errors.contains { $0.contains(words) }, "\(errors)")
}

private func combined(_ parts: String) throws -> History {
    try history([
        "events: {A: {required: [id], properties: {id: {type: string}, b: {type: string}}}, P: {required: [id], properties: {id: {type: string}}}}",
        """
        upcast:
          - split-event: {type: A, into: [{type: A, pick: [/id], down: as}, {type: B, pick: [/id, /b], down: as}]}
        events:
          A: {required: [id], properties: {id: {type: string}}}
          B: {required: [id], properties: {id: {type: string}, b: {type: string}}}
          P: {required: [id], properties: {id: {type: string}}}
        """,
        """
        forward: 1
        upcast:
          - add-event: {type: C, down: {as: [\(parts)]}}
        events:
          A: {required: [id], properties: {id: {type: string}}}
          B: {required: [id], properties: {id: {type: string}, b: {type: string}}}
          P: {required: [id], properties: {id: {type: string}}}
          C: {required: [id], properties: {id: {type: string}, b: {type: string}}}
        """,
    ])
}

@Test(
    "parts go down in their order through a split: a lone one in its place, those of one event where the first of them stood",
    arguments: [
        (["A", "P"], ["A", "P"]), (["P", "A"], ["P", "A"]), (["A", "P", "B"], ["A b", "P"]), (["P", "B", "P", "A"], ["P", "A b", "P"]),
        (["A", "A"], ["A", "A"]), (["A", "B", "A", "P"], ["A b", "A", "P"]), (["B", "B", "P"], ["A b", "A b", "P"]),
        (["A", "B", "A", "P", "B"], ["A b", "A b", "P"]),
    ])
func partsInPlace(parts: [String], seen: [String]) throws {
    let rules = parts.map { "{type: \($0), pick: [/id\($0 == "B" ? ", /b" : "")]}" }.joined(separator: ", ")
    let history = try combined(rules)
    #expect(history.check().errors == [])
    let viewer = PathRunner(history)
    let payload = #"{"id":"1","b":"x"}"#
    #expect(try viewer.images("C", payload, from: 3, to: 2).map(\.type) == parts)
    let images = try viewer.images("C", payload, from: 3, to: 1, validating: true)
    #expect(images.map { $0.json.contains("\"b\"") ? "\($0.type) b" : $0.type } == seen)
    #expect(images.map(\.part) == Array(seen.indices))
    var trial = LawTrial(history, isFull: true)
    for file in history.versions {
        for type in file.types { trial.check(TypeAtVersion(type: type, version: file.number), generated: 20, seed: 3) }
    }
    #expect(trial.tally.counts["L5"]?.failed == 0 && trial.tally.counts["L4"]?.failed == 0)
    #expect(trial.tally.counts["L5"]?.tried ?? 0 > 0)
}

@Test("parts of one event that are merged stand where the first of them stood, and those of several at the last event")
func mergedPartsInPlace() throws {
    let id = "required: [id], properties: {id: {type: string}}"
    let both = "required: [id, q], properties: {id: {type: string}, q: {type: string}}"
    let viewer = PathRunner(
        try history([
            "events: {B: {\(id)}, Q: {\(both)}}",
            """
            upcast:
              - split-event:
                  type: B
                  into: [{type: P, pick: [/id], down: as}, {type: B, pick: [/id], down: {hide: x}}]
              - merge-events: {types: [P, Q], into: C, on: /id}
            events: {B: {\(id)}, C: {\(both)}}
            """,
            """
            upcast:
              - split-event:
                  type: B
                  into:
                    - {type: P, pick: [/id], down: as}
                    - {type: B, pick: [/id], down: {hide: x}}
                    - {type: Q, pick: [/id], do: [{copy: {from: /id, path: /q}}], down: {hide: x}}
              - merge-events: {types: [P, Q], into: D, on: /id}
            events: {B: {\(id)}, C: {\(both)}, D: {\(both)}}
            """,
        ]))
    #expect(viewer.history.check().errors == [])
    func seen(_ types: [String], _ born: Int, _ target: Int) throws -> [String] {
        let events = types.map {
            AppendedEvent(
                type: $0, payload: Array(($0 == "Q" ? #"{"id":"1","q":"2"}"# : #"{"id":"1"}"#).utf8), metadata: [],
                time: Timestamp(microseconds: 0), stream: "s")
        }
        var (seen, failed): ([String], [Int]) = ([], [])
        try viewer.view(
            appended: events, born: SchemaVersion(born), at: SchemaVersion(target), failed: { index, _ in failed.append(index) }
        ) { index, image in seen.append("\(index) \(image.type)") }
        #expect(failed == [])
        return seen
    }
    #expect(try seen(["B", "Q"], 1, 2) == ["0 B", "1 C"])
    #expect(try seen(["B"], 2, 3) == ["0 D", "0 B"])
    #expect(try seen(["B", "B"], 2, 3) == ["0 D", "0 B", "1 D", "1 B"])
}
