internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// The data of events born above an older version that this version does not show, and which of them have no image there.
struct RollbackLoss {
    /// The number of events born above the version, and how many of them were examined.
    var bornAbove, sample: UInt64
    /// The losses of the examined events, by step, type and op.
    var loss: [PlannedLoss]
    let conversion: ConversionMeasure

    /// - Parameter eventsMax: the most events that are examined, from the first position where such an event can be.
    init(
        _ context: MigrationContext, _ state: StoreState, _ flips: FlipHistory, to target: SchemaVersion, eventsMax: Int
    ) throws(EvstoreError) {
        bornAbove = try context.census().filter { $0.born > target }.sum(\.count)
        let history = try context.evolving.current().history
        (sample, loss) = (0, [])
        guard bornAbove > 0 else {
            conversion = ConversionMeasure(history, at: target)
            return
        }
        // On a node, events above a version may come before it was live here: other nodes may have appended them.
        let start = context.log.membership == nil ? flips.firstAbove(target) : .start
        let windows = try SampleWindows(context, eventsMax: eventsMax, after: start, bornAbove: target)
        var quiet = context
        quiet.job = quiet.job.silent
        let seen = try Laws.sample(quiet, history, windows, at: target)
        (sample, conversion) = (seen.laws.passed, seen.conversion)
        loss = seen.laws.losses.planned(history, from: state.live, to: target).filter { $0.count > 0 }
    }
}
