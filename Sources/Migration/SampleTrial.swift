internal import EventModel
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The laws on a sample of the log, tried once: while read models are built, or when the outcome is asked for.
final class SampleTrial: Sendable {
    private let site: MigrationSite
    private let evolving: VersionedLog
    private let version: SchemaVersion
    private let outcome = Monitor<Outcome?>(nil)

    private struct Outcome {
        let windows: SampleWindows
        var tally: LawTally
    }

    /// - Parameter jobs: how many threads they have; as many as the store's options say where nil.
    init(_ site: MigrationSite, _ generationSet: GenerationSet, jobs: Int?) {
        var site = site
        site.options.replayJobs = jobs ?? site.options.replayJobs
        (self.site, evolving, version) = (site, generationSet.evolving, generationSet.version)
    }

    /// Tries them beside other work, which an error here must not stop: `result` tries again and throws the error.
    func begin() {
        // Two steps run at the same time, and only the other one reports its progress.
        var silent = site
        silent.job = silent.job.silent
        do { _ = try run(silent) } catch { outcome.withLock { $0 = nil } }
    }

    /// - Parameter witnesses: events besides, in order; those that are in the sample are not tried again.
    func result(with witnesses: [Position]) throws(EvstoreError) -> LawTally {
        let known = self.outcome.withLock { $0 }
        var outcome = if let known { known } else { try run(site) }
        let others = witnesses.filter { !outcome.windows.contain($0) }
        if !others.isEmpty { outcome.tally.add(try Laws.check(site, evolving.current().history, events: others, at: version)) }
        return outcome.tally
    }

    private func run(_ site: MigrationSite) throws(EvstoreError) -> Outcome {
        let windows = try SampleWindows(site)
        let made = Outcome(windows: windows, tally: try Laws.check(site, evolving.current().history, windows, at: version))
        outcome.withLock { $0 = made }
        return made
    }
}
