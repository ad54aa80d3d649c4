import Evstore
import EvstoreTesting
import Testing

@Suite("Events at every version")
struct VersionsTests {
    @Test("an event born at any version is read at every version", arguments: 1 ... 5)
    func everyPair(born: Int) async throws {
        let temporary = try await Orders.store()
        let receipt = try await temporary.store.append(try Orders.placed("7", at: born), expecting: .noStream)
        #expect(receipt.position == Position(1))
        for version in 1 ... 5 {
            let events = try temporary.store.read(try StreamName("order-7"), at: SchemaVersion(version))
            #expect(events.count == 1)
            let expected = try Orders.placed("7", at: version)
            #expect(try SameJSON.holds(events[0].payload, expected.payload), "\(born) seen at \(version): \(events[0].json)")
            #expect(events[0].born == SchemaVersion(born))
            #expect(events[0].version == SchemaVersion(version))
        }
    }

    @Test("a type filter finds events under the names they were stored with")
    func widenedFilter() async throws {
        let temporary = try await Orders.store()
        let store = temporary.store
        _ = try await store.append([
            try Orders.placed("1", at: 2), try .event("order-1", "OrderPaid", #"{"id":"1","method":"card"}"#, at: 1),
            try .event("order-1", "PaymentCaptured", #"{"id":"1","method":"cash"}"#, at: 5),
        ])
        var seen: [String] = []
        try store.readAll(at: SchemaVersion(5), matching: .type("PaymentCaptured")) { event in
            seen.append("\(event.position) \(event.type)")
            return true
        }
        #expect(seen == ["2 PaymentCaptured", "3 PaymentCaptured"])
        let old = try store.read(try StreamName("order-1"), at: SchemaVersion(1), matching: .type("OrderPaid"))
        #expect(old.map(\.position.rawValue) == [2, 3])
        #expect { try store.read(try StreamName("order-1"), matching: .type("Nothing")) } throws: {
            ($0 as? EvstoreError)?.code == "unknownType"
        }
    }

    @Test("an event that an older version can't see is hidden from it, and a page of hidden events ends nothing")
    func hidden() async throws {
        let temporary = try await Orders.store()
        let store = temporary.store
        let voided = try NewEvent.event("order-1", "OrderVoided", #"{"id":"1"}"#, at: 5)
        _ = try await store.append(Array(repeating: voided, count: 1_500))
        _ = try await store.append([try Orders.placed("1", at: 3)])
        #expect(try store.read(try StreamName("order-1"), at: SchemaVersion(3), limit: 1).map(\.position.rawValue) == [1_501])
        #expect(try store.read(try StreamName("order-1"), at: SchemaVersion(4), limit: 2).map(\.type) == ["OrderVoided", "OrderVoided"])
        var count = 0
        try store.readAll(at: SchemaVersion(3)) { _ in
            count += 1
            return true
        }
        #expect(count == 1)
    }

    @Test("streams and the log are read in both directions from any place")
    func directions() async throws {
        let temporary = try await Orders.store()
        let store = temporary.store
        for index in 0 ..< 10 { _ = try await store.append([try Orders.placed("\(index % 2)", at: 5)]) }
        let stream = try StreamName("order-1")
        let revisions = { (events: [RecordedEvent]) in events.map(\.revision.rawValue) }
        #expect(revisions(try store.read(stream)) == [0, 1, 2, 3, 4])
        #expect(revisions(try store.read(stream, from: Revision(3))) == [3, 4])
        #expect(revisions(try store.read(stream, limit: 2)) == [0, 1])
        #expect(revisions(try store.read(stream, limit: 2, backwards: true)) == [4, 3])
        #expect(revisions(try store.read(stream, from: Revision(1), backwards: true)) == [1, 0])
        #expect(revisions(try store.read(stream, from: Revision(9))) == [])
        #expect(try store.read(try StreamName("order-9")) == [])
        var positions: [UInt64] = []
        try store.readAll(from: Position(7), limit: 3, backwards: true) { event in
            positions.append(event.position.rawValue)
            return true
        }
        #expect(positions == [7, 6, 5])
        positions = []
        try store.readAll(from: Position(8)) { event in
            positions.append(event.position.rawValue)
            return event.position < Position(9)
        }
        #expect(positions == [8, 9])
        #expect(try store.event(position: Position(3))?.born == SchemaVersion(5))
        #expect(try store.event(position: Position(11)) == nil)
    }
}
