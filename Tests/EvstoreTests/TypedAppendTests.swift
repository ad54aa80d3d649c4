import Evstore
import EvstoreTesting
import Testing

private let shop = """
    evstore: 1
    version: 1
    events:
      OrderPlaced:
        required: [id, customer, cents]
        properties: {id: {type: string}, customer: {type: string}, cents: {type: integer}}
      OrderVoided:
        required: [id]
        properties: {id: {type: string}}
    """

private struct Placed: Event {
    static let type = "OrderPlaced"
    static let version = SchemaVersion(1)
    var id, customer: String
    var cents: Int
}

private struct Voided: Event {
    static let type = "OrderVoided"
    static let version = SchemaVersion(1)
    var id: String
}

@Suite("Typed appends")
struct TypedAppendTests {
    @Test("typed events of one append share metadata and time, and the append's id makes it once")
    func together() async throws {
        let temporary = try await TemporaryStore.make(SchemaFiles(shop).load())
        defer { withExtendedLifetime(temporary) {} }
        let store = temporary.store
        let (stream, by) = (try StreamName("order-5"), Array(#"{"by":"ada"}"#.utf8))
        let time = try #require(Timestamp("2026-01-02T03:04:05Z"))
        let events: [any Event] = [Placed(id: "5", customer: "Bo", cents: 1), Voided(id: "5")]
        func append() async throws -> AppendReceipt {
            try await store.append(events, to: stream, expecting: .noStream, metadata: by, id: EventID("five"), time: time)
        }
        let first = try await append()
        #expect(first.positions == 1 ... 2 && first.id.text == "five" && !first.duplicate)
        #expect(try await append().duplicate)
        let stored = try store.read(stream)
        #expect(stored.map(\.metadata) == [by, by] && stored.map(\.time) == [time, time])
        #expect(Set(stored.map(\.id)).count == 2)
        let one = try await store.append(Voided(id: "0"), to: StreamName("order-0"), expecting: .any, metadata: by, time: time)
        #expect(try store.event(position: one.position)?.metadata(as: [String: String].self) == ["by": "ada"])
    }
}
