internal import Bytes
internal import EventLog
package import EventModel
internal import Hashing
internal import LMDB
internal import Platform
internal import Synchronization

/// Builds generations from the log, for a replay.
///
/// The log is passed once (`BuildPass`): workers prepare chunks of events for all definitions, and each partition of the
/// rows takes its operations in the order of the chunks. A row's key decides its partition, so every row sees its
/// operations in the order of the log, whatever the threads.
package struct BulkBuild: Sendable {
    /// The result for one generation.
    package struct Built: Sendable {
        package var projection: String
        package var header: GenerationHeader
    }

    package struct Report: Sendable {
        package var checkpoint: Checkpoint
        /// Events of the log that were passed, and those of them that a definition consumes.
        package var scanned: UInt64
        package var folded: UInt64
        package var built: [Built]
        /// The first events of each way that events took through the programs, in order.
        package var witnesses: [Position]
    }

    package let evolving: EvolvingLog
    /// The version that all definitions are of.
    package let version: SchemaVersion
    /// Generations that `Generation.create` made, with what they are to hold.
    package let targets: [(definition: Definition, generation: Generation)]
    package var onError: FailureRule = .stop
    /// Worker threads; as many as there are processors where nil.
    package var jobs: Int?
    /// Consumes the log up to here; to its end as of now where nil.
    package var through: Position?
    /// Events of a chunk at the beginning; then as many as fill a buffer well.
    package var chunkEvents = 8_192

    package init(_ evolving: EvolvingLog, at version: SchemaVersion, _ targets: [(definition: Definition, generation: Generation)]) {
        (self.evolving, self.version, self.targets) = (evolving, version, targets)
        jobs = evolving.options.replayJobs
    }

    /// Passes the log once, fills the generations and marks them ready; blocks until then.
    /// - Throws: `EvstoreError.buildStopped` at the first event that fails, and `invalidRow` where a row does not keep its
    ///   shape, both where `onError` is `stop`; `interrupted`; `programNeeded`.
    package func run(_ job: Job) throws(EvstoreError) -> Report {
        try converting("building the read models of \(version)", at: evolving.log.path) {
            let run = try BuildRun(self, job)
            try run.passLog()
            return try run.complete()
        }
    }
}
