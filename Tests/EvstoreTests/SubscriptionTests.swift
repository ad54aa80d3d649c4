import Evstore
import EvstoreTesting
import Synchronization
import Testing

@Suite("Subscribing")
struct SubscriptionTests {
    @Test("a subscription sees every event once, in order, while appends go on", .timeLimit(.minutes(20)))
    func catchUpThenLive() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        for index in 0 ..< 50 { _ = try await store.append([try Orders.placed("\(index)", at: 1)]) }
        let writer = Task {
            for index in 50 ..< 300 { _ = try await store.append([try Orders.placed("\(index)", at: 1)]) }
        }
        var seen: [UInt64] = []
        for try await event in store.subscribe() {
            seen.append(event.position.rawValue)
            if seen.count >= 300 { break }
        }
        #expect(seen == Array(1 ... 300))
        try await writer.value
    }

    @Test("a subscription goes on from a checkpoint, and to one stream only", .timeLimit(.minutes(20)))
    func fromCheckpoint() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        for index in 0 ..< 20 { _ = try await store.append([try Orders.placed("\(index % 2)", at: 1)]) }
        var pages = store.subscribe(to: try StreamName("order-1"), after: Checkpoint(epoch: .first, position: Position(10)))
            .pages.makeAsyncIterator()
        #expect(try await pages.next()?.map(\.position.rawValue) == [12, 14, 16, 18, 20])
        _ = try await store.append([try Orders.placed("0", at: 1), try Orders.placed("1", at: 1)])
        #expect(try await pages.next()?.map(\.position.rawValue) == [22])
    }

    @Test("a subscription ends when its task is cancelled", .timeLimit(.minutes(20)))
    func cancelled() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        let task = Task {
            for try await _ in store.subscribe() {}
            return true
        }
        try await Task.sleep(for: .milliseconds(30))
        task.cancel()
        #expect(try await task.value)
    }

    @Test("a subscription whose events a cut removed fails with the position of the cut", .timeLimit(.minutes(20)))
    func cutOff() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = temporary.store
        for index in 0 ..< 3 { _ = try await store.append([try Orders.placed("\(index)", at: 1)]) }
        _ = try await store.takeSnapshot("here")
        for index in 3 ..< 6 { _ = try await store.append([try Orders.placed("\(index)", at: 1)]) }
        var behind = store.subscribe(after: Checkpoint(epoch: .first, position: Position(2))).pages.makeAsyncIterator()
        var ahead = store.subscribe(after: Checkpoint(epoch: .first, position: Position(5))).pages.makeAsyncIterator()
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        // One that is taken now has the link with which the new epoch begins.
        _ = try await store.takeSnapshot("behind-the-cut")
        #expect(try store.maintenance.verifySnapshots().isEmpty)
        _ = try await store.append([try Orders.placed("new", at: 1)])
        #expect(try store.maintenance.verifySnapshots().isEmpty)
        #expect(try await behind.next()?.map(\.position.rawValue) == [3, 4], "what it had seen is still there")
        await #expect { try await ahead.next() } throws: {
            if case EvstoreError.epochChanged(_, let cut) = $0 { cut.position == Position(3) } else { false }
        }
    }

    @Test("a cut that took nothing which was seen stops neither a subscription, page after page, nor a consumer that begins again")
    func overCuts() async throws {
        var options = Options.forTests
        options.pageEventsMax = 2
        let temporary = try await TemporaryStore.make(try Orders.schemas(1), options: options)
        let store = temporary.store
        func append(_ count: Int) async throws {
            for _ in 0 ..< count { _ = try await store.append([try Orders.placed("1", at: 1)]) }
        }
        var once = ConsumerOptions()
        once.endsAtLogEnd = true
        func consumed() async throws -> [UInt64] {
            let seen = Mutex<[UInt64]>([])
            try await store.consume("mail", options: once) { event, _ in seen.withLock { $0.append(event.position.rawValue) } }
            return seen.withLock { $0 }
        }
        try await append(3)
        _ = try await store.takeSnapshot("here")
        try await append(3)
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        try await append(5)
        for stream in [nil, try StreamName("order-1")] {
            var events = store.subscribe(to: stream).makeAsyncIterator()
            var seen: [RecordedEvent] = []
            while seen.count < 8, let event = try await events.next() { seen.append(event) }
            #expect(seen.map(\.position.rawValue) == Array(1 ... 8))
            for event in seen.dropLast() {
                var rest = store.subscribe(to: stream, after: event.checkpoint).makeAsyncIterator()
                #expect(try await rest.next()?.position == Position(event.position.rawValue + 1))
            }
        }
        #expect(try await consumed() == Array(1 ... 8))
        #expect(try await consumed() == [])
        try await append(1)
        #expect(try await consumed() == [9])
    }

    @Test(
        "what is before an event at fault is given first, and the page that fails there moves no checkpoint",
        arguments: [false, true])
    func failedPage(ofStream: Bool) async throws {
        let files = try SchemaFiles(
            versions: [
                "evstore: 1\nversion: 1\nevents: {E: {required: [n], properties: {n: {type: string}}}}",
                """
                evstore: 1
                version: 2
                upcast: [{on: E, do: [{convert: {path: /n, to: integer, using: integer-text}}]}]
                events: {E: {required: [n], properties: {n: {type: integer}}}}
                """,
            ])
        let temporary = try await TemporaryStore.make(files.load(), at: 1)
        let store = temporary.store
        for text in ["1", "2", "x", "4"] { _ = try await store.append([try .event("s-1", "E", #"{"n":"\#(text)"}"#, at: 1)]) }
        var pages = store.subscribe(to: ofStream ? try StreamName("s-1") : nil, at: 2).pages.makeAsyncIterator()
        #expect(try await pages.next()?.map(\.json) == [#"{"n":1}"#, #"{"n":2}"#])
        for _ in 0 ..< 2 {
            await #expect { try await pages.next() } throws: { ($0 as? EvstoreError)?.code == "noImage" }
            #expect(pages.checkpoint.position == Position(2))
        }
    }
}
