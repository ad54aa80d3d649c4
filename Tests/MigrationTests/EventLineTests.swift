import Bytes
import EventModel
import JSONText
import Testing

@testable import Migration

@Suite("The one-line format of an event")
struct EventLineTests {
    private func line(
        id: String = "a\"b", part: Int = 0, epoch: Epoch = .first, payload: String = #"{"id":"1"}"#, metadata: String = ""
    ) -> String {
        let event = EventLine(
            stream: StreamName(unchecked: "order-1"), type: "OrderPlaced", id: EventID(unchecked: id),
            time: Timestamp(microseconds: 1_500_000),
            position: Position(7), revision: Revision(2), born: SchemaVersion(1), version: SchemaVersion(3), part: part, epoch: epoch)
        var buffer = ByteBuffer()
        event.write(payload: Array(payload.utf8).lent, metadata: Array(metadata.utf8).lent, into: &buffer)
        return String(decoding: buffer.array(), as: UTF8.self)
    }

    @Test("an event is one line with its place, its birth and the version it is shown at")
    func whole() {
        #expect(
            line()
                == #"{"stream":"order-1","type":"OrderPlaced","data":{"id":"1"},"id":"a\"b","time":"1970-01-01T00:00:01.500Z","version":3,"position":7,"revision":2,"born":1}"#
        )
    }

    @Test("a later part carries its number, a later life its epoch, and metadata is kept")
    func extras() {
        let text = line(id: "a\"b#1", part: 1, epoch: Epoch(2), metadata: #"{"by":"x"}"#)
        #expect(text.contains(##""id":"a\"b#1""##))
        #expect(text.contains(#""metadata":{"by":"x"}"#))
        #expect(text.hasSuffix(#""part":1,"epoch":2}"#))
    }

    @Test("a payload stored over several lines becomes one line with the same JSON value")
    func oneLine() throws {
        let text = line(payload: "{\n  \"id\":\r\n \"1\"\n}")
        #expect(!text.utf8.contains(10) && !text.utf8.contains(13))
        let data = try JSONValue(parsing: Array(text.utf8).lent).member("data")
        #expect(try Canonical.bytes(of: Array((data?.text ?? "").utf8).lent) == Array(#"{"id":"1"}"#.utf8))
    }
}
