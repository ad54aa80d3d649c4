internal import EventLog
package import EventModel
internal import Projections
internal import SchemaEvolution

/// Checks for consent: what a replay does only where the caller agrees.
package enum Consent {
    /// - Throws: `EvstoreError.consentNeeded` where a step can't be undone, or programs that lack a step could no longer append.
    static func requireForSteps(_ history: History, from state: StoreState, to: SchemaVersion, given: Bool) throws(EvstoreError) {
        if given { return }
        let oneWay = history.oneWaySteps(from: state.live, to: to)
        if !oneWay.isEmpty {
            let steps = oneWay.map { "\($0)" }.joined(separator: ", ")
            throw .consentNeeded(what: "there is no way back from \(steps); nothing was changed", how: "add \(.acceptLoss) to accept that")
        }
        if let refused = try history.refusedAppends(from: state, to: to).first {
            throw .consentNeeded(
                what: """
                    once \(to) is live, a program without \(refused.step) can't append \(refused.types.joined(separator: ", ")), \
                    whichever version it works at; nothing was changed
                    """, how: "see what is refused with: \(.plan(to: to)); add \(.acceptLoss) to accept it")
        }
    }

    /// - Throws: `EvstoreError.consentNeeded` where events that were tried lose data and no step declares that loss.
    static func requireForLoss(
        _ laws: LawTally, _ history: History, from: SchemaVersion, to: SchemaVersion, given: Bool
    ) throws(EvstoreError) {
        let asking = laws.losses.planned(history, from: from, to: to).filter { $0.asks && $0.count > 0 }
        guard let first = asking.first, !given else { return }
        let events = "\(counted(first.count, "event")) of \(laws.events)"
        let more = asking.count > 1 ? ", and \(asking.count - 1) more" : ""
        throw .consentNeeded(
            what: """
                the steps lose something that none of them declares: \(first.version) \(first.type): \(first.what), \(events), first at \
                position \(first.first?.description ?? "?")\(more); nothing is live that was not
                """,
            how: "see what a sample loses with: \(.plan(to: to)); add \(.acceptLoss) to accept it")
    }

    /// The losses for which a replay would still ask, or that no event had when a replay made their step live. At steps up to the floor
    /// there are none: whoever moved the floor has given up the way back over them.
    package static func lacking(for losses: [PlannedLoss], _ context: MigrationContext) throws(EvstoreError) -> [PlannedLoss] {
        let (state, flips) = (try context.state(), try FlipHistory(context.log))
        return losses.filter { loss in
            guard loss.asks, let first = loss.first, loss.version > state.floor else { return false }
            guard loss.version <= state.live, let reached = flips.reached(loss.version.previous, state) else { return true }
            return first > reached
        }
    }
}

/// The consent to take events off the log.
package struct TailConsent: Sendable {
    package var discardTail: Bool
    /// The only epoch in which the consent holds; nil holds in any.
    package var epoch: Epoch?

    package init(discardTail: Bool, epoch: Epoch? = nil) { (self.discardTail, self.epoch) = (discardTail, epoch) }

    /// On a node, others may append behind a cut whose answer was lost. A caller that repeats it must not take off what they appended.
    /// - Throws: `EvstoreError.consentNeeded`.
    func require(to cut: CutEffects, after snapshot: SnapshotReport, _ context: MigrationContext, _ now: Epoch) throws(EvstoreError) {
        if cut.tail == 0 && cut.floor == nil && cut.nodes.isEmpty { return }
        guard discardTail else {
            throw .consentNeeded(
                what: "\(cut.words); nothing was changed",
                how: cut.tail > 0 ? "add \(.discardTail); the events go to the archive" : "add \(.discardTail)")
        }
        if let epoch, epoch != now {
            throw .consentNeeded(
                what: "the log is in epoch \(now), and the consent is to cut off what epoch \(epoch) has; nothing was changed",
                how: "look at what was cut: \(.journal)")
        }
        guard cut.tail > 0, context.log.membership != nil, epoch == nil else { return }
        let cuts = try context.log.reading { try $0.cuts() }
        let isRepeated = cuts.contains { $0.epoch > snapshot.epoch && $0.position == snapshot.position }
        if isRepeated {
            throw .consentNeeded(
                what:
                    "an epoch began at the snapshot \(snapshot.name) since it was taken, by a cut to it or as the store was restored there, and \(cut.events) came behind that; nothing was changed",
                how: "to cut these off too, add \(.epoch(now))")
        }
    }
}

/// What going back to a snapshot undoes beyond the live version of the store, for which a consent is needed.
struct CutEffects {
    let snapshot: SnapshotReport
    let tail: UInt64
    /// The floor before, where it has risen since the snapshot.
    let floor: SchemaVersion?
    /// Other nodes of the cluster log whose versions are above those of the snapshot.
    let nodes: [NodeRow]

    /// - Parameter last: the last position before the cut.
    init(of snapshot: SnapshotReport, _ state: StoreState, _ last: Position, _ context: MigrationContext) throws(EvstoreError) {
        let own = context.log.membership?.node
        self.snapshot = snapshot
        tail = last.events(after: snapshot.position)
        floor = state.floor > snapshot.floor ? state.floor : nil
        nodes = own == nil ? [] : try context.log.reading { try $0.nodes() }.filter { $0.live > snapshot.top && $0.name != own }
    }

    var events: String { "\(counted(tail, "event")) after position \(snapshot.position)" }

    var words: String {
        var parts = tail > 0 ? ["\(events) would be cut off"] : []
        if let floor { parts.append("the floor would go back from \(floor) to \(snapshot.floor), as before the finalize") }
        parts += nodes.map { "node \($0.name) would go back from \($0.live) to \(snapshot.top)" }
        return parts.joined(separator: "; ")
    }
}

extension History {
    /// The event types that programs without a step can no longer append once a version is live, by step.
    func refusedAppends(from state: StoreState, to version: SchemaVersion) throws(EvstoreError) -> [RefusedAppends] {
        try typesUpThroughSwift(from: state.live, to: version, floor: state.floor).map { RefusedAppends(step: $0.step, types: $0.types) }
    }
}
