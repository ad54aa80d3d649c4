import EventLog
import EventModel
import EvstoreTesting
import Projections
import TestSupport
import Testing

@testable import Evstore

@Suite("Checking a large append in slices")
struct SlicedCheckTests {
    private func event(_ number: Int, _ random: inout SeededGenerator) throws -> NewEvent {
        try .event(
            "order-\(number)", "OrderPlaced", #"{"id":"\#(number)","customer":"c","total":\#(Int.random(in: 0 ... 9, using: &random))}"#,
            at: 1, metadata: number % 7 == 0 ? #"{"n":\#(number)}"# : nil, time: ExampleEvents.time)
    }

    /// An event that is refused, each in a way of its own.
    private func wrong(_ event: NewEvent, _ number: Int, _ random: inout SeededGenerator) throws -> NewEvent {
        var wrong = event
        switch Int.random(in: 0 ..< 6, using: &random) {
        case 0: wrong.payload = Array(#"{"id":"\#(number)","customer":"c","total":\#(-number - 1)}"#.utf8)
        case 1: wrong.payload = Array(#"{"id":"\#(number)","customer":"c","total":1,"code":"x\#(number)"}"#.utf8)
        case 2: wrong.payload.removeLast()
        case 3: wrong.stream = try StreamName("stray-\(number)")
        case 4: wrong.type = "Order\(number)"
        default: wrong.version = SchemaVersion(10 + number)
        }
        return wrong
    }

    private func checked(_ events: [NewEvent], by store: EventStore) async -> Result<[StoredEvent], EvstoreError> {
        do { return .success(try await store.check(events, [], isFresh: false).resolved.events) } catch { return .failure(error) }
    }

    @Test("any number of threads gives the events in their order, or the error of the first invalid one")
    func slices() async throws {
        let temporary = try await Orders.store(at: 3)
        var stores: [EventStore] = []
        for jobs in [1, 2, 3, 8] {
            var options = Options.forTests
            options.replayJobs = jobs
            stores.append(try await EventStore.open(temporary.path, options: options))
        }
        for seed in 0 ..< UInt64(rounds(4)) {
            var random = SeededGenerator(seed: seed)
            let count = Int.random(in: seed % 2 == 0 ? 1_000 ... 1_050 : 1_600 ... 2_100, using: &random)
            var events = try (0 ..< count).map { try event($0, &random) }
            let places = Set((0 ..< Int(seed % 6)).map { _ in Int.random(in: events.indices, using: &random) }).sorted()
            for place in places { events[place] = try wrong(events[place], place, &random) }
            var wanted = Result<[StoredEvent], EvstoreError>.success(
                events.map {
                    StoredEvent(
                        stream: $0.stream, type: $0.type, born: SchemaVersion(1), payload: $0.payload, metadata: $0.metadata ?? [],
                        time: ExampleEvents.time)
                })
            if let first = places.first {
                // The only event of an append is its first line.
                wanted = await checked([events[first]], by: stores[0]).mapError { error in
                    guard case .refusedLine(1, let file, let cause) = error else { return error }
                    return .refusedLine(UInt64(first) + 1, file: file, cause)
                }
            }
            for store in stores {
                let found = await checked(events, by: store)
                let isSame = found == wanted
                #expect(isSame, "seed \(seed), \(store.options.replayJobs ?? 0) threads, \(count) events, wrong are \(places)")
            }
        }
        for store in stores { try await store.close() }
    }
}
