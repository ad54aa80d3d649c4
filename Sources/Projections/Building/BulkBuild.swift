internal import EventLog
package import EventModel

/// Builds generations from the log, for a replay.
///
/// The log is read once (`BuildPass`): workers prepare chunks of events for all definitions, and each partition of the rows takes its
/// operations in the order of the chunks. A row's key determines its partition, so that every row receives its operations in the order of
/// the log, regardless of the threads.
package struct BulkBuild: Sendable {
    package let evolving: VersionedLog
    package let version: SchemaVersion
    /// Generations created by `Generation.create`, with the definitions that they are built for.
    package let targets: [(definition: Definition, generation: Generation)]
    package var onError: FailureRule = .stop
    /// The number of worker threads; nil uses one for each processor.
    package var jobs: Int?
    /// Consumes the log up to this position; nil means its current end.
    package var through: Position?
    /// The number of events in the first chunks; it is then adapted so that chunks fill a buffer well.
    package var chunkEvents = 8_192

    package init(_ evolving: VersionedLog, at version: SchemaVersion, _ targets: [(definition: Definition, generation: Generation)]) {
        (self.evolving, self.version, self.targets) = (evolving, version, targets)
        jobs = evolving.options.replayJobs
    }

    /// Reads the log once, fills the generations and marks them as ready. Blocks until then.
    /// - Returns: for each trace of events through the programs, the first events that took it, in order.
    /// - Throws: If `onError` is `stop`, `EvstoreError.buildStopped` at the first event that fails and `invalidRow` if a row does not fit
    ///   its shape. Also `interrupted` and `programNeeded`.
    package func run(_ job: Job) throws(EvstoreError) -> [Position] {
        try converting("building the read models of \(version)", at: evolving.log.path) {
            let run = try BuildRun(self, job)
            let witnesses = try run.passLog()
            try run.complete()
            return witnesses
        }
    }
}
