import Evstore
import EvstoreTesting
import Foundation
import Testing

@Suite("Events as values of other programs")
struct EventCodingTests {
    private func coded(_ payload: String, metadata: String? = nil) async throws -> (event: RecordedEvent, text: String) {
        let files = try SchemaFiles(
            versions: [
                """
                evstore: 1
                version: 1
                events:
                  E:
                    properties:
                      a: {type: array, items: {type: [number, 'null']}}
                      b: {type: string}
                      c: {type: boolean}
                      d: {type: object, properties: {x: {type: number}, y: {type: number}}}
                """
            ])
        let temporary = try await TemporaryStore.make(files.load())
        let stream = try StreamName("s-1")
        let new = NewEvent(stream: stream, type: "E", payload: Array(payload.utf8), metadata: metadata.map { Array($0.utf8) })
        _ = try await temporary.store.append([new])
        let event = try #require(try temporary.store.read(stream).first)
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let data = try encoder.encode(event)
        let back = try JSONDecoder().decode(RecordedEvent.self, from: data)
        var same = back
        (same.payload, same.metadata) = (event.payload, event.metadata)
        #expect(same == event)
        #expect(
            try JSONSerialization.jsonObject(with: Data(back.payload)) as? NSDictionary == JSONSerialization.jsonObject(
                with: Data(event.payload)) as? NSDictionary)
        #expect(back.metadata.isEmpty == event.metadata.isEmpty)
        return (event, String(decoding: data, as: UTF8.self))
    }

    @Test("an event goes through JSONEncoder and back, its payload as an object of its own")
    func there() async throws {
        let (event, text) = try await coded(
            #"{"a":[1,2.50,null],"b":"ü \"q\"","c":true,"d":{}}"#, metadata: #"{"by":"ada"}"#)
        #expect(text.contains(#""payload":{"a":[1,2.5,null],"b":"ü \"q\"","c":true,"d":{}}"#) && text.contains(#""metadata":{"by":"ada"}"#))
        #expect(text.contains(#""born":1,"#) && text.contains(#""id":"\#(event.id)""#) && text.contains(#""position":1"#))
        #expect(event.checkpoint == Checkpoint(epoch: .first, position: Position(1)))
    }

    @Test("numbers keep all their digits as far as a Decimal has them")
    func numbers() async throws {
        let (_, text) = try await coded(#"{"a":[12345678901234567890123456789,-9223372036854775808],"d":{"x":0.1}}"#)
        #expect(text.contains("12345678901234567890123456789") && text.contains("-9223372036854775808") && text.contains(#""x":0.1}"#))
    }

    @Test("what is no event is refused with the member that is missing")
    func wrong() {
        #expect(throws: DecodingError.self) { try JSONDecoder().decode(RecordedEvent.self, from: Data(#"{"stream":"s"}"#.utf8)) }
    }

    @Test("a moment is a date and back, to the microsecond")
    func dates() throws {
        let time = try #require(Timestamp("2026-11-28T12:00:00.123456Z"))
        #expect(Timestamp(time.date) == time)
        #expect(Timestamp(Date.distantFuture) > time && Timestamp(Date(timeIntervalSince1970: .infinity)) == Timestamp(microseconds: .max))
    }

    @Test("a version may be written as a number")
    func literals() async throws {
        let version: SchemaVersion = 5
        #expect(version == SchemaVersion(5) && version.description == "v5")
    }
}
