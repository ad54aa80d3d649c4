import Bytes
import EventModel
import JSONText
import Testing

@testable import SchemaEvolution

/// Version 2 changes a list, 3 parts the event, and both parts take the list; 4 changes it again.
private let versions = [
    """
    events:
      E:
        required: [id, list]
        properties:
          id: {type: string}
          note: {type: string}
          list: {type: array, items: {type: object, required: [n], properties: {n: {type: string}}}}
    """,
    """
    upcast: [{on: E, do: [{each: {path: /list, do: [{convert: {path: /n, to: integer, using: integer-text}}]}}]}]
    events:
      E:
        required: [id, list]
        properties:
          id: {type: string}
          note: {type: string}
          list: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}}}}
    """,
    """
    upcast:
      - split-event:
          type: E
          into:
            - {type: E, pick: [/id, /list], down: as}
            - {type: Noted, pick: [/id, /list, /note], when: {path: /note, exists: true}, down: {hide: it is of E}}
    events:
      E:
        required: [id, list]
        properties: {id: {type: string}, list: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}}}}}
      Noted:
        required: [id, list, note]
        properties:
          id: {type: string}
          note: {type: string}
          list: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}}}}
    """,
    """
    upcast:
      - {on: E, do: [{wrap: {path: /id}}]}
      - {on: Noted, do: [{wrap: {path: /id}}]}
    events:
      E:
        required: [id, list]
        properties:
          id: {type: array, items: {type: string}}
          list: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}}}}
      Noted:
        required: [id, list, note]
        properties:
          id: {type: array, items: {type: string}}
          note: {type: string}
          list: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}}}}
    """,
]

@Suite("An event that is split in one pass")
struct FusedSplitTests {
    private static let events = [
        #"{"id":"a","list":[{"n":"1"},{"n":"007"}],"note":"x"}"#, #"{"id":"a","list":[{"n":"007"}]}"#,
        #"{ "note": "\"x\"", "list": [ {"n": "+7"} , {"n":"2"} ], "id": "a" }"#, #"{"id":"a","list":[],"note":""}"#,
        #"{"id":"a","list":[{"n":"x"}],"note":"y"}"#,
    ]

    /// Each image's type, part and what stands at pointers, or all of it; the error, where there is one.
    private func seen(_ path: Path, _ json: String, _ viewer: PathRunner, _ pointers: [JSONPointer]) -> [String] {
        var found: [String] = []
        do {
            let (payload, none) = (Array(json.utf8), [UInt8]())
            let source = SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: none.lent)
            try viewer.interpreter.run(path, source, stream: "s") { image in
                var values: [String] = []
                for (index, pointer) in pointers.enumerated() {
                    if image.isWhole {
                        let whole = try JSONValue(parsing: image.payload)
                        values.append(
                            pointer.tokens.reduce(whole) { (value: JSONValue?, name) in value?.member(name.text) }?.text ?? "absent")
                    } else {
                        let place = image.places[index]
                        values.append(
                            place.isPresent ? try JSONValue(parsing: image.payload.slice(place.start, place.size)).text : "absent")
                    }
                }
                if pointers.isEmpty { values = [String(utf8: image.payload) ?? ""] }
                found.append("\(image.type)#\(image.part) \(values)")
            }
        } catch { found.append("\(error)") }
        return found
    }

    @Test("comes out as by its ops one by one: images, errors, and what is counted once", arguments: [2, 3, 4])
    func same(_ target: Int) throws {
        let history = try history(versions)
        let (slow, fused) = (PathRunner(history), PathRunner(history))
        let ops = try history.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(target))
        let path = try fused.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(target))
        #expect(path.fused != nil)
        for json in Self.events {
            #expect(seen(path, json, fused, []) == seen(ops, json, slow, []), "\(json)")
            #expect(fused.counts == slow.counts, "\(json)")
        }
        #expect(fused.counts.nonCanonical == 3)
    }

    @Test("gives the values that are asked for of each image, also beside one that has to be made whole")
    func values() throws {
        let history = try history(versions)
        let ops = try history.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(4))
        for names in [["/id", "/note"], ["/list"], ["/id", "/list"], ["/note"]] {
            for whole in ["", "E", "Noted"] {
                let pointers = try names.map { try JSONPointer($0) }
                let (slow, fused) = (PathRunner(history), PathRunner(history))
                let path = try fused.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(4)) { $0 == whole ? nil : pointers }
                for json in Self.events {
                    #expect(seen(path, json, fused, pointers) == seen(ops, json, slow, pointers), "\(json) \(names) \(whole)")
                    #expect(fused.counts == slow.counts, "\(json)")
                }
            }
        }
    }

    @Test("a copy of a list counts nothing of its elements again")
    func copied() throws {
        let list = "type: array, items: {type: object, required: [n], properties: {n: {type:"
        let history = try history(
            before: "required: [list], properties: {list: {\(list) string}}}}}",
            ops: """
                each: {path: /list, do: [{convert: {path: /n, to: integer, using: integer-text}}]}
                      - copy: {from: /list, path: /kept}
                """,
            after: "required: [list, kept], properties: {list: {\(list) integer}}}}, kept: {\(list) integer}}}}}")
        let viewer = PathRunner(history)
        #expect(try viewer.path(type: "E", born: SchemaVersion(1), to: SchemaVersion(2)).fused != nil)
        #expect(try viewer.up(#"{"list":[{"n":"007"}]}"#) == #"{"list":[{"n":7}],"kept":[{"n":7}]}"#)
        #expect(viewer.counts.nonCanonical == 1)
    }
}
