import Evstore
import EvstoreTesting
import Synchronization
import Testing

/// Effects that happen for each event: in order, again where they failed, put aside where they never succeed.
@Suite("Consumers", .timeLimit(.minutes(10)))
struct ConsumerTests {
    private struct Refused: Error, CustomStringConvertible { var description: String { "the address is gone" } }

    /// What a handler has seen.
    private final class Seen: Sendable {
        private let positions = Mutex<[UInt64]>([])

        var all: [UInt64] { positions.withLock { $0 } }
        func add(_ event: RecordedEvent) { positions.withLock { $0.append(event.position.rawValue) } }

        /// Returns once so many were seen.
        func wait(for count: Int) async throws {
            while all.count < count { try await Task.sleep(for: .milliseconds(2)) }
        }
    }

    private func quick(_ attempts: Int = 3, _ rule: ConsumerFailureRule = .park) -> ConsumerOptions {
        var options = ConsumerOptions()
        options.retry = RetryPolicy(attemptsMax: attempts, firstPause: .seconds(0.001), pauseMax: .seconds(0.002))
        options.onFailure = rule
        return options
    }

    private func orders(_ ids: Range<Int>) throws -> [NewEvent] { try ids.map { try Orders.placed("\($0)", at: 1) } }

    @Test("each event is handled once, in order, also those that come later; the next run goes on behind them")
    func once() async throws {
        let temporary = try await Orders.store(at: 1, events: orders(0 ..< 40))
        let store = temporary.store
        let seen = Seen()
        let first = Task { try await store.consume("mailer") { event, _ in seen.add(event) } }
        try await seen.wait(for: 40)
        _ = try await store.append(try orders(40 ..< 50))
        try await seen.wait(for: 50)
        first.cancel()
        try await first.value
        #expect(seen.all == Array(1 ... 50))
        let status = try #require(try store.consumers().first)
        #expect(status.name == "mailer" && status.place.position == Position(50) && status.handled == 50 && status.lag == 0)
        #expect(status.holder == nil && status.parked == 0 && status.error == nil)
        _ = try await store.append(try orders(50 ..< 55))
        let again = Task { try await store.consume("mailer") { event, _ in seen.add(event) } }
        try await seen.wait(for: 55)
        again.cancel()
        try await again.value
        #expect(seen.all == Array(1 ... 55))
    }

    @Test("a task that is cancelled finishes the event at hand, and its place is exact")
    func cancelled() async throws {
        let temporary = try await Orders.store(at: 1, events: orders(0 ..< 10))
        let seen = Seen()
        let task = Task {
            try await temporary.store.consume("mailer") { event, _ in
                seen.add(event)
                // A sleep that would throw, were this task cancelled with its consumer.
                try await Task.sleep(for: .milliseconds(30))
            }
        }
        try await seen.wait(for: 4)
        task.cancel()
        try await task.value
        let place = try #require(try temporary.store.consumers().first).place.position.rawValue
        #expect(seen.all == Array(1 ... place))
    }

