internal import EventModel
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The laws on a sample of the log, tried once: while read models are built, or when the result is asked for.
final class SampleTrial: Sendable {
    private let context: MigrationContext
    private let evolving: VersionedLog
    private let version: SchemaVersion
    private let outcome = Monitor<Outcome?>(nil)

    private struct Outcome {
        let windows: SampleWindows
        var tally: LawTally
    }

    /// - Parameter jobs: the number of threads; where nil, as the store's options say.
    init(_ context: MigrationContext, _ generationSet: GenerationSet, jobs: Int?) {
        var context = context
        context.options.replayJobs = jobs ?? context.options.replayJobs
        (self.context, evolving, version) = (context, generationSet.evolving, generationSet.version)
    }

    /// Tries the laws beside other work, which an error here must not stop: `result` tries again and throws the error.
    func begin() {
        // Two steps run at the same time, but only the other one reports its progress.
        var silent = context
        silent.job = silent.job.silent
        do { _ = try run(silent) } catch { outcome.withLock { $0 = nil } }
    }

    /// - Parameter witnesses: additional events, in order; those in the sample are not tried again.
    func result(with witnesses: [Position]) throws(EvstoreError) -> LawTally {
        let known = self.outcome.withLock { $0 }
        var outcome = if let known { known } else { try run(context) }
        let others = witnesses.filter { !outcome.windows.contain($0) }
        if !others.isEmpty { outcome.tally.add(try Laws.check(context, evolving.current().history, events: others, at: version)) }
        return outcome.tally
    }

    private func run(_ context: MigrationContext) throws(EvstoreError) -> Outcome {
        let windows = try SampleWindows(context)
        let made = Outcome(windows: windows, tally: try Laws.check(context, evolving.current().history, windows, at: version))
        outcome.withLock { $0 = made }
        return made
    }
}
