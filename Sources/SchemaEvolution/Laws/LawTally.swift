package import EventModel

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
    /// The number of events of the log without an image that were known to have none; no law applies to them.
    package internal(set) var quarantined: UInt64 = 0
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

    package mutating func add(_ later: LawTally) {
        events += later.events
        passed += later.passed
        cases.merge(later.cases, uniquingKeysWith: +)
        refused += later.refused
        quarantined += later.quarantined
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

/// One op of a step for one type and direction, and the number of events on which it was tried.
package struct StepCase: Hashable, Sendable, CustomStringConvertible {
    package let step: SchemaVersion
    package let type: String
    package let op: String
    package let direction: Direction
    package let count: UInt64

    package var description: String { "\(step) \(type): \(op) \(direction == .up ? "up" : "down")" }
}

/// A type before or behind a step that events crossed.
private struct CrossedType: Hashable {
    let step: SchemaVersion
    let direction: Direction
    let type: Name
}

extension History {
    /// Every op that an event can pass, in the order of the files, with the number of events that passed it.
    package func cases(_ crossings: [StepCrossing: UInt64]) -> [StepCase] {
        var counts: [CrossedType: UInt64] = [:]
        for (crossing, count) in crossings {
            let types = Set(of: [crossing.from] + (crossing.to.map { [$0] } ?? []))
            for type in types { counts[CrossedType(step: crossing.step, direction: crossing.direction, type: type), default: 0] += count }
        }
        return chain.steps.flatMap { step -> [StepCase] in
            let (before, after) = (types(at: step.version.previous), types(at: step.version))
            let fates = before.map { type in (type, step.step.fates(of: type, after: 0).map(\.type).filter(after.contains)) }
            let above = Set(before).union(fates.flatMap(\.1))
            let below = Set(after).union(fates.compactMap { $0.1.isEmpty ? nil : $0.0 })
            var found: [StepCase] = []
            func add(_ type: String, _ op: String, _ direction: Direction) {
                guard direction == .up ? above.contains(type) : below.contains(type) && !step.opClass.contains(.oneWay) else { return }
                let count = counts[CrossedType(step: step.version, direction: direction, type: Name(type))] ?? 0
                found.append(StepCase(step: step.version, type: type, op: op, direction: direction, count: count))
            }
            for stage in step.stages {
                switch stage {
                case .payload(let entries):
                    for type in entries.sortedNames {
                        for entry in entries[type] ?? [] {
                            add(type, entry.label, .up)
                            add(type, entry.label, .down)
                        }
                    }
                case .event(let event, let label, _):
                    for type in event.up.sortedNames { for name in event.up[type]?.names(for: type) ?? [] { add(name, label, .up) } }
                    for type in event.down.sortedNames {
                        for name in event.down[type]?.names(for: type) ?? [] { add(name, label, .down) }
                    }
                }
            }
            return found
        }
    }
}

extension EventChange {
    /// The types whose events the change affects; empty if no event has an image.
    fileprivate func names(for type: String) -> [String] {
        switch self {
        case .dispatch(_, let cases): cases.map(\.type)
        case .parts(let parts, _): parts.map(\.type)
        case .blocked: []
        case .becomes, .rejoin, .hidden, .dropped: [type]
        }
    }
}

/// What the steps make of events, one after the other from the birth version on. The walk goes on where it stopped when the laws are tried
/// on the same events at a version further away.
struct StepWalk {
    struct Key: Hashable {
        let events: [Int]
        let areMerged: Bool
        let direction: Direction
    }

    /// The result of one step.
    struct Stop {
        /// The images of each event behind the step.
        let images: [[GroupPart]]
        /// Whether the step, and all before it, keep the order of an event's parts.
        fileprivate(set) var keepsOrder: Bool
        let crossings: [StepCrossing]
        /// How often the walk was asked to lead to this stop.
        fileprivate var visits: UInt64 = 0

        init(_ images: [[GroupPart]], keepsOrder: Bool = true, crossings: [StepCrossing] = []) {
            (self.images, self.keepsOrder, self.crossings) = (images, keepsOrder, crossings)
        }
    }

    private var stops: [Stop] = []
    /// Why there is no stop behind the last one.
    private var failure: EvstoreError?

    /// The images of events at a version.
    /// - Parameter step: converts images from one version to the next one on the way.
    mutating func images(
        of events: [LawEvent], at target: SchemaVersion,
        _ step: (_ images: [[GroupPart]], _ from: SchemaVersion, _ to: SchemaVersion) throws(EvstoreError) -> Stop
    ) throws(EvstoreError) -> [[GroupPart]] {
        let start = events.map { [GroupPart(type: $0.type, payload: $0.payload)] }
        guard let born = events.first?.born, born != target else { return start }
        func version(_ stop: Int) -> SchemaVersion { SchemaVersion(born < target ? born.number + stop : born.number - stop) }
        let distance = Self.distance(born, target)
        while stops.count < distance, failure == nil {
            do throws(EvstoreError) {
                var stop = try step(stops.last?.images ?? start, version(stops.count), version(stops.count + 1))
                stop.keepsOrder = stop.keepsOrder && stops.last?.keepsOrder ?? true
                stops.append(stop)
            } catch { failure = error }
        }
        let last = min(distance, stops.count) - 1
        if last >= 0 { stops[last].visits += 1 }
        if let failure, stops.count < distance { throw failure }
        return stops[last].images
    }

    /// Whether the steps between two versions, as far as the walk leads, keep the order of an event's parts.
    func keepsOrder(from born: SchemaVersion, to target: SchemaVersion) -> Bool {
        stops.prefix(Self.distance(born, target)).last?.keepsOrder ?? true
    }

    /// How often each crossing was made: each visit to a stop passes those before it.
    var crossings: [StepCrossing: UInt64] {
        var (counts, visits): ([StepCrossing: UInt64], UInt64) = ([:], 0)
        for stop in stops.reversed() {
            visits += stop.visits
            for crossing in stop.crossings { counts[crossing, default: 0] += visits }
        }
        return counts
    }

    private static func distance(_ born: SchemaVersion, _ target: SchemaVersion) -> Int { abs(target.number - born.number) }
}

extension StepCrossing {
    /// The crossings of parts that a step converts to images.
    static func all(_ before: [GroupPart], _ after: [GroupPart], from: SchemaVersion, to: SchemaVersion) -> [StepCrossing] {
        let types: Set<String?> = after.isEmpty ? [nil] : Set(after.map { Optional($0.type) })
        return before.flatMap { part in
            types.map { StepCrossing(step: max(from, to), direction: from < to ? .up : .down, from: part.type, to: $0) }
        }
    }
}
