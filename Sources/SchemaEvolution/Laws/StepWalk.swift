internal import EventModel

/// What the steps make of events, one after the other from the birth version on. The walk goes on where it stopped when the laws are tried
/// on the same events at a version further away.
struct StepWalk {
    /// Identifies a walk among those of several events.
    struct Key: Hashable {
        /// The indices of its events.
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
