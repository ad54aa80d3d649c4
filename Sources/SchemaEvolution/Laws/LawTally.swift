internal import EventModel

/// The results of trying the laws on many events.
package struct LawTally: Sendable {
    package struct Count: Hashable, Sendable {
        package internal(set) var tried: UInt64 = 0
        package internal(set) var failed: UInt64 = 0
        /// Cases in which the law does not hold and need not hold, since steps or values may lose something.
        package internal(set) var lossy: UInt64 = 0
    }

    package internal(set) var events: UInt64 = 0
    /// The number of log events that were visited, tried or not.
    package internal(set) var passed: UInt64 = 0
    /// The number of tries by origin; an event counts once for each version at which it is tried.
    package internal(set) var cases: [LawEvent.Origin: UInt64] = [:]
    /// The number of events outside the log that a step refused because it may refuse events; no law applies to them.
    package internal(set) var refused: UInt64 = 0
    package internal(set) var counts: [String: Count] = [:]
    package internal(set) var crossings: [StepCrossing: UInt64] = [:]
    /// The losses of events of the log.
    package internal(set) var losses = LossAccount()
    /// The first failure for each law, weight and type.
    package internal(set) var failures: [LawFailure] = []

    package init() {}

    /// Counts a case of a law that does not concern single events.
    package mutating func count(_ law: String, holds: Bool) {
        counts[law, default: Count()].tried += 1
        if !holds { counts[law]?.failed += 1 }
    }

    mutating func count(_ events: [LawEvent]) {
        for event in events { cases[event.origin, default: 0] += 1 }
        self.events += UInt64(events.count)
    }

    mutating func count(_ walk: StepWalk) { crossings.merge(walk.crossings, uniquingKeysWith: +) }

    /// Counts verdicts, none of which is a failure, for a number of log events.
    mutating func count(_ verdicts: [LawVerdict], ofLogEvents count: UInt64) {
        guard count > 0 else { return }
        cases[.log, default: 0] += count
        events += count
        for verdict in verdicts {
            counts[verdict.law, default: Count()].tried += count
            if !verdict.holds { counts[verdict.law]?.lossy += count }
        }
    }

    mutating func count(_ verdict: LawVerdict, of events: [LawEvent], at target: SchemaVersion) {
        if !verdict.holds, verdict.weight == .measured {
            count(verdict.law, holds: true)
            counts[verdict.law]?.lossy += 1
            return
        }
        count(verdict.law, holds: verdict.holds)
        guard !verdict.holds else { return }
        keep(LawFailure(verdict: verdict, events: events, target: target))
    }

    /// Adds the results for later events.
    package mutating func add(_ later: LawTally) {
        events += later.events
        passed += later.passed
        cases.merge(later.cases, uniquingKeysWith: +)
        refused += later.refused
        counts.merge(later.counts) {
            Count(tried: $0.tried + $1.tried, failed: $0.failed + $1.failed, lossy: $0.lossy + $1.lossy)
        }
        crossings.merge(later.crossings, uniquingKeysWith: +)
        losses.add(later.losses)
        for failure in later.failures { keep(failure) }
    }

    private mutating func keep(_ failure: LawFailure) {
        let isKnown = failures.contains {
            $0.verdict.law == failure.verdict.law && $0.verdict.weight == failure.verdict.weight
                && $0.event.type.isSame(as: failure.event.type)
        }
        if !isKnown { failures.append(failure) }
    }
}
