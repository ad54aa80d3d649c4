import Evstore
import EvstoreTesting
import TestSupport
import Testing

@Suite("Reading", .timeLimit(.minutes(10)))
struct ReadingTests {
    /// Events of several streams at both ends of a step that splits orders, in pages of a few events.
    private func store(_ random: inout SeededGenerator) async throws -> TemporaryStore {
        var options = Options.forTests
        options.pageEventsMax = Int.random(in: 1 ... 5, using: &random)
        let files = try SchemaFiles(
            versions: [
                "evstore: 1\nversion: 1\nevents:\n  A: {properties: {n: {type: integer}, m: {type: integer}}}\n  B: {properties: {n: {type: integer}}}",
                """
                evstore: 1
                version: 2
                upcast:
                  - split-event:
                      type: A
                      because: test
                      into: [{type: C, pick: [/n], down: {hide: part}}, {type: D, pick: [/m], down: {hide: part}}]
                events:
                  B: {properties: {n: {type: integer}}}
                  C: {properties: {n: {type: integer}}}
                  D: {properties: {m: {type: integer}}}
                """,
            ])
        let temporary = try await TemporaryStore.make(try files.load(), at: SchemaVersion(2), from: SchemaVersion(1), options: options)
        for number in 0 ..< Int.random(in: 0 ... 40, using: &random) {
            let type = Bool.random(using: &random) ? "A" : "B"
            let payload = type == "A" ? #"{"n":\#(number),"m":\#(number)}"# : #"{"n":\#(number)}"#
            _ = try await temporary.store.append([
                try .event("s-\(Int.random(in: 0 ..< 3, using: &random))", type, payload, at: 1)
            ])
        }
        return temporary
    }

    private func all(_ sequence: EventSequence<RecordedEvent>) async throws -> [RecordedEvent] {
        var (events, pages): ([RecordedEvent], [RecordedEvent]) = ([], [])
        for try await event in sequence { events.append(event) }
        for try await page in sequence.pages {
            #expect(!page.isEmpty)
            pages += page
        }
        #expect(events == pages)
        return events
    }

    @Test("every way of reading gives the same events, whatever the direction, the type, the limit and the pages")
    func sameEvents() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0 ..< rounds(12) {
            let temporary = try await store(&random)
            let store = temporary.store
            let version = SchemaVersion(random.next() % 2 == 0 ? 1 : 2)
            let type = [nil, "B", version == SchemaVersion(1) ? "A" : "D"].randomElement(using: &random) ?? nil
            let query = type.map { EventQuery.type($0) }
            // The slow way: event after event.
            var stored: [[RecordedEvent]] = []
            for position in 0 ..< (try store.last().position.rawValue) {
                stored.append(try store.view(Position(position + 1), at: version).filter { type == nil || $0.type == type })
            }
            for backwards in [false, true] {
                let wanted = (backwards ? stored.reversed() : stored).flatMap { backwards ? $0.reversed() : $0 }
                var found: [RecordedEvent] = []
                try store.readAll(at: version, backwards: backwards, matching: query) { event in
                    found.append(event)
                    return true
                }
                #expect(found == wanted, "seed \(seed)")
                #expect(try await all(store.events(at: version, backwards: backwards, matching: query)) == wanted, "seed \(seed)")
                let stream = try StreamName("s-1")
                let own = wanted.filter { $0.stream == stream }
                #expect(try store.read(stream, at: version, backwards: backwards, matching: query) == own, "seed \(seed)")
                #expect(
                    try await all(store.events(in: stream, at: version, backwards: backwards, matching: query)) == own, "seed \(seed)")
                let limit = Int.random(in: 0 ... 6, using: &random)
                let some = try store.read(stream, at: version, limit: limit, backwards: backwards, matching: query)
                // The parts of one event are never parted.
                let isWhole = some.count <= limit || some.dropFirst(limit).allSatisfy { $0.position == some[limit - 1].position }
                #expect(some == Array(own.prefix(some.count)) && some.count >= min(limit, own.count) && isWhole, "seed \(seed)")
            }
            try await subscribes(store, stored.flatMap(\.self), at: version, query, &random, "seed \(seed)")
        }
    }

    private func subscribes(
        _ store: EventStore, _ wanted: [RecordedEvent], at version: SchemaVersion, _ query: EventQuery?, _ random: inout SeededGenerator,
        _ seed: Comment
    ) async throws {
        let begin = Position(UInt64.random(in: 0 ... (try store.last().position.rawValue), using: &random))
        for stream in [nil, try StreamName("s-1")] {
            let later = wanted.filter { $0.position > begin && (stream == nil || $0.stream == stream) }
            var events = store.subscribe(to: stream, after: Checkpoint(epoch: .first, position: begin), at: version, matching: query)
                .makeAsyncIterator()
            for event in later { #expect(try await events.next() == event, seed) }
        }
    }

    @Test("a stream of more events than a page has is read as a whole")
    func longStream() async throws {
        let temporary = try await Orders.store(at: 1)
        let events = try (0 ..< 2_500).map { try Orders.placed("1", at: 1, eventID: "e\($0)") }
        _ = try await temporary.store.append(events)
        let stream = try StreamName("order-1")
        #expect(try temporary.store.read(stream).count == 2_500)
        #expect(try await temporary.store.events(in: stream).reduce(0) { count, _ in count + 1 } == 2_500)
    }

    @Test("a sequence that its task's cancellation ends is not taken for a whole one; an endless one ends without an error")
    func cancelled() async throws {
        let temporary = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1)])
        let store = temporary.store
        let task = Task {
            while !Task.isCancelled { await Task.yield() }
            await #expect { for try await _ in store.events() {} } throws: { ($0 as? EvstoreError)?.code == "interrupted" }
            for try await _ in store.subscribe() { Issue.record("an event after the cancellation") }
        }
        task.cancel()
        try await task.value
    }
}
