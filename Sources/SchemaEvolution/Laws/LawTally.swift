internal import EventModel

/// What trying the laws on many events came to.
package struct LawTally: Sendable {
    package struct Count: Hashable, Sendable {
        package internal(set) var tried: UInt64 = 0
        package internal(set) var failed: UInt64 = 0
    }

    package internal(set) var events: UInt64 = 0
    /// Events that were made and that a step which may refuse some did refuse: no law is stated for them.
    package internal(set) var refused: UInt64 = 0
    package internal(set) var counts: [String: Count] = [:]
    package internal(set) var crossings: [Crossing: UInt64] = [:]
    /// The first of each law and type.
    package internal(set) var failures: [LawFailure] = []

    package init() {}

    mutating func count(_ verdict: LawVerdict, of event: LawEvent, at target: SchemaVersion) {
        counts[verdict.law, default: Count()].tried += 1
        guard !verdict.holds else { return }
        counts[verdict.law]?.failed += 1
        guard verdict.weight != .measured else { return }
        keep(LawFailure(verdict: verdict, event: event, target: target))
    }

    /// Takes in what was found on events that come after these.
    package mutating func add(_ later: LawTally) {
        events += later.events
        refused += later.refused
        counts.merge(later.counts) { Count(tried: $0.tried + $1.tried, failed: $0.failed + $1.failed) }
        crossings.merge(later.crossings, uniquingKeysWith: +)
        for failure in later.failures { keep(failure) }
    }

    private mutating func keep(_ failure: LawFailure) {
        let isKnown = failures.contains {
            $0.verdict.law == failure.verdict.law && $0.verdict.weight == failure.verdict.weight && $0.event.type == failure.event.type
        }
        if !isKnown { failures.append(failure) }
    }
}
