import Evstore
import EvstoreTesting
import Testing

@Suite("Appending")
struct AppendTests {
    @Test("an append with a stale revision changes nothing, also where the condition is on a stream it does not write")
    func conditions() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        let (one, two) = (try StreamName("order-1"), try StreamName("order-2"))
        _ = try await store.append(try Orders.placed("1", at: 1), expecting: .noStream)
        await #expect(throws: EvstoreError.expectationFailed(stream: one, expected: .noStream, actual: .first)) {
            try await store.append(try Orders.placed("1", at: 1), expecting: .noStream)
        }
        await #expect(throws: EvstoreError.expectationFailed(stream: two, expected: .exists, actual: nil)) {
            try await store.append(
                [try Orders.placed("1", at: 1)], conditions: [StreamCondition(one, .revision(.first)), StreamCondition(two, .exists)])
        }
        #expect(try store.last().position == Position(1))
        let receipt = try await store.append(
            [try Orders.placed("1", at: 1), try Orders.placed("2", at: 1)],
            conditions: [StreamCondition(one, .revision(.first)), StreamCondition(two, .noStream)])
        #expect(receipt.positions == 2 ... 3)
        #expect(receipt.stream == two && receipt.revision == .first && !receipt.duplicate)
    }

    @Test("what can't be an event is refused by name and changes nothing")
    func refusals() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        func code(_ stream: String, _ type: String, _ payload: String, at version: Int = 1, metadata: String? = nil) async throws -> String?
        {
            do {
                _ = try await store.append([try .event(stream, type, payload, at: version, metadata: metadata)])
                return nil
            } catch { return error.code }
        }
        #expect(try await code("order-1", "OrderPaid", #"{"id":"1","method":"card"}"#) == nil)
        #expect(try await code("order-1", "OrderPaid", #"{"id":"1","method":"card""#) == "invalidJSON")
        #expect(try await code("order-1", "OrderPaid", #"{"id":"1","id":"1","method":"card"}"#) == "invalidJSON")
        #expect(try await code("order-1", "OrderPaid", "[]") == "invalidJSON")
        #expect(try await code("order-1", "OrderPaid", #"{"id":"1","method":"card"}"#, metadata: "3") == "invalidJSON")
        #expect(try await code("order-1", "OrderPaid", #"{"id":"1","method":"gold"}"#) == "invalidEvent")
        #expect(try await code("order-1", "OrderPlaced", #"{"id":"1","customer":"Ann"}"#) == "invalidEvent")
        #expect(try await code("order-1", "OrderPaid", #"{"id":"1","method":"card","tip":1}"#) == "invalidEvent")
        #expect(try await code("order-1", "PaymentCaptured", #"{"id":"1","method":"card"}"#) == "unknownType")
        #expect(try await code("order-2", "OrderPaid", #"{"id":"1","method":"card"}"#) == "streamMismatch")
        #expect(try await code("order 1", "OrderPaid", #"{"id":"1","method":"card"}"#) == "invalidStreamName")
        #expect(try await code("order-1", "OrderPaid", #"{"id":"1","method":"card"}"#, at: 2) == "versionNotAllowed")
        #expect(try await code("order-1", "OrderPaid", #"{"id":"1","method":"card"}"#, at: 0) == "versionNotAllowed")
        let deep = String(repeating: #"{"a":"#, count: 80) + "1" + String(repeating: "}", count: 80)
        #expect(try await code("order-1", "OrderPaid", deep) == "invalidJSON")
        let long = String(repeating: "x", count: store.options.eventBytesMax)
        #expect(try await code("order-1", "OrderPaid", #"{"id":"\#(long)","method":"card"}"#) == "eventTooLarge")
        #expect(throws: EvstoreError.invalidEventID("")) { try EventID("") }
        await #expect(throws: EvstoreError.misuse("an append holds at least one event")) { try await store.append([]) }
        let event = try Orders.placed("1", at: 1)
        let many = Array(repeating: event, count: store.options.appendEventsMax + 1)
        await #expect { try await store.append(many) } throws: { ($0 as? EvstoreError)?.code == "appendTooLarge" }
        #expect(try store.last().position == Position(1))
    }

    @Test("an append with an id is made once, and other content under the id is refused")
    func idempotence() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        let event = try Orders.placed("1", at: 1, eventID: "a-1")
        let first = try await store.append([event, try Orders.placed("2", at: 1)])
        var spaced = event
        spaced.payload = Array(#"{ "total": 100, "customer":"Ann", "id":"\u0031" }"#.utf8)
        let again = try await store.append([spaced, try Orders.placed("2", at: 1)], conditions: [StreamCondition(event.stream, .noStream)])
        #expect(again.duplicate && !first.duplicate)
        #expect(again.positions == first.positions && again.id == first.id && again.revision == first.revision)
        await #expect(throws: EvstoreError.idReused(id: try EventID("a-1"), position: Position(1)), "another id of the second event") {
            try await store.append([event, try Orders.placed("2", at: 1, eventID: "a-2")])
        }
        var other = event
        other.payload = Array(#"{"id":"1","customer":"Bob","total":100}"#.utf8)
        await #expect(throws: EvstoreError.idReused(id: try EventID("a-1"), position: Position(1))) { try await store.append([other]) }
        #expect(try await store.append([other], sameID: .keepFirst).positions == first.positions)
        await #expect(throws: EvstoreError.idReused(id: try EventID("a-1"), position: Position(1))) {
            try await store.append([event])
        }
        #expect(try store.last().position == Position(2))
    }

    @Test("many callers at once each get their own place")
    func concurrent() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        let positions = try await withThrowingTaskGroup(of: UInt64.self) { group in
            for index in 0 ..< 200 {
                group.addTask { try await store.append([try Orders.placed("\(index % 7)", at: 1)]).position.rawValue }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(positions.sorted() == Array(1 ... 200))
    }

    @Test("two handles of one process share one store")
    func twoHandles() async throws {
        let temporary = try await Orders.store(at: 1)
        let second = try await temporary.open()
        _ = try await temporary.store.append([try Orders.placed("1", at: 1)])
        _ = try await second.append([try Orders.placed("2", at: 1)])
        #expect(try temporary.store.last() == second.last())
        #expect(try second.read(try StreamName("order-1")).count == 1)
        try await second.close()
        _ = try await temporary.store.append([try Orders.placed("3", at: 1)])
        #expect(try temporary.store.last().position == Position(3))
    }

    @Test("a store opened to be read only refuses appends")
    func readOnly() async throws {
        let temporary = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1)])
        try await temporary.store.close()
        let reader = try await temporary.open(readOnly: true)
        #expect(try reader.read(try StreamName("order-1")).count == 1)
        await #expect { try await reader.append([try Orders.placed("1", at: 1)]) } throws: { ($0 as? EvstoreError)?.code == "readOnly" }
    }
}
