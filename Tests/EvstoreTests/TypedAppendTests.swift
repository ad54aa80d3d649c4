import Evstore
import EvstoreTesting
import Testing

@Suite("Typed appends")
struct TypedAppendTests {
    @Test("typed events of one append share metadata and time, and the append's id makes it once")
    func together() async throws {
        let temporary = try await TemporaryStore.make(SchemaFiles(versions: typedOrders).load())
        defer { withExtendedLifetime(temporary) {} }
        let store = temporary.store
        let (stream, by) = (try StreamName("order-5"), Array(#"{"by":"ada"}"#.utf8))
        let time = try #require(Timestamp("2026-01-02T03:04:05Z"))
        let events: [any Event] = [OrderPlaced(id: "5", customer: "Bo", cents: 1), OrderVoided(id: "5")]
        func append() async throws -> AppendReceipt {
            try await store.append(events, to: stream, expecting: .noStream, metadata: by, id: EventID("five"), time: time)
        }
        let first = try await append()
        #expect(first.positions == 1 ... 2 && first.id.text == "five" && !first.duplicate)
        #expect(try await append().duplicate)
        let stored = try store.read(stream)
        #expect(stored.map(\.metadata) == [by, by] && stored.map(\.time) == [time, time])
        #expect(Set(stored.map(\.id)).count == 2)
        let one = try await store.append(OrderVoided(id: "0"), to: StreamName("order-0"), expecting: .any, metadata: by, time: time)
        #expect(try store.event(position: one.position)?.metadata(as: [String: String].self) == ["by": "ada"])
    }
}
