internal import EventModel
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The laws on a sample of the log, tried once: while read models are built, or when the outcome is asked for.
final class SampleTrial: Sendable {
    private let site: MigrationSite
    private let evolving: EvolvingLog
    private let version: SchemaVersion
    private let outcome = Monitor<LawTally?>(nil)

    init(_ site: MigrationSite, _ generationSet: GenerationSet) {
        (self.site, evolving, version) = (site, generationSet.evolving, generationSet.version)
    }

    /// Tries them beside other work, which an error here must not stop: `result` tries again and throws the error.
    func begin() {
        // Two steps run at the same time, and only the other one reports its progress.
        var silent = site
        silent.progress = nil
        do { _ = try run(silent) } catch { outcome.withLock { $0 = nil } }
    }

    func result() throws(EvstoreError) -> LawTally {
        if let tally = outcome.withLock({ $0 }) { return tally }
        return try run(site)
    }

    private func run(_ site: MigrationSite) throws(EvstoreError) -> LawTally {
        let tally = try Laws.check(site, evolving.current().history, SampleWindows(site), at: version)
        outcome.withLock { $0 = tally }
        return tally
    }
}
