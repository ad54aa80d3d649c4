package import EventModel

/// Which ops lose something of events of a log on their way to a version, and of how many events.
///
/// Found by converting the events: one loses something at a step if going back from behind the step gives another event than going back
/// from before it, and at an op of that step if undoing the op does not give what there was before it.
package struct LossAccount: Sendable {
    package struct Entry: Hashable, Sendable {
        package let loss: LossDeclaration
        package let direction: Direction
        /// Whether the only difference is how a number or a moment is written.
        package let isOtherForm: Bool

        /// Whether nothing declares the loss: on the way up, it is more than another form of a value, and the op has no reason. That an
        /// older version shows less needs no reason.
        package var isUndeclared: Bool { direction == .up && !isOtherForm && loss.because.isEmpty }
    }

    package struct Count: Hashable, Sendable {
        package var events: UInt64
        /// The positions of the first and the last of the events.
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

    /// Adds the losses of events that come after these.
    mutating func add(_ later: LossAccount) {
        counts.merge(later.counts) { Count(events: $0.events + $1.events, first: min($0.first, $1.first), last: max($0.last, $1.last)) }
    }
}

extension LawTrial {
    /// The losses of events that did not come back as they were, or that have no image by declaration. One-way steps need a consent of
    /// their own: neither they nor the steps behind them are searched.
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
            let back = convertBack(after, events, from: next)
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

    /// The images converted back to the birth version of their events; nil where one can't be.
    private func convertBack(_ images: [[GroupPart]], _ events: [LawEvent], from version: SchemaVersion) -> [GroupPart]? {
        var back: [GroupPart] = []
        for (image, event) in zip(images, events) {
            do { back += try see(image, of: event, from: version, to: event.born) } catch { return nil }
        }
        return Self.sorted(back)
    }
}
