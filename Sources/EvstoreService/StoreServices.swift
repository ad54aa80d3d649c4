#if Service
    public import Evstore
    public import Logging
    internal import Platform
    public import ServiceLifecycle

    /// Closes a store when its service group shuts down. List it first in the group, so that it stops last.
    ///
    ///     ServiceGroup(services: [StoreService(store), ConsumerService(store, "mailer") { … }, server], logger: logger)
    public struct StoreService: ServiceLifecycle.Service {
        private let store: EventStore

        public init(_ store: EventStore) { self.store = store }

        /// Returns once the store is closed; every append that has returned is on the disk by then.
        public func run() async throws {
            do { try await gracefulShutdown() } catch is CancellationError {
                // A cancelled group closes its store as well.
            }
            try await store.close()
        }
    }

    /// A consumer as a member of a service group: at a shutdown the handler finishes its current events, and the place is saved.
    ///
    /// If an event was appended through a `TracedStore`, the span that handles it links to the append's span.
    public struct ConsumerService: ServiceLifecycle.Service {
        private let consume: @Sendable () async throws -> Void

        /// The parameters are those of `EventStore.consume`.
        public init(
            _ store: EventStore, _ name: String, from start: ConsumerStart = .start, matching query: EventQuery? = nil,
            at version: SchemaVersion? = nil,
            options: ConsumerOptions = .init(), _ handler: @escaping @Sendable (RecordedEvent, ConsumerContext) async throws -> Void
        ) {
            self.init(store, name, from: start, matching: query, at: version, batch: 1, options: options) { events, context in
                for event in events { try await handler(event, context) }
            }
        }

        public init(
            _ store: EventStore, _ name: String, from start: ConsumerStart = .start, matching query: EventQuery? = nil,
            at version: SchemaVersion? = nil,
            batch: Int, options: ConsumerOptions = .init(),
            _ handler: @escaping @Sendable ([RecordedEvent], ConsumerContext) async throws -> Void
        ) {
            consume = {
                try await store.consume(name, from: start, matching: query, at: version, batch: batch, options: options) {
                    events, context in
                    try await StoreTracing.handling(events, by: context) { try await handler(events, context) }
                }
            }
        }

        /// - Throws: what `EventStore.consume` throws.
        public func run() async throws {
            try await cancelWhenGracefulShutdown { [consume] in try await consume() }
        }
    }

    /// Runs work periodically: a backup, a drill, the metrics of a store. A failure is logged, and the work runs again at the next time.
    public struct ScheduleService: ServiceLifecycle.Service {
        private let name: String
        private let interval: Duration
        private let logger: Logger
        private let last: @Sendable () throws -> Timestamp?
        private let work: @Sendable () async throws -> Void

        /// - Parameters:
        ///   - name: the name of the work in the log.
        ///   - interval: from the end of one run to the beginning of the next.
        ///   - last: when the work ran last before the program was started. The first run is one interval after that, or after the start
        ///     where it is nil. While it throws, it is asked again, ever more rarely; after one interval the work runs.
        public init(
            _ name: String, every interval: Duration, last: @escaping @Sendable () throws -> Timestamp? = { nil }, logger: Logger,
            _ work: @escaping @Sendable () async throws -> Void
        ) {
            (self.name, self.interval, self.last, self.logger, self.work) = (name, interval, last, logger, work)
        }

        /// Backs up into a directory of backups, and keeps the newest `keep` runs there.
        public static func backups(
            of store: EventStore, into directory: String, every interval: Duration, keeping keep: Int? = nil, logger: Logger
        ) -> ScheduleService {
            let last: @Sendable () throws -> Timestamp? = {
                let sight = BackupLook.at(directory).sight()
                guard let since = sight.silentSince else { return sight.newest?.time }
                throw EvstoreError.ioFailure(doing: "looking at the backups in \(directory)", reason: "no answer since \(since)")
            }
            return ScheduleService("backup", every: interval, last: last, logger: logger) {
                _ = try await store.maintenance.backUp(into: directory, keeping: keep)
            }
        }

        /// Runs drills: each rehearses a migration and a rollback beside the live read models. A failed drill is logged as an error.
        public static func drills(
            of store: EventStore, to version: SchemaVersion? = nil, backups: String? = nil, every interval: Duration, logger: Logger,
            progress: ProgressHandler? = nil
        ) -> ScheduleService {
            ScheduleService("drill", every: interval, last: { try store.status().lastDrill?.time }, logger: logger) {
                let report = try await store.maintenance.drill(to: version, backups: backups, progress: progress)
                if !report.passed {
                    let failed = report.steps.filter { !$0.ok }
                    var metadata: Logger.Metadata = ["steps": "\(failed.map(\.name).joined(separator: ", "))"]
                    if let step = failed.last { metadata["error"] = step.error.map { .stringConvertible($0.advised) } ?? "\(step.detail)" }
                    logger.error("a drill has failed", metadata: metadata)
                }
            }
        }

        /// Returns at a shutdown; running work is cancelled, and leaves the store in a valid state.
        public func run() async throws {
            await cancelWhenGracefulShutdown { [interval] in
                var pause = await firstPause()
                while !Task.isCancelled {
                    do { try await Task.sleep(for: pause.bounded) } catch { return }
                    await attempt(work)
                    pause = interval
                }
            }
        }

        /// How long the first run waits. Where the last run is not known, it asks again, ever more rarely, for one interval.
        private func firstPause() async -> Duration {
            let start = Instant.now
            var wait = Duration.seconds(10)
            while !Task.isCancelled {
                var known: Duration?
                await attempt {
                    let time = try await StoreThreads.run { try last() }
                    known = time.map { Self.pause(interval, since: $0) } ?? interval
                }
                if let known { return known }
                let rest = interval - start.duration(to: .now)
                if rest <= .zero { break }
                do { try await Task.sleep(for: min(wait, rest).bounded) } catch { break }
                wait *= 2
            }
            return .zero
        }

        /// The rest of an interval that began at a time; that time may lie in the future.
        private static func pause(_ interval: Duration, since last: Timestamp) -> Duration {
            let seconds = Timestamp.now.seconds(since: last)
            return seconds <= 0 ? interval : seconds >= interval / .seconds(1) ? .zero : interval - .seconds(seconds)
        }

        private func attempt(_ work: () async throws -> Void) async {
            do { try await work() } catch  where Task.isCancelled { return } catch {
                logger.error("\(name) has failed", metadata: ["error": .stringConvertible(error.advised)])
            }
        }
    }
#endif
