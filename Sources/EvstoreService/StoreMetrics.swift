#if Service
    public import Evstore
    public import Logging
    public import Metrics
    internal import Synchronization

    /// A store's metrics for swift-metrics. The page "Services, metrics and traces" lists names and labels; no label contains the name of a stream.
    ///
    ///     let metrics = StoreMetrics()
    ///     var options = Options()
    ///     options.commitObserver = metrics.observe
    ///     let store = try await EventStore.open(path, options: options)
    ///     ServiceGroup(services: [StoreService(store), metrics.service(of: store, logger: logger)], logger: logger)
    public struct StoreMetrics: Sendable {
        private let commits, appends, events: Counter
        private let commitSeconds, syncSeconds, waitSeconds: Timer
        private let factory: any MetricsFactory
        private let labelled = LabelledGauges()

        public init(factory: any MetricsFactory = MetricsSystem.factory) {
            self.factory = factory
            commits = Counter(label: "evstore_commits", factory: factory)
            appends = Counter(label: "evstore_appends", factory: factory)
            events = Counter(label: "evstore_events_appended", factory: factory)
            commitSeconds = Timer(label: "evstore_commit_seconds", factory: factory)
            syncSeconds = Timer(label: "evstore_sync_seconds", factory: factory)
            waitSeconds = Timer(label: "evstore_append_wait_seconds", factory: factory)
        }

        /// Pass it as `Options.commitObserver`.
        public func observe(_ commit: CommitFigures) {
            commits.increment()
            appends.increment(by: commit.appends)
            events.increment(by: commit.events)
            commitSeconds.record(duration: commit.duration)
            syncSeconds.record(duration: commit.sync)
            waitSeconds.record(duration: commit.longestWait)
        }

        /// A service that updates the store's gauges periodically.
        /// - Parameter backups: the directory of the store's backups, for the age of the newest one.
        public func service(
            of store: EventStore, backups: String? = nil, every interval: Duration = .seconds(10), logger: Logger
        ) -> ScheduleService {
            ScheduleService("metrics", every: interval, logger: logger) { try take(of: store, backups: backups) }
        }

        /// Updates the store's gauges now; destroys those of objects that no longer exist. Blocks the calling thread for short read
        /// transactions, for the sizes of the store's files, and for a look at the backups; where their directory does not answer, the age is
        /// that of the newest one that was found before.
        public func take(of store: EventStore, backups: String? = nil) throws(EvstoreError) {
            let status = try store.status()
            set("evstore_position", Double(status.position.rawValue))
            set("evstore_live_version", Double(status.versions.live.rawValue))
            set("evstore_complaints", Double(status.complaints.count))
            set("evstore_free_bytes", Double(status.freeBytes))
            set("evstore_oldest_reader_commits", Double(status.oldestReader?.commitsBehind ?? 0))
            for part in try store.parts() { set("evstore_disk_bytes", Double(part.bytes), [("part", part.name)]) }
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
            if let cluster = status.cluster {
                set("evstore_cluster_frames", Double(cluster.frames))
                set("evstore_cluster_trouble_seconds", cluster.trouble.inSeconds)
            }
            if let drill = status.lastDrill {
                set("evstore_last_drill_age_seconds", Timestamp.now.seconds(since: drill.time))
                set("evstore_last_drill_passed", drill.passed ? 1 : 0)
            }
            if let newest = backups.flatMap({ BackupLook.at($0).sight().newest }) {
                set("evstore_last_backup_age_seconds", Timestamp.now.seconds(since: newest.time))
            }
            if let progress = try store.migrationUnderWay()?.progress, progress.total > 0 {
                set("evstore_progress_ratio", Double(progress.done) / Double(progress.total), [("step", progress.step)])
            }
            labelled.endRound()
        }

        /// Records the completed share of a replay or other long work; pass it as its `progress:`.
        public func progress(_ event: ProgressEvent) {
            if event.total == 0 { return }
            Gauge(label: "evstore_progress_ratio", dimensions: [("step", event.step)], factory: factory)
                .record(Double(event.done) / Double(event.total))
        }

        private func set(_ label: String, _ value: Double, _ dimensions: [(String, String)] = []) {
            let gauge = Gauge(label: label, dimensions: dimensions, factory: factory)
            gauge.record(value)
            if let first = dimensions.first { labelled.take(gauge, "\(label) \(first.0) \(first.1)") }
        }
    }

    /// The gauges of objects that come and go: a consumer that was deleted must not lag for ever.
    private final class LabelledGauges: Sendable {
        private let rounds = Mutex<(last: [String: Gauge], current: [String: Gauge])>(([:], [:]))

        func take(_ gauge: Gauge, _ key: String) { rounds.withLock { $0.current[key] = gauge } }

        func endRound() {
            let gone = rounds.withLock { rounds in
                let gone = rounds.last.filter { rounds.current[$0.key] == nil }.map(\.value)
                rounds = (rounds.current, [:])
                return gone
            }
            for gauge in gone { gauge.destroy() }
        }
    }

    extension StoreMetrics {
        /// The description of each metric by its name, for backends that show one, as `PrometheusRegistry` does.
        public static let help = [
            "evstore_commits": "Commits of appends by this process.",
            "evstore_appends": "Appends in the commits of this process.",
            "evstore_events_appended": "Events in the commits of this process.",
            "evstore_commit_seconds": "From the beginning of a commit until it was on the disk, its turn among processes included.",
            "evstore_sync_seconds": "The part of a commit in which its events were written to the disk and synced.",
            "evstore_append_wait_seconds": "What the append of a commit that waited longest had waited before it.",
            "evstore_position": "Position of the last event.",
            "evstore_live_version": "Number of the live version.",
            "evstore_complaints": "What status says needs care.",
            "evstore_free_bytes": "Bytes that are free on the disk of the store.",
            "evstore_disk_bytes": "Bytes on the disk of each part of the directory of the store.",
            "evstore_oldest_reader_commits": "Commits since the one that the oldest reader sees.",
            "evstore_read_model_lag_events": "Events that a live read model has not taken in.",
            "evstore_read_model_rows": "Rows of a live read model.",
            "evstore_quarantined_events": "Events that a live read model could not take in.",
            "evstore_consumer_lag_events": "Events between the place of a consumer and the end of the log.",
            "evstore_consumer_parked_events": "Events that a consumer has put aside.",
            "evstore_consumer_failing": "1 while an event fails in a consumer.",
            "evstore_consumer_held": "1 while a process has the name of a consumer.",
            "evstore_cluster_frames": "Frames of its cluster log that the node has.",
            "evstore_cluster_trouble_seconds": "For how long the node could not follow its cluster log, 0 while it can.",
            "evstore_last_drill_age_seconds": "Seconds since the last drill.",
            "evstore_last_drill_passed": "1 where the last drill passed.",
            "evstore_last_backup_age_seconds": "Seconds since the newest backup.",
            "evstore_progress_ratio": "The part that is done of a step of a migration of any process, or of work of this one.",
        ]
    }
#endif