    @Test("an event that fails is tried again, told so, and then parked while the others are handled; retried, it is handled")
    func parking() async throws {
        let temporary = try await Orders.store(at: 1, events: orders(0 ..< 6))
        let store = temporary.store
        let seen = Seen()
        let attempts = Mutex<[Int]>([])
        let isMended = Atomic(false)
        let task = Task {
            try await store.consume("mailer", options: quick(3)) { event, context in
                if event.position == Position(3), !isMended.load(ordering: .relaxed) {
                    attempts.withLock { $0.append(context.attempt) }
                    throw Refused()
                }
                seen.add(event)
            }
        }
        try await seen.wait(for: 5)
        #expect(seen.all == [1, 2, 4, 5, 6] && attempts.withLock { $0 } == [1, 2, 3])
        let parked = try #require(try store.parked(of: "mailer").first)
        #expect(
            parked.position == Position(3) && parked.attempts == 3 && parked.error == "the address is gone"
                && parked.stream.text == "order-2")
        isMended.store(true, ordering: .relaxed)
        #expect(try await store.maintenance.retryParked(of: "mailer") == 1)
        try await seen.wait(for: 6)
        while try !store.parked(of: "mailer").isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        #expect(seen.all == [1, 2, 4, 5, 6, 3])
        task.cancel()
        try await task.value
    }

    @Test("one that stops ends with an error at the event, and goes on with it once it is mended")
    func stopping() async throws {
        let temporary = try await Orders.store(at: 1, events: orders(0 ..< 5))
        let seen = Seen()
        await #expect(throws: EvstoreError.consumerStopped(consumer: "mailer", position: Position(4), reason: "the address is gone")) {
            try await temporary.store.consume("mailer", options: quick(2, .stop)) { event, _ in
                if event.position == Position(4) { throw Refused() }
                seen.add(event)
            }
        }
        let status = try #require(try temporary.store.consumers().first)
        #expect(status.place.position == Position(3) && status.error == "the address is gone")
        let task = Task { try await temporary.store.consume("mailer") { event, _ in seen.add(event) } }
        try await seen.wait(for: 5)
        task.cancel()
        try await task.value
        #expect(seen.all == [1, 2, 3, 4, 5])
    }

    @Test("a batch that fails is tried one by one, so that only the event at fault is parked")
    func batches() async throws {
        let temporary = try await Orders.store(at: 1, events: orders(0 ..< 20))
        let seen = Seen()
        let sizes = Mutex<[Int]>([])
        let task = Task {
            try await temporary.store.consume("mailer", batch: 8, options: quick(2)) { events, _ in
                sizes.withLock { $0.append(events.count) }
                if events.contains(where: { $0.position == Position(11) }) { throw Refused() }
                for event in events { seen.add(event) }
            }
        }
        try await seen.wait(for: 19)
        task.cancel()
        try await task.value
        #expect(Set(seen.all) == Set(1 ... 20).subtracting([11]) && seen.all.count == 19)
        #expect(sizes.withLock { $0 }.max() == 8)
        #expect(try temporary.store.parked(of: "mailer").map(\.position) == [Position(11)])
    }

    @Test("streams are handled side by side, and the events of each in order")
    func sideBySide() async throws {
        let events = try (0 ..< 120).map { try Orders.placed("\($0 % 12)", at: 1) }
        let temporary = try await Orders.store(at: 1, events: events)
        let seen = Mutex<[String: [UInt64]]>([:])
        let running = Mutex(0)
        let most = Mutex(0)
        var options = quick()
        options.concurrency = 4
        let done = Seen()
        let task = Task { [options] in
            try await temporary.store.consume("mailer", options: options) { event, _ in
                let now = running.withLock { running in
                    running += 1
                    return running
                }
                most.withLock { $0 = max($0, now) }
                try await Task.sleep(for: .milliseconds(1))
                seen.withLock { $0[event.stream.text, default: []].append(event.position.rawValue) }
                running.withLock { $0 -= 1 }
                done.add(event)
            }
        }
        try await done.wait(for: 120)
        task.cancel()
        try await task.value
        #expect(seen.withLock { $0.values.allSatisfy { $0 == $0.sorted() } } && Set(done.all).count == 120 && most.withLock { $0 } > 1)
        #expect(try temporary.store.consumers().first?.place.position == Position(120))
    }

    @Test("of two with one name one works; the other takes over when it ends")
    func standingBy() async throws {
        let temporary = try await Orders.store(at: 1, events: orders(0 ..< 5))
        let (first, second) = (Seen(), Seen())
        let one = Task { try await temporary.store.consume("mailer") { event, _ in first.add(event) } }
        try await first.wait(for: 5)
        let other = Task { try await temporary.store.consume("mailer") { event, _ in second.add(event) } }
        #expect(try #require(try temporary.store.consumers().first).holder?.contains("consuming as mailer") == true)
        await #expect(throws: EvstoreError.self) { try await temporary.store.maintenance.resetConsumer("mailer", to: .start) }
        _ = try await temporary.store.append(try orders(5 ..< 8))
        try await first.wait(for: 8)
        #expect(second.all.isEmpty)
        one.cancel()
        try await one.value
        _ = try await temporary.store.append(try orders(8 ..< 10))
        try await second.wait(for: 2)
        other.cancel()
        try await other.value
        #expect(first.all == Array(1 ... 8) && second.all == [9, 10])
    }

    @Test("types, a start, a reset and a removal are what they say; names and types that are none are refused")
    func choosing() async throws {
        let temporary = try await Orders.store(at: 1, events: orders(0 ..< 3))
        let store = temporary.store
        let seen = Seen()
        let late = Task { try await store.consume("late", from: .end, matching: .type("OrderPlaced")) { event, _ in seen.add(event) } }
        while try store.consumers().isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        _ = try await store.append(try orders(3 ..< 4))
        try await seen.wait(for: 1)
        late.cancel()
        try await late.value
        #expect(seen.all == [4])
        try await store.maintenance.resetConsumer("late", to: .start)
        #expect(try store.consumers().first?.place.position == .start)
        try await store.maintenance.removeConsumer("late")
        #expect(try store.consumers().isEmpty)
        await #expect(throws: EvstoreError.unknownConsumer("late", known: [])) { try await store.maintenance.removeConsumer("late") }
        await #expect(throws: EvstoreError.self) { try await store.consume("a b") { _, _ in } }
        await #expect(throws: EvstoreError.self) { try await store.consume("a", matching: .type("Nothing")) { _, _ in } }
        let early = SchemaVersion(0)
        await #expect(throws: EvstoreError.belowFloor(early, floor: SchemaVersion(1))) {
            try await store.consume("early", at: early) { _, _ in }
        }
        #expect(try store.consumers().isEmpty)
    }

    @Test("it goes on at its version across a replay and a rollback, and hears of a cut below its place")
    func acrossMigrations() async throws {
        let first = SchemaVersion(1)
        let temporary = try await TemporaryStore.make(try Orders.schemas(2), at: first, from: first, events: orders(0 ..< 4))
        let store = temporary.store
        let seen = Seen()
        let task = Task {
            try await store.consume("mailer", at: SchemaVersion(1)) { event, _ in
                #expect(event.version == SchemaVersion(1))
                seen.add(event)
            }
        }
        try await seen.wait(for: 4)
        _ = try await store.takeSnapshot("here")
        try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        _ = try await store.append([try Orders.placed("9", at: 2)])
        try await seen.wait(for: 5)
        _ = try await store.rollback(to: SchemaVersion(1))
        _ = try await store.append(try orders(10 ..< 11))
        try await seen.wait(for: 6)
        #expect(seen.all == Array(1 ... 6))
        let gone = try store.last()
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        await #expect(throws: EvstoreError.self) { try await task.value }
        #expect(try store.consumers().map(\.isCutOff) == [true])
        // What is refused leaves no name behind.
        await #expect(throws: EvstoreError.self) { try await store.consume("other", from: .after(gone)) { _, _ in } }
        #expect(try store.consumers().map(\.name) == ["mailer"])
        try await store.maintenance.resetConsumer("mailer", to: .end)
        #expect(try store.consumers().map(\.isCutOff) == [false])
    }

    @Test("the page's example mails what is appended from then on")
    func page() async throws {
        let temporary = try await Orders.store(at: 3, events: [try Orders.placed("1", at: 3)])
        let store = temporary.store
        let seen = Seen()
        @Sendable func mail(_ event: RecordedEvent, attempt: Int) async throws { seen.add(event) }
        let task = Task {
            try await store.consume("mailer", from: .end, matching: .type("OrderPlaced"), at: SchemaVersion(3)) { event, context in
                try await mail(event, attempt: context.attempt)
            }
        }
        while try store.consumers().isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        _ = try await store.append([try Orders.placed("2", at: 3)])
        try await seen.wait(for: 1)
        task.cancel()
        try await task.value
        #expect(seen.all == [2])
    }

    @Test("streams side by side that are cancelled leave nothing to be handled twice")
    func cancelledSideBySide() async throws {
        let temporary = try await Orders.store(at: 1, events: (0 ..< 200).map { try Orders.placed("\($0 % 20)", at: 1) })
        let seen = Seen()
        var options = quick()
        options.concurrency = 4
        while seen.all.count < 200 {
            let before = seen.all.count
            let task = Task { [options] in
                try await temporary.store.consume("mailer", options: options) { event, _ in
                    if event.stream.text == "order-3" { try await Task.sleep(for: .milliseconds(4)) }
                    seen.add(event)
                }
            }
            try await seen.wait(for: min(before + 30, 200))
            task.cancel()
            try await task.value
        }
        #expect(seen.all.sorted() == Array(1 ... 200))
    }
}
