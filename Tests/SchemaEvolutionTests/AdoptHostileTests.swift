import Bytes
import EventModel
import Testing

@testable import SchemaEvolution

@Suite("Adopting data of any shape")
struct AdoptHostileTests {
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
        let viewer = Viewer(history)
        for raw in [#"{"purse":"none","coins":3}"#, #"{"purse":[1],"coins":3}"#, #"{"purse":null,"coins":3}"#] {
            #expect(throws: EvstoreError.self, "\(raw)") {
                try viewer.view(
                    type: "$unknown", born: SchemaVersion(0), payload: Array(raw.utf8).lent, time: Timestamp(microseconds: 0), stream: "s",
                    metadata: [UInt8]().lent, at: SchemaVersion(1)
                ) { _ in }
            }
        }
    }
}
