#if Service
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
