internal import EventModel
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The laws on a sample of the log, tried once: while read models are built, or when the result is asked for.
final class SampleTrial: Sendable {
    private let context: MigrationContext
    private let evolving: VersionedLog
    private let version: SchemaVersion
    private let windows: SampleWindows
    private let known = Monitor<LawTally?>(nil)

    /// - Parameter jobs: the number of threads; where nil, as the store's options say.
    init(_ context: MigrationContext, _ generationSet: GenerationSet, jobs: Int?) throws(EvstoreError) {
        var context = context
        context.options.replayJobs = jobs ?? context.options.replayJobs
        (self.context, evolving, version) = (context, generationSet.evolving, generationSet.version)
        windows = try SampleWindows(context)
    }

    /// Tries the laws beside other work, which an error here must not stop: `result` tries again and throws the error.
    func begin() {
        // Two steps run at the same time, but only the other one reports its progress.
        var silent = context
        silent.job = silent.job.silent
        do {
            let tally = try run(silent)
            known.withLock { $0 = tally }
        } catch { return }
    }

    /// - Parameter witnesses: additional events, in order; those in the sample are not tried again.
    func result(with witnesses: [Position]) throws(EvstoreError) -> LawTally {
        var tally = if let known = known.withLock({ $0 }) { known } else { try run(context) }
        let others = witnesses.filter { !windows.contain($0) }
        if !others.isEmpty { tally.add(try Laws.check(context, evolving.current().history, events: others, at: version)) }
        return tally
    }

    private func run(_ context: MigrationContext) throws(EvstoreError) -> LawTally {
        try Laws.check(context, evolving.current().history, windows, at: version)
    }
}
