import Evstore
import EvstoreTesting
import Testing

/// An event that is appended again under the id which the store made for it.
@Suite("Ids that the store made")
struct MadeIDTests {
    private func order(_ number: Int, _ id: EventID? = nil, customer: String = "Ada") throws -> NewEvent {
        NewEvent(
            stream: try StreamName("order-\(number)"), type: "OrderPlaced",
            payload: Array(#"{"id":"\#(number)","customer":"\#(customer)","total":1}"#.utf8), id: id)
    }

    @Test("one event, and a whole append, are there already: the first receipt comes back, whatever came since")
    func again() async throws {
        let temporary = try await ImportTests.store()
        let store = temporary.store
        let one = try await store.append([order(1)])
        let both = try await store.append([order(2), order(3)])
        _ = try await store.append([order(4)])
        let ids = try store.read(StreamName("order-3")).map(\.id)
        for _ in 0 ..< 2 {
            let again = try await store.append([order(1, one.id)])
            #expect(again.duplicate && again.position == one.position && again.id == one.id)
            let asWell = try await store.append([order(2, both.id), order(3, ids[0])])
            #expect(asWell.duplicate && asWell.positions == both.positions)
            // Of those that were appended together, each by itself.
            let second = try await store.append([order(3, ids[0])])
            #expect(second.duplicate && second.position == Position(3))
        }
        #expect(try store.last().position == Position(4))
    }

    @Test("other content under such an id is refused, and so is one that is not the first of its append; keepFirst takes what is there")
    func reused() async throws {
        let temporary = try await ImportTests.store()
        let store = temporary.store
        let one = try await store.append([order(1)])
        for events in try [[order(1, one.id, customer: "Bo")], [order(1, one.id), order(2)], [order(2), order(1, one.id)]] {
            await #expect { _ = try await store.append(events) } throws: { ($0 as? EvstoreError)?.code == "idReused" }
        }
        #expect(try await store.append([order(1, one.id, customer: "Bo")], sameID: .keepFirst).duplicate)
        #expect(try store.last().position == Position(1))
    }

    @Test("ids of that form which the store did not make are appended, and known again")
    func given() async throws {
        let temporary = try await ImportTests.store()
        let store = temporary.store
        var generator = SystemRandomNumberGenerator()
        let times = [Timestamp.now, Timestamp(microseconds: 1_000_000), Timestamp(microseconds: 1 << 52)]
        for (number, time) in times.enumerated() {
            let id = EventID.make(at: time, using: &generator)
            #expect(try await !store.append([order(number, id)]).duplicate)
            #expect(try await store.append([order(number, id)]).duplicate)
        }
        #expect(try store.last().position == Position(3))
    }
}
