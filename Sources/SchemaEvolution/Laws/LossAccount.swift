package import EventModel

/// What events of a log lose on their way to a version: at which op, and how many of those that were seen.
///
/// Made by the conversion itself: an event loses something at a step where the way back to its birth gives another event
/// than the way back from before the step, and at the op of it that does not give back what it was given.
package struct LossAccount: Sendable {
    package struct Entry: Hashable, Sendable {
        package let loss: LossDeclaration
        package let direction: Direction
        /// Whether only a number or a moment is written in another way than before, which a codec accepts.
        package let isOtherForm: Bool

        /// Whether nobody has said that this is lost: a step by its reason, a codec by taking other forms, or a version
        /// that is older than the event, by being older.
        package var isUntold: Bool { direction == .up && !isOtherForm && loss.because.isEmpty }
    }

    package struct Count: Hashable, Sendable {
        package var events: UInt64
        /// The first of them, and the last.
        package var first, last: Position
    }

    package private(set) var counts: [Entry: Count] = [:]

    package init() {}

    /// An event counts once for each entry, also where it is seen at several versions.
    mutating func add(_ entries: Set<Entry>, of event: LawEvent) {
        let position = event.position ?? Position(0)
        for entry in entries {
            var count = counts[entry] ?? Count(events: 0, first: position, last: position)
            guard count.events == 0 || count.last != position else { continue }
            count.events += 1
            count.last = position
            counts[entry] = count
        }
    }

    /// Takes in what was found on events that come after these.
    mutating func add(_ later: LossAccount) {
        counts.merge(later.counts) { Count(events: $0.events + $1.events, first: min($0.first, $1.first), last: max($0.last, $1.last)) }
    }
}

extension LawTrial {
    /// Where events that did not come back as they were, or have no image by declaration, have lost something: steps with no
    /// way down, which need consent of their own, are not looked at, nor what lies behind them.
    package func losses(of events: [LawEvent], at target: SchemaVersion) -> Set<LossAccount.Entry> {
        guard let born = events.first?.born, born.number > 0 else { return [] }
        let direction: Direction = born < target ? .up : .down
        var found: Set<LossAccount.Entry> = []
        var images = events.map { [GroupPart(type: $0.type, payload: $0.payload)] }
        var given: [GroupPart]? = Self.sorted(images.flatMap(\.self))
        var version = born
        while version != target {
            let next = direction == .up ? version.next : version.previous
            guard !history.opClass(from: version, to: next).contains(.oneWay) else { break }
            let after: [[GroupPart]]
            do { after = try see(events, at: next) } catch { break }
            let back = giveBack(after, events, from: next)
            if back != given {
                for (image, event) in zip(images, events) {
                    for part in image { found.formUnion(probe.losses(of: part, of: event, from: version, to: next, direction)) }
                }
            }
            (images, given, version) = (after, back, next)
        }
        return found
    }

    private func see(_ events: [LawEvent], at version: SchemaVersion) throws(EvstoreError) -> [[GroupPart]] {
        let start = events.map { [GroupPart(type: $0.type, payload: $0.payload)] }
        if events.count == 1, !isMerged(events[0], version) {
            return [try see(start[0], of: events[0], from: events[0].born, to: version)]
        }
        return try see(appended: start, of: events, from: events[0].born, to: version)
    }

    /// What images are at the birth of their events; nil where they have no image there.
    private func giveBack(_ images: [[GroupPart]], _ events: [LawEvent], from version: SchemaVersion) -> [GroupPart]? {
        var back: [GroupPart] = []
        for (image, event) in zip(images, events) {
            do { back += try see(image, of: event, from: version, to: event.born) } catch { return nil }
        }
        return Self.sorted(back)
    }
}
