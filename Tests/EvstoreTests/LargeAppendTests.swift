import Evstore
import EvstoreTesting
import Testing

/// The events of a large append are checked in slices, side by side.
@Suite("Large appends")
struct LargeAppendTests {
    private func placed(_ number: Int, total: Int = 7) throws -> NewEvent {
        try .event("order-\(number)", "OrderPlaced", #"{"id":"\#(number)","customer":"c","total":\#(total)}"#, at: 1)
    }

    private func tenThousand() throws -> [NewEvent] { try (0 ..< 10_000).map { try placed($0) } }

    @Test("one invalid event among ten thousand is named, and nothing is stored", arguments: [0, 4_999, 5_000, 7_777, 9_999])
    func wrong(index: Int) async throws {
        let temporary = try await Orders.store(at: 1)
        var events = try tenThousand()
        events[index] = try placed(index, total: -index - 1)
        let error = await #expect(throws: EvstoreError.self) { try await temporary.store.append(events) }
        guard case .invalidEvent(_, _, let pointer, let reason) = error else { return #expect(error == nil) }
        #expect(pointer == "/total" && reason.hasSuffix("found \(-index - 1)"))
        #expect(try temporary.store.last().position == .start)
    }

    @Test("of several invalid events the first is named, and none of them is stored by a later append")
    func firstOfSeveral() async throws {
        let temporary = try await Orders.store(at: 1)
        var events = try tenThousand()
        for index in [9_998, 5_001, 5_000, 6_000, 9_999] {
            events[index] = try placed(index, total: -index)
            let error = await #expect(throws: EvstoreError.self) { try await temporary.store.append(events) }
            guard case .invalidEvent(_, _, _, let reason) = error else { return #expect(error == nil) }
            #expect(reason.hasSuffix("found \(index == 9_998 ? -9_998 : index == 5_001 ? -5_001 : -5_000)"))
        }
        let receipt = try await temporary.store.append(try tenThousand())
        #expect(receipt.positions == 1 ... 10_000)
        #expect(try temporary.store.read(StreamName("order-5001")).map(\.position) == [Position(5_002)])
    }

    @Test("events keep their order over all slices, and a later append continues their streams")
    func order() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        _ = try await store.append(try (0 ..< 5_000).map { try placed($0 % 7, total: $0) })
        let read = try store.read(StreamName("order-3"))
        #expect(read.map(\.position.rawValue) == Array(stride(from: 4, through: 5_000, by: 7)))
        let receipt = try await store.append(try placed(3), expecting: .revision(read[read.count - 1].revision))
        #expect(receipt.positions == 5_001 ... 5_001)
    }

    @Test("ten thousand events that are repeated with their first one's id are stored once")
    func repeated() async throws {
        let temporary = try await Orders.store(at: 1)
        var events = try tenThousand()
        events[0].id = try EventID("import-1")
        let receipt = try await temporary.store.append(events)
        let again = try await temporary.store.append(events)
        #expect(again.duplicate && again.positions == receipt.positions)
        #expect(try temporary.store.last().position == Position(10_000))
    }
}
