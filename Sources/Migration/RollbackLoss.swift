internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// The data of events born above an older version that this version does not show.
struct RollbackLoss {
    /// The number of events born above the version, and how many of them were examined.
    var bornAbove, sample: UInt64
    /// The losses of the examined events, by step, type and op.
    var loss: [PlannedLoss]

    /// - Parameter eventsMax: the most events that are examined, from the first position where such an event can be.
    init(
        _ context: MigrationContext, _ state: StoreState, _ flips: FlipHistory, to target: SchemaVersion, eventsMax: Int
    ) throws(EvstoreError) {
        bornAbove = try Plan.census(context).filter { $0.born > target }.sum(\.count)
        (sample, loss) = (0, [])
        if bornAbove == 0 { return }
        // On a node, events above a version may come before it was live here: other nodes may have appended them.
        let start = context.log.membership == nil ? flips.firstAbove(target) : .start
        let windows = try SampleWindows(context, eventsMax: eventsMax, after: start, bornAbove: target)
        let history = try context.evolving.current().history
        var quiet = context
        quiet.job = quiet.job.silent
        let tally = try Laws.check(quiet, history, windows, at: target)
        sample = tally.passed
        loss = tally.losses.planned(history, from: state.live, to: target).filter { $0.count > 0 }
    }
}
