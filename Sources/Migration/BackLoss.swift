internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// What an older version does not show of the events that were born above it.
struct BackLoss {
    /// All events that were born above the version, and how many of them were looked at.
    var bornAbove, sample: UInt64
    /// Of these, by step, type and op.
    var loss: [PlannedLoss]

    /// - Parameter eventsMax: of a longer log since the first such event could be there, only so many are looked at.
    init(
        _ site: MigrationSite, _ state: StoreState, _ flips: Flips, to target: SchemaVersion, eventsMax: Int
    ) throws(EvstoreError) {
        bornAbove = try Plan.census(site).filter { $0.born > target }.sum(\.count)
        (sample, loss) = (0, [])
        if bornAbove == 0 { return }
        // Other nodes may have appended above a version before it was live on this one.
        let start = site.log.membership == nil ? flips.firstAbove(target) : .start
        let windows = try SampleWindows(site, eventsMax: eventsMax, after: start, bornAbove: target)
        let history = try site.evolving.current().history
        var quiet = site
        quiet.job = quiet.job.silent
        let tally = try Laws.check(quiet, history, windows, at: target)
        sample = tally.passed
        loss = tally.losses.planned(history, from: state.live, to: target).filter { $0.count > 0 }
    }
}
