#if Service
    import Evstore
    import EvstoreService
    import EvstoreTesting
    import Foundation
    import InMemoryTracing
    import Logging
    import MetricsTestKit
    import Platform
    import ServiceLifecycle
    import Synchronization
    import Testing
    import TestSupport
    import Tracing

    /// A store in a group of services: what a shutdown leaves, what metrics say, where a trace goes.
    @Suite("A store in a group of services", .timeLimit(.minutes(10)))
    struct ServiceTests {
        private static let version = """
            evstore: 1
            version: 1
            events:
              NoteTaken:
                stream: "note-{/id}"
                required: [id]
                properties:
                  id: {type: string}
            """

        private func store(_ observer: (@Sendable (CommitFigures) -> Void)? = nil) async throws -> TemporaryStore {
            var options = Options.forTests
            options.commitObserver = observer
            return try await TemporaryStore.make(SchemaFiles(versions: [Self.version]).load(), options: options)
        }

        private static let next = """
            evstore: 1
            version: 2
            upcast: [{on: NoteTaken, do: [{add: {path: /by, value: somebody}}]}]
            events:
              NoteTaken:
                stream: "note-{/id}"
                required: [id, by]
                properties:
                  id: {type: string}
                  by: {type: string}
            """

        /// The process's.
        private static let tracer: InMemoryTracer = {
            let tracer = InMemoryTracer()
            InstrumentationSystem.bootstrap(tracer)
            return tracer
        }()

        private func note(_ number: Int) throws -> NewEvent { try .event("note-\(number)", "NoteTaken", #"{"id":"\#(number)"}"#) }

        private func group(_ services: [any Service]) -> ServiceGroup {
            ServiceGroup(services: services, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }

        @Test("a shutdown under load ends the event at hand, saves the place, closes the store, and loses nothing")
        func shutdown() async throws {
            let directory = try TemporaryDirectory()
            let schemas = try SchemaFiles(versions: [Self.version]).load()
            let store = try await EventStore.create(directory.store, schemas: schemas, options: .forTests)
            let handled = Mutex<[UInt64]>([])
            let consumer = ConsumerService(store, "mailer") { event, _ in
                handled.withLock { $0.append(event.position.rawValue) }
                try await Task.sleep(for: .milliseconds(3))
            }
            let group = group([StoreService(store), consumer])
            let running = Task { try await group.run() }
            let appended = Mutex(0)
            let appending = Task {
                for number in 0... {
                    _ = try await store.append([try note(number)])
                    appended.withLock { $0 += 1 }
                }
            }
            while handled.withLock({ $0.count }) < 20 { try await Task.sleep(for: .milliseconds(2)) }
            await group.triggerGracefulShutdown()
            try await running.value
            // Appends end with an error once the store is closed.
            await #expect(throws: EvstoreError.self) { try await appending.value }
            let again = try await EventStore.open(directory.store, schemas: schemas, options: .forTests)
            let place = try #require(try again.consumers().first).place.position.rawValue
            #expect(handled.withLock { $0 } == Array(1 ... place))
            #expect(try again.last().position.rawValue >= UInt64(appended.withLock { $0 }))
            try await again.close()
        }

        @Test("what a schedule does is done again, also after it has failed")
        func schedule() async throws {
            struct Failed: Error {}
            let times = Mutex(0)
            let service = ScheduleService("work", every: .milliseconds(5), logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            {
                times.withLock { $0 += 1 }
                throw Failed()
            }
            let group = group([service])
            let running = Task { try await group.run() }
            while times.withLock({ $0 }) < 3 { try await Task.sleep(for: .milliseconds(2)) }
            await group.triggerGracefulShutdown()
            try await running.value
        }

        @Test("a directory of backups that is slow, but answers, is waited for beyond the patience for one that is silent")
        func slowDirectory() {
            let look = BackupLook("backups", patience: .seconds(5)) { _, answered in
                for _ in 0 ..< 12 {
                    usleep(500_000)
                    answered()
                }
                return []
            }
            #expect(look.sight().silentSince == nil)
        }

        @Test("a directory of backups that answers is seen also while those who wait for it hold every thread of the store's")
        func crowdedLook() async {
            let threads = 64
            let asked = Monitor(0)
            // Other tests may hold some of the threads meanwhile.
            let end = ContinuousClock.now + .seconds(10)
            let look = BackupLook("backups", patience: .patience) { _, _ in
                while asked.withLock({ $0 }) < threads, ContinuousClock.now < end { usleep(1_000) }
                return []
            }
            await withTaskGroup(of: Void.self) { group in
                for _ in 0 ..< threads {
                    group.addTask(executorPreference: StoreThreads.shared) {
                        asked.withLock { $0 += 1 }
                        #expect(look.sight().silentSince == nil)
                    }
                }
            }
        }

        @Test("a schedule that can't know at its start when it ran last asks again, and does then what is due", .timeLimit(.minutes(10)))
        func unknownLast() async throws {
            struct Silent: Error {}
            let asked = Mutex(0)
            let done = Mutex(false)
            let service = ScheduleService(
                "work", every: .seconds(86_400),
                last: {
                    let isFirst = asked.withLock { asked in
                        asked += 1
                        return asked == 1
                    }
                    if isFirst { throw Silent() }
                    return Timestamp(microseconds: 0)
                }, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
            ) { done.withLock { $0 = true } }
            let group = group([service])
            let running = Task { try await group.run() }
            while !done.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(20)) }
            await group.triggerGracefulShutdown()
            try await running.value
            #expect(asked.withLock { $0 } == 2)
        }

        @Test("an error is logged with what to do next")
        func advice() async throws {
            let log = RecordedLog()
            let service = ScheduleService("work", every: .milliseconds(5), logger: log.logger) {
                throw EvstoreError.usage("that is wrong", fix: "do this")
            }
            let group = group([service])
            let running = Task { try await group.run() }
            while log.lines.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            await group.triggerGracefulShutdown()
            try await running.value
            #expect(log.lines.first.map { "\($0)".contains("that is wrong (do this)") } == true, "\(log.lines)")
        }

        @Test("metrics count commits, and take lag, rows and parked events")
        func metrics() async throws {
            let factory = TestMetrics()
            let metrics = StoreMetrics(factory: factory)
            let temporary = try await store(metrics.observe)
            let store = temporary.store
            for number in 0 ..< 5 { _ = try await store.append([try note(number), try note(number + 10)]) }
            let (commits, syncs) = (try factory.expectTimer("evstore_commit_seconds"), try factory.expectTimer("evstore_sync_seconds"))
            // An append may return a moment before its commit is told of.
            let end = ContinuousClock.now + .patience
            while commits.values.count < 5 || syncs.values.count < 5, .now < end { try await Task.sleep(for: .milliseconds(2)) }
            #expect(factory.counterTotal(label: "evstore_appends") == 5)
            #expect(factory.counterTotal(label: "evstore_events_appended") == 10)
            // The first commit is LMDB's own; those right behind it go ahead of the log.
            #expect(commits.values.count == 5 && syncs.values.count == 5)
            #expect(zip(syncs.values, commits.values).allSatisfy { 0 < $0 && $0 <= $1 })
            var options = ConsumerOptions()
            (options.retry, options.endsAtLogEnd) = (RetryPolicy(attemptsMax: 1), true)
            try await store.consume("mailer", options: options) { event, _ in
                if event.position == Position(3) { throw CancellationError() }
            }
            try metrics.take(of: store)
            #expect(try factory.expectGauge("evstore_position").lastValue == 10)
            #expect(try factory.expectGauge("evstore_consumer_parked_events", [("consumer", "mailer")]).lastValue == 1)
            #expect(try factory.expectGauge("evstore_consumer_lag_events", [("consumer", "mailer")]).lastValue == 0)
        }

        @Test("the gauges of a consumer that is deleted go with it, and a backup that is under way fails none")
        func gaugesGo() async throws {
            let factory = TestMetrics()
            let metrics = StoreMetrics(factory: factory)
            let temporary = try await store()
            let store = temporary.store
            _ = try await store.append([try note(1)])
            var options = ConsumerOptions()
            options.endsAtLogEnd = true
            try await store.consume("mailer", options: options) { _, _ in }
            try metrics.take(of: store, backups: temporary.path + "-none")
            #expect(throws: Never.self) { try factory.expectGauge("evstore_consumer_held", [("consumer", "mailer")]) }
            #expect(try factory.expectGauge("evstore_disk_bytes", [("part", "log")]).lastValue ?? 0 > 0)
            try await store.maintenance.removeConsumer("mailer")
            try metrics.take(of: store)
            #expect(throws: (any Error).self) { try factory.expectGauge("evstore_consumer_held", [("consumer", "mailer")]) }
        }

        @Test("a trace goes from a request through the append into the consumer")
        func trace() async throws {
            let tracer = Self.tracer
            let temporary = try await store()
            let traced = TracedStore(temporary.store)
            try await withSpan("request") { _ in
                let event = NewEvent(
                    stream: try StreamName("note-1"), type: "NoteTaken", payload: Array(#"{"id":"1"}"#.utf8),
                    metadata: Array(#"{"by":"ada","n":1.50}"#.utf8))
                _ = try await traced.append([event])
            }
            let stored = try #require(try temporary.store.event(position: Position(1)))
            let metadata = String(decoding: stored.metadata, as: UTF8.self)
            #expect(metadata.hasSuffix(#","by":"ada","n":1.50}"#) && metadata.contains("trace"))
            let handled = Atomic(false)
            let group = group([ConsumerService(temporary.store, "mailer") { _, _ in handled.store(true, ordering: .relaxed) }])
            let running = Task { try await group.run() }
            while !handled.load(ordering: .relaxed) { try await Task.sleep(for: .milliseconds(2)) }
            await group.triggerGracefulShutdown()
            try await running.value
            // The tracer is the process's: consumers of other tests have spans too.
            let request = try #require(tracer.finishedSpans.first { $0.operationName == "request" })
            let spans = tracer.finishedSpans.filter { $0.traceID == request.traceID }
            let append = try #require(spans.first { $0.operationName == "evstore.append" })
            #expect(spans.map(\.operationName).sorted() == ["evstore.append", "evstore.consume", "request"])
            #expect(spans.first { $0.operationName == "evstore.consume" }?.parentSpanID == append.spanID)
        }

        @Test("the flip of a replay and of a rollback is a span within theirs, as long as writers waited")
        func flipped() async throws {
            let tracer = Self.tracer
            let schemas = try SchemaFiles(versions: [Self.version, Self.next]).load()
            let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1))
            let traced = TracedStore(temporary.store)
            _ = try await traced.append([try note(1)])
            let replayed = try await traced.migrate(to: SchemaVersion(2))
            let back = try await traced.rollback()
            let spans = tracer.finishedSpans
            let pauses = [
                ("evstore.replay", try #require(replayed.flipPause), 2), ("evstore.rollback", back.flipPause, 1),
            ]
            for (name, pause, version) in pauses {
                let work = try #require(spans.first { $0.operationName == name })
                let flip = try #require(spans.first { $0.operationName == "evstore.flip" && $0.parentSpanID == work.spanID })
                #expect(flip.traceID == work.traceID && flip.attributes.get("evstore.to") == .int64(Int64(version)))
                let (began, ended) = (flip.startInstant.nanosecondsSinceEpoch, flip.endInstant.nanosecondsSinceEpoch)
                #expect(Duration.nanoseconds(ended - began) == pause)
                // The wall clock and the steady one are two.
                #expect(work.startInstant.nanosecondsSinceEpoch <= began && ended <= work.endInstant.nanosecondsSinceEpoch + 1_000_000)
                #expect(!work.events.contains { $0.name == "flip" })
            }
            // What is live already flips nothing.
            let count = tracer.finishedSpans.count { $0.operationName == "evstore.flip" }
            _ = try await traced.migrate(to: SchemaVersion(1))
            #expect(tracer.finishedSpans.count { $0.operationName == "evstore.flip" } == count)
        }
    }
#endif
