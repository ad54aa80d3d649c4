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

extension LossAccount {
    /// The losses that a replay from one version to another reports: those that its steps declare, other losses of its events, and the data
    /// of events newer than the target that the target does not show. Losses of the steps up to `from` are excluded, since they have
    /// already happened.
    func planned(_ history: History, from: SchemaVersion, to: SchemaVersion) -> [PlannedLoss] {
        var rest = counts.filter { $0.key.direction == .down || $0.key.loss.version > from }
        var found: [PlannedLoss] = []
        // An empty reason counts as no declaration.
        for loss in history.losses(from: from, to: to) where !loss.because.isEmpty && !found.contains(where: { $0.names(loss) }) {
            let entries = rest.filter { $0.key.loss == loss && !$0.key.isOtherForm }
            for entry in entries { rest[entry.key] = nil }
            found.append(
                PlannedLoss(
                    version: loss.version, type: loss.type, what: loss.words, declared: true, asks: false,
                    count: entries.sum(\.value.events), first: entries.map(\.value.first).min()))
        }
        let others = rest.map { entry, count in
            PlannedLoss(
                version: entry.loss.version, type: entry.loss.type, what: entry.words, declared: !entry.loss.because.isEmpty,
                asks: entry.isUndeclared, count: count.events, first: count.first)
        }
        return found + others.sorted { ($0.version, Name($0.type), $0.what) < ($1.version, Name($1.type), $1.what) }
    }
}

extension PlannedLoss {
    fileprivate func names(_ loss: LossDeclaration) -> Bool { version == loss.version && type.isSame(as: loss.type) && what == loss.words }
}

extension LossDeclaration {
    fileprivate var words: String { "\(op): \(because)" }
}

extension LossAccount.Entry {
    fileprivate var words: String {
        switch (isOtherForm, direction) {
        case (true, .up): "\(loss.op): another form of a value than the codec's own"
        case (true, .down): "\(loss.op): another form of a value than versions below \(loss.version) give back"
        case (false, _) where !loss.because.isEmpty: loss.words
        case (false, .up): "\(loss.op): what it does not give back"
        case (false, .down): "\(loss.op): what versions below \(loss.version) do not show"
        }
    }
}
