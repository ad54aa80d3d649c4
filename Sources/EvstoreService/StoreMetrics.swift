#if Service
    public import Evstore
    public import Logging
    public import Metrics

    /// A store's figures for swift-metrics. The page "In a service" has the names and labels; no label holds the name of a stream.
    ///
    ///     let metrics = StoreMetrics()
    ///     var options = Options()
    ///     options.commitObserver = metrics.observe
    ///     let store = try await EventStore.open(at: path, options: options)
    ///     ServiceGroup(services: [StoreService(store), metrics.service(of: store, logger: logger)], logger: logger)
    public struct StoreMetrics: Sendable {
        private let commits, appends, events: Counter
        private let commitSeconds, waitSeconds: Timer
        private let factory: any MetricsFactory

        public init(factory: any MetricsFactory = MetricsSystem.factory) {
            self.factory = factory
            commits = Counter(label: "evstore_commits", factory: factory)
            appends = Counter(label: "evstore_appends", factory: factory)
            events = Counter(label: "evstore_events_appended", factory: factory)
            commitSeconds = Timer(label: "evstore_commit_seconds", factory: factory)
            waitSeconds = Timer(label: "evstore_append_wait_seconds", factory: factory)
        }

        /// For `Options.commitObserver`.
        public func observe(_ commit: CommitFigures) {
            commits.increment()
            appends.increment(by: commit.appends)
            events.increment(by: commit.events)
            commitSeconds.record(duration: commit.duration)
            waitSeconds.record(duration: commit.longestWait)
        }

        /// Takes the store's gauges again and again.
        /// - Parameter backups: the directory of the store's backups, for the age of the newest one.
        public func service(
            of store: EventStore, backups: String? = nil, every interval: Duration = .seconds(10), logger: Logger
        ) -> ScheduleService {
            ScheduleService("metrics", every: interval, logger: logger) { try take(of: store, backups: backups) }
        }

        /// Takes the store's gauges now. Blocks the calling thread for short read transactions.
        public func take(of store: EventStore, backups: String? = nil) throws(EvstoreError) {
            let status = try store.status()
            set("evstore_position", Double(status.position.rawValue))
            set("evstore_live_version", Double(status.versions.live.rawValue))
            set("evstore_complaints", Double(status.complaints.count))
            set("evstore_free_bytes", Double(status.freeBytes))
            set("evstore_oldest_reader_commits", Double(status.oldestReader?.commitsBehind ?? 0))
            for model in status.projections {
                let label = [("read_model", model.name)]
                set("evstore_read_model_lag_events", Double(model.lag), label)
                set("evstore_read_model_rows", Double(model.rows), label)
                set("evstore_quarantined_events", Double(model.quarantined), label)
            }
            for consumer in try store.consumers() {
                let label = [("consumer", consumer.name)]
                set("evstore_consumer_lag_events", Double(consumer.lag), label)
                set("evstore_consumer_parked_events", Double(consumer.parked), label)
                set("evstore_consumer_failing", consumer.error == nil ? 0 : 1, label)
                set("evstore_consumer_held", consumer.holder == nil ? 0 : 1, label)
            }
            if let drill = status.lastDrill {
                set("evstore_last_drill_age_seconds", drill.time.age)
                set("evstore_last_drill_passed", drill.passed ? 1 : 0)
            }
            if let backups, let newest = try EventStore.backups(in: backups).map(\.time).max() {
                set("evstore_last_backup_age_seconds", newest.age)
            }
        }

        /// The share of a replay or another long work that is done, for its `progress:`.
        public func progress(_ event: ProgressEvent) {
            if event.total > 0 { set("evstore_progress_ratio", Double(event.done) / Double(event.total), [("step", event.step)]) }
        }

        private func set(_ label: String, _ value: Double, _ dimensions: [(String, String)] = []) {
            Gauge(label: label, dimensions: dimensions, factory: factory).record(value)
        }
    }

    extension CommitFigures {
        fileprivate var duration: Duration { .seconds(seconds) }
        fileprivate var longestWait: Duration { .seconds(longestWaitSeconds) }
    }

    extension Timestamp {
        /// Seconds since then.
        fileprivate var age: Double { Double(Timestamp.now.microseconds - microseconds) / 1e6 }
    }
#endif
