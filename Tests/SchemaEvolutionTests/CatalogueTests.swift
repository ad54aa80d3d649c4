import Bytes
import EventModel
import Testing

@testable import SchemaEvolution

/// The operators of the catalogue of Overeem, Spoor and Jansen, each with the op that is its answer here.
@Suite("The catalogue of operators on event stores")
struct CatalogueTests {
    private static let text = "{type: string}"
    private static let one = "required: [id], properties: {id: \(text)}"

    private func event(_ name: String, _ stream: String = "s-{/id}", _ shape: String = CatalogueTests.one) -> String {
        "\(name): {stream: \"\(stream)\", \(shape)}"
    }

    private func step(_ before: [String], _ item: String, _ after: [String]) throws -> PathRunner {
        let history = try history([
            "events: {\(before.joined(separator: ", "))}", "upcast:\n  - \(item)\nevents: {\(after.joined(separator: ", "))}",
        ])
        #expect(history.check().errors == [])
        return PathRunner(history)
    }

    @Test("attribute: add, delete, rename, update, move, split, merge", arguments: attributes)
    func attribute(_ sample: AttributeOperator) throws {
        try expectPair(
            before: sample.before, ops: sample.op, after: sample.after, sample.low, sample.high, opClass: sample.opClass)
    }

    @Test("event: add")
    func addEvent() throws {
        let viewer = try step([event("A")], #"add-event: {type: B, down: {hide: "new"}}"#, [event("A"), event("B")])
        #expect(try viewer.images("B", #"{"id":"1"}"#, from: 2, to: 1).isEmpty)
        #expect(viewer.counts.hidden == 1)
    }

    @Test("event: delete")
    func deleteEvent() throws {
        let viewer = try step([event("A"), event("B")], #"drop-event: {type: B, because: "nobody reads it"}"#, [event("A")])
        #expect(try viewer.images("B", #"{"id":"1"}"#, from: 1, to: 2).isEmpty)
        #expect(viewer.counts.dropped == 1)
    }

    @Test("event: rename")
    func renameEvent() throws {
        let viewer = try step([event("A")], "rename-event: {from: A, to: B}", [event("B")])
        #expect(try viewer.images("A", #"{"id":"1"}"#, from: 1, to: 2).map(\.type) == ["B"])
        #expect(try viewer.images("B", #"{"id":"1"}"#, from: 2, to: 1).map(\.type) == ["A"])
    }

    @Test("event: merge, those of one append with the same key, and apart again on the way down")
    func mergeEvents() throws {
        func shape(_ members: String, _ required: String) -> String {
            "required: [\(required)], properties: {id: \(Self.text), \(members)}"
        }
        let viewer = try step(
            [
                event("Named", "s-{/id}", shape("name: \(Self.text)", "id, name")),
                event("Priced", "s-{/id}", shape("price: {type: integer}", "id, price")),
            ],
            "merge-events: {types: [Named, Priced], into: Listed, on: /id}",
            [event("Listed", "s-{/id}", shape("name: \(Self.text), price: {type: integer}", "id, name"))])
        let events = [
            ("Named", #"{"id":"1","name":"a"}"#), ("Priced", #"{"id":"2","price":9}"#), ("Priced", #"{"price":5,"id":"1"}"#),
            ("Named", #"{"id":"1","name":"b"}"#),
        ].map { AppendedEvent(type: $0.0, payload: Array($0.1.utf8), metadata: [], time: .now, stream: "s-1") }
        var (seen, failed): ([Int: String], [Int]) = ([:], [])
        try viewer.view(appended: events, born: SchemaVersion(1), at: SchemaVersion(2), failed: { index, _ in failed.append(index) }) {
            seen[$0] = "\($1.type) \(String(decoding: [UInt8](copying: $1.payload), as: UTF8.self))"
        }
        #expect(failed == [1], "a price alone is no Listed")
        #expect(seen == [2: #"Listed {"id":"1","name":"a","price":5}"#, 3: #"Listed {"id":"1","name":"b"}"#])
        let apart = try viewer.images("Listed", #"{"id":"1","name":"a","price":5}"#, from: 2, to: 1)
        #expect(apart.map(\.type) == ["Named", "Priced"])
        #expect(try canonical(apart[1].json) == #"{"id":"1","price":5}"#)
        #expect(try viewer.images("Listed", #"{"id":"1","name":"a"}"#, from: 2, to: 1).map(\.type) == ["Named"])
        #expect(try viewer.path(type: "Named", born: SchemaVersion(1), to: SchemaVersion(2)).merges)
        #expect(try !viewer.path(type: "Listed", born: SchemaVersion(2), to: SchemaVersion(1)).merges)
    }

    @Test("event: update, to several types by a member")
    func updateEvent() throws {
        let tagged = "required: [id, kind], properties: {id: \(Self.text), kind: {type: string, enum: [x, y]}}"
        let viewer = try step(
            [event("A", "s-{/id}", tagged)], "rename-event: {from: A, by: /kind, to: {x: X, y: Y}}", [event("X"), event("Y")])
        #expect(try viewer.images("A", #"{"id":"1","kind":"y"}"#, from: 1, to: 2).map(\.type) == ["Y"])
        let back = try viewer.images("Y", #"{"id":"1"}"#, from: 2, to: 1)
        #expect(try canonical(back[0].json) == #"{"id":"1","kind":"y"}"#)
    }

    @Test("event: split")
    func splitEvent() throws {
        let wide = "required: [id, a, b], properties: {id: \(Self.text), a: \(Self.text), b: \(Self.text)}"
        let viewer = try step(
            [event("A", "s-{/id}", wide)],
            """
            split-event: {type: A, into: [
              {type: B, pick: [/id, /a], down: {as: {/b: ""}}}, {type: C, pick: [/id, /b], down: {hide: "in B"}}]}
            """.replacing("\n", with: " "),
            [
                event("B", "s-{/id}", "required: [id, a], properties: {id: \(Self.text), a: \(Self.text)}"),
                event("C", "s-{/id}", "required: [id, b], properties: {id: \(Self.text), b: \(Self.text)}"),
            ])
        let seen = try viewer.images("A", #"{"id":"1","a":"x","b":"y"}"#, from: 1, to: 2, validating: true)
        #expect(seen.map(\.type) == ["B", "C"])
        #expect(seen.map(\.part) == [0, 1])
    }

    @Test("event: move to another stream, and stream: rename")
    func moveEvent() throws {
        let viewer = try step([event("A")], #"rekey: {from: "s-{id}", to: "t-{id}"}"#, [event("A", "t-{/id}")])
        let name = try viewer.history.streamName(StreamName("s-1"), from: SchemaVersion(1), to: SchemaVersion(2))
        #expect(name.text == "t-1")
    }

    @Test("stream: add and delete, with the types that live in it")
    func addAndDeleteStream() throws {
        let added = try step([event("A")], #"add-event: {type: B, down: {hide: "new"}}"#, [event("A"), event("B", "other-{/id}")])
        #expect(added.history.shape(of: "B", at: SchemaVersion(2))?.stream?.description == "other-{/id}")
        _ = try step([event("A"), event("B", "other-{/id}")], #"drop-event: {type: B, because: "gone"}"#, [event("A")])
    }

    @Test("stream: split and merge, as long as every name leads back")
    func splitAndMergeStreams() throws {
        let viewer = try step([event("A")], #"rekey: {from: "s-eu-{id}", to: "eu-{id}"}"#, [event("A")])
        let (one, two) = (SchemaVersion(1), SchemaVersion(2))
        #expect(try viewer.history.streamName(StreamName("s-eu-1"), from: one, to: two).text == "eu-1")
        #expect(try viewer.history.streamName(StreamName("s-us-1"), from: one, to: two).text == "s-us-1")
        #expect(try viewer.history.streamName(StreamName("eu-1"), from: two, to: one).text == "s-eu-1")
        #expect(try failure { try viewer.history.streamName(StreamName("eu-1"), from: one, to: two) }.pointer == "$stream")
    }

    struct AttributeOperator: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let before, op, after, low, high: String
        let opClass: OpClass
    }

    private static let attributes = [
        AttributeOperator(
            testDescription: "add", before: one, op: "add: {path: /c, value: USD}",
            after: "required: [id, c], properties: {id: \(text), c: \(text)}", low: #"{"id":"1"}"#, high: #"{"id":"1","c":"USD"}"#,
            opClass: .widen),
        AttributeOperator(
            testDescription: "delete", before: "required: [id, c], properties: {id: \(text), c: \(text)}",
            op: #"remove: {path: /c, restore: USD, because: "always the same"}"#, after: one, low: #"{"id":"1","c":"USD"}"#,
            high: #"{"id":"1"}"#, opClass: .narrow),
        AttributeOperator(
            testDescription: "rename", before: one, op: "move: {from: /id, path: /key}",
            after: "required: [key], properties: {key: \(text)}", low: #"{"id":"1"}"#, high: #"{"key":"1"}"#, opClass: .iso),
        AttributeOperator(
            testDescription: "update", before: one, op: "convert: {path: /id, to: integer, using: integer-text}",
            after: "required: [id], properties: {id: {type: integer}}", low: #"{"id":"1"}"#, high: #"{"id":1}"#, opClass: .iso),
        AttributeOperator(
            testDescription: "move", before: one, op: "move: {from: /id, path: /ref/id}",
            after: "required: [ref], properties: {ref: {type: object, required: [id], properties: {id: \(text)}}}", low: #"{"id":"1"}"#,
            high: #"{"ref":{"id":"1"}}"#, opClass: .iso),
        AttributeOperator(
            testDescription: "split", before: one,
            op: "split: {path: /id, into: [/a, /b], separator: \"-\", at: first, missing: error}",
            after: "required: [a, b], properties: {a: \(text), b: \(text)}", low: #"{"id":"x-y"}"#, high: #"{"a":"x","b":"y"}"#,
            opClass: .partial),
        AttributeOperator(
            testDescription: "merge", before: "required: [a, b], properties: {a: \(text), b: \(text)}",
            op: "join: {paths: [/a, /b], path: /id, separator: \"-\", at: first, missing: error}", after: one, low: #"{"a":"x","b":"y"}"#,
            high: #"{"id":"x-y"}"#, opClass: .partial),
    ]
}
