import Evstore
import Testing

/// What is refused of Swift types for events.
@Suite("Refused typed events")
struct TypedRefusalTests {
    @Test("two types for one name, two handlers for one type and a later version are refused")
    func duplicates() {
        struct Other: Event {
            static let type = "OrderPlaced"
            static let version = SchemaVersion(2)
        }
        func isMisuse(_ error: any Error) -> Bool { (error as? EvstoreError)?.code == "misuse" }
        #expect(
            performing: {
                try EventCatalogue {
                    OrderPlaced.self; Other.self
                }
            }, throws: isMisuse)
        #expect(performing: { try EventCatalogue(at: SchemaVersion(1)) { OrderPlaced.self } }, throws: isMisuse)
        #expect(
            performing: {
                try EventHandlers {
                    EventHandler(OrderPlaced.self) { _, _ in }
                    EventHandler(Other.self) { _, _ in }
                }
            }, throws: isMisuse)
    }

    @Test("a payload that the Swift type can't read names the member")
    func mismatch() throws {
        let event = RecordedEvent(
            epoch: .first, position: Position(1), stream: try StreamName("order-1"), revision: .first, type: "OrderPlaced",
            payload: Array(#"{"id":"1","customer":"Ann","cents":1.5}"#.utf8), metadata: Array(#"{"by":"me"}"#.utf8), id: try EventID("e"),
            time: .now, born: SchemaVersion(2), version: SchemaVersion(2), part: 0)
        #expect(performing: { try event.decode(OrderPlaced.self) }, throws: { ($0 as? EvstoreError)?.place.pointer == "/cents" })
        #expect(try event.metadata(as: [String: String].self) == ["by": "me"])
    }
}
