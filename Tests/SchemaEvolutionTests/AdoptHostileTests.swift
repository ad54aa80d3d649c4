import Bytes
import EventModel
import Testing

@testable import SchemaEvolution

@Suite("Adopting data of any shape")
struct AdoptHostileTests {
    @Test("a list that holds something else than the objects that a later step changes is no image, and never ends the process")
    func textForElement() throws {
        let v1 = """
            evstore: 1
            version: 1
            adopt: [{as: Saved, keep: [/list]}, {otherwise: quarantine}]
            events: {Saved: {required: [list], properties: {list: {type: array, items: {type: object, properties: {}}}}}}
            """
        let v2 = """
            evstore: 1
            version: 2
            upcast: [{on: Saved, do: [{each: {path: /list, do: [{add: {path: /n, value: 1}}]}}]}]
            events:
              Saved:
                required: [list]
                properties: {list: {type: array, items: {type: object, required: [n], properties: {n: {type: integer}}}}}
            """
        let files = try [(v1, "v1.yaml"), (v2, "v2.yaml")].map { try VersionFile(text: Array($0.utf8), file: $1) }
        let viewer = PathRunner(try History(files: files))
        for raw in [#"{"list":["x"]}"#, #"{"list":[{},[1]]}"#, #"{"list":[7]}"#] {
            #expect(throws: EvstoreError.self, "\(raw)") {
                let (payload, none) = (Array(raw.utf8), [UInt8]())
                try viewer.view(
                    SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: none.lent),
                    of: TypeAtVersion(type: "$unknown", version: SchemaVersion(0)), stream: "s", at: SchemaVersion(2)
                ) { _ in }
            }
        }
    }

    @Test("a text where a kept object would be filled is no image, and never ends the process")
    func textForObject() throws {
        let v1 = """
            evstore: 1
            version: 1
            adopt:
              - as: Saved
                keep: [/purse]
                from: {/purse/coins: /coins}
              - otherwise: quarantine
            events:
              Saved:
                required: [purse]
                properties:
                  purse: {type: object, properties: {coins: {type: integer}}}
            """
        let history = try History(files: [VersionFile(text: Array(v1.utf8), file: "v1.yaml")])
        let viewer = PathRunner(history)
        for raw in [#"{"purse":"none","coins":3}"#, #"{"purse":[1],"coins":3}"#, #"{"purse":null,"coins":3}"#] {
            #expect(throws: EvstoreError.self, "\(raw)") {
                let (payload, none) = (Array(raw.utf8), [UInt8]())
                try viewer.view(
                    SourceEvent(payload: payload.lent, time: Timestamp(microseconds: 0), metadata: none.lent),
                    of: TypeAtVersion(type: "$unknown", version: SchemaVersion(0)), stream: "s", at: SchemaVersion(1)
                ) { _ in }
            }
        }
    }
}
