package import EventModel

/// The ops at which events of a log lose something on their way to a version, and the number of events that each affects.
///
/// Losses are found by converting the events: an event loses something at a step if converting it back from behind the step gives a
/// different event than converting it back from before the step. It loses something at an op of that step if undoing the op does not
/// restore the state before it.
package struct LossAccount: Sendable {
    package struct Entry: Hashable, Sendable {
        package let loss: LossDeclaration
        package let direction: Direction
        /// Whether values differ only in the notation of a number or a moment.
        package let isOtherForm: Bool

        /// Whether the loss should be declared and is not: on the way up, it is more than a change of notation, and the op gives no reason.
        /// Losses on the way down need no reason.
        package var isUndeclared: Bool { direction == .up && !isOtherForm && loss.because.isEmpty }
    }

    package struct Count: Hashable, Sendable {
        package var events: UInt64
        /// The positions of the first and last affected event.
        package var first, last: Position
    }

    package private(set) var counts: [Entry: Count] = [:]

    package init() {}

    /// An event counts once for each entry, even if it is seen at several versions.
    mutating func add(_ entries: Set<Entry>, at position: Position) {
        for entry in entries {
            var count = counts[entry] ?? Count(events: 0, first: position, last: position)
            guard count.events == 0 || count.last != position else { continue }
            count.events += 1
            count.last = position
            counts[entry] = count
        }
    }

    /// Adds the losses of later events.
    mutating func add(_ later: LossAccount) {
        counts.merge(later.counts) { Count(events: $0.events + $1.events, first: min($0.first, $1.first), last: max($0.last, $1.last)) }
    }
}

extension LawTrial {
    /// Parts of events at one version that have an image at the next version only together: a single part, or all parts that a step merges.
    private typealias Unit = [(event: Int, part: Int)]

    /// The losses of events that changed in a round trip, or that have no image by declaration. One-way steps require separate consent:
    /// neither they nor the steps behind them are searched.
    package func losses(of events: [LawEvent], at target: SchemaVersion) -> Set<LossAccount.Entry> {
        guard let born = events.first?.born, born.number > 0 else { return [] }
        let direction: Direction = born < target ? .up : .down
        var found: Set<LossAccount.Entry> = []
        var images = events.map { [GroupPart(type: $0.type, payload: $0.payload)] }
        // Images are compared at the version to which all events can still be converted back: their birth version, or the version behind
        // the last step that stopped one.
        var (base, given) = (born, Self.sorted(images.flatMap(\.self)))
        var version = born
        while version != target {
            let next = direction == .up ? version.next : version.previous
            guard !history.opClass(from: version, to: next).contains(.oneWay) else { break }
            let after: [[GroupPart]]
            do { after = try see(events, at: next) } catch { break }
            let back = convertBack(after, events, from: next, to: base)
            if back != given {
                let losing = units(images, version, next).filter { unit in
                    // Events are converted back independently, so events without a part in the unit can be skipped.
                    let place = unit.count == 1 ? unit[0].event ..< unit[0].event + 1 : images.indices
                    let (own, whose) = (Array(images[place]), Array(events[place]))
                    let changed = led(unit.map { ($0.event - place.lowerBound, $0.part) }, of: own, whose, version, next)
                    return changed != own
                        && convertBack(changed, whose, from: version, to: base) != convertBack(own, whose, from: version, to: base)
                }
                // If no part loses anything by itself, all of them together do.
                for unit in losing.isEmpty ? units(images, version, next) : losing {
                    found.formUnion(
                        probe.losses(of: unit.map { (images[$0.event][$0.part], events[$0.event]) }, from: version, to: next, direction))
                }
            }
            // If nothing can be converted back to the base, later losses would be invisible there, so the base moves up to here.
            if let back, !back.isEmpty { given = back } else { (base, given) = (next, Self.sorted(after.flatMap(\.self))) }
            (images, version) = (after, next)
        }
        return found
    }

    private func units(_ images: [[GroupPart]], _ version: SchemaVersion, _ next: SchemaVersion) -> [Unit] {
        var (merged, alone): (Unit, [Unit]) = ([], [])
        for event in images.indices {
            for part in images[event].indices {
                if merges(images[event][part].type, version, next) { merged.append((event, part)) } else { alone.append([(event, part)]) }
            }
        }
        return merged.isEmpty ? alone : alone + [merged]
    }

    private func merges(_ type: String, _ version: SchemaVersion, _ next: SchemaVersion) -> Bool {
        do { return try viewer.path(type: type, born: version, to: next).merges } catch { return false }
    }

    /// The images after only one unit was converted over a step and back; without the unit if one of the two conversions fails.
    private func led(
        _ unit: Unit, of images: [[GroupPart]], _ events: [LawEvent], _ version: SchemaVersion, _ next: SchemaVersion
    ) -> [[GroupPart]] {
        var (rest, own) = (images, images.map { _ in [GroupPart]() })
        for (event, part) in unit.reversed() { own[event].insert(rest[event].remove(at: part), at: 0) }
        do {
            let there =
                unit.count == 1
                ? try zip(own, events).map { own, event in try own.isEmpty ? [] : see(own, of: event, from: version, to: next) }
                : try see(appended: own, of: events, from: version, to: next)
            let back = try zip(there, events).map { there, event in
                try there.isEmpty ? [] : see(there, of: event, from: next, to: version)
            }
            // On the way down, the order of an event's parts identifies them.
            for event in rest.indices {
                rest[event].insert(contentsOf: back[event], at: min(unit.first { $0.event == event }?.part ?? .max, rest[event].count))
            }
        } catch { return rest }
        return rest
    }

    private func see(_ events: [LawEvent], at version: SchemaVersion) throws(EvstoreError) -> [[GroupPart]] {
        let start = events.map { [GroupPart(type: $0.type, payload: $0.payload)] }
        if events.count == 1, !isMerged(events[0], version) {
            return [try see(start[0], of: events[0], from: events[0].born, to: version)]
        }
        return try see(appended: start, of: events, from: events[0].born, to: version)
    }

    /// The images converted back to an older version; nil if one of them can't be.
    private func convertBack(
        _ images: [[GroupPart]], _ events: [LawEvent], from version: SchemaVersion, to base: SchemaVersion
    ) -> [GroupPart]? {
        var back: [GroupPart] = []
        for (image, event) in zip(images, events) {
            do { back += try see(image, of: event, from: version, to: base) } catch { return nil }
        }
        return Self.sorted(back)
    }
}
