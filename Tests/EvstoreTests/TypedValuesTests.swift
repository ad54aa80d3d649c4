import Evstore
import Foundation
import Testing

@Suite("What Swift values are in JSON")
struct TypedValuesTests {
    @Test("dates, exact decimals, data and addresses have one form in JSON")
    func leaves() throws {
        struct Paid: Event, Equatable {
            static let type = "Paid"
            static let version = SchemaVersion(1)
            var at: Date
            var moment: Timestamp
            var amount: Decimal
            var proof: Data
            var link: URL?
        }
        let moment = try #require(Timestamp("2026-03-02T10:00:00.250Z"))
        let paid = Paid(
            at: Date(timeIntervalSince1970: 1_772_445_600.25), moment: moment, amount: try #require(Decimal(string: "12.30")),
            proof: Data([1, 2]),
            link: URL(string: "https://example.org/a"))
        let event = try NewEvent(paid, to: StreamName("order-1"))
        #expect(
            String(decoding: event.payload, as: UTF8.self)
                == #"{"at":"2026-03-02T10:00:00.250Z","moment":"2026-03-02T10:00:00.250Z","amount":12.3,"proof":"AQI=","link":"https://example.org/a"}"#
        )
        let recorded = RecordedEvent(
            epoch: .first, position: Position(1), stream: event.stream, revision: .first, type: "Paid", payload: event.payload,
            metadata: [],
            id: try EventID("e"), time: .now, born: SchemaVersion(1), version: SchemaVersion(1), part: 0)
        #expect(try recorded.decode(Paid.self) == paid)
    }
}
