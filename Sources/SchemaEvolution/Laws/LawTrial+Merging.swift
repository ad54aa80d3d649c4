internal import Bytes
package import EventModel
internal import JSONText

/// An append whose end has not been read yet, and whose later events may be merged with the earlier ones.
struct OpenAppend {
    /// Events are merged only with events of the same stream and birth version.
    struct Key: Hashable {
        let stream: String
        let born: SchemaVersion
    }

    var waiting: [Key: [LawEvent]] = [:]
    var last: Position?
    /// Whether all of its events so far were read.
    var isWhole = false
}

extension LawTrial {
    /// Tries all laws on the next event of a log. Events must come in log order; an event that is merged with others is tried when its
    /// append has ended.
    ///
    /// If the caller skips events of an append, the events that may be merged with them are not tried.
    package mutating func check(next event: LawEvent, at targets: [SchemaVersion]) {
        pass(event.place, at: targets)
        if event.born.number == 0 { return check(adopted: event, at: targets) }
        var waits = false
        for target in targets {
            if isMerged(event, target) { waits = true } else { check(event, at: target) }
        }
        guard waits, append.isWhole else { return }
        append.waiting[OpenAppend.Key(stream: event.stream, born: event.born), default: []].append(event)
    }

    /// Registers the next event of a log: if it begins an append, the previous append has ended.
    mutating func pass(_ place: LogLocation, at targets: [SchemaVersion]) {
        noted.passed += 1
        let follows = append.last?.next == place.position
        append.last = place.position
        if !place.continuesAppend {
            if follows { finishAppend(at: targets) }
            append.isWhole = true
        } else if !follows {
            append.isWhole = false
        }
        if !follows { append.waiting.removeAll() }
    }

    /// Tries the laws on the events that wait for the end of their append. Call this at the end of the log.
    package mutating func finishAppend(at targets: [SchemaVersion]) {
        guard !append.waiting.isEmpty else { return }
        for (_, events) in append.waiting.sorted(by: { ($0.key.stream, $0.key.born) < ($1.key.stream, $1.key.born) }) {
            for target in targets {
                let merged = events.filter { isMerged($0, target) }
                if !merged.isEmpty { check(all: merged, at: target) }
            }
        }
        append.waiting.removeAll(keepingCapacity: true)
    }

    /// Tries the laws on what adoption makes of data from before versions existed, as if born at version 1.
    private mutating func check(adopted event: LawEvent, at targets: [SchemaVersion]) {
        let first = SchemaVersion(1)
        let images: [GroupPart]
        do { images = try see([GroupPart(type: event.type, payload: event.payload)], of: event, from: event.born, to: first) } catch {
            // Data that matches no case is quarantined.
            return
        }
        for image in images {
            var made = event
            (made.origin, made.type, made.payload, made.born) = (.adopted, image.type, image.payload, first)
            for target in targets where target > first { check(made, at: target) }
        }
    }

    /// The laws for events that are merged on the way up: on the way down, a merged event must become the events from which it was merged,
    /// in any order.
    mutating func verdicts(onMerged events: [LawEvent], at target: SchemaVersion, along walk: inout StepWalk) -> [LawVerdict] {
        guard let last = events.last, last.born.number > 0, last.born < target else { return [] }
        let start = events.map { GroupPart(type: $0.type, payload: $0.payload) }
        let counts = viewer.counts
        let images: [[GroupPart]]
        do { images = try see(appended: start.map { [$0] }, of: events, from: last.born, to: target) } catch {
            return unseen(events, target, error)
        }
        for event in events {
            if let error = nameRefusal(event, at: target), isQuarantined(events, target, error) { return [] }
        }
        let (isCanonical, isLossless) = viewer.counts.forms(since: counts)
        var found = [LawVerdict(law: "T-up"), LawVerdict(law: "L5", holds: zip(events, images).allSatisfy { keepsStream($0, $1, target) })]
        if let stepwise = stepwise(events, images, target, along: &walk) { found.append(stepwise) }
        guard Self.requiresImage(history, from: target, to: last.born) else { return found }
        var verdict = LawVerdict(law: "L1")
        do {
            var back: [[GroupPart]] = []
            var differences: [Difference] = []
            for (event, image) in zip(events, images) {
                let parts = try see(image, of: event, from: target, to: event.born)
                let again = try see(parts, of: event, from: event.born, to: target)
                let one = Difference(again: again, images: image)
                if !parts.isEmpty, !one.isNone { differences.append(one) }
                back.append(parts)
            }
            verdict.holds = Self.isSame(Self.sorted(back.flatMap(\.self)), Self.sorted(start))
            if !verdict.holds { verdict.weight = weight(events, target, isCanonical, isLossless) }
            var stable = LawVerdict(law: "L3", holds: differences.isEmpty)
            if !stable.holds { stable.weight = weight(ofL3: verdict, events, target, isCanonical, differences) }
            return found + [verdict, stable]
        } catch {
            if isExcused(last, target, error) { return found }
            (verdict.holds, verdict.error, verdict.weight) = (false, error, weight(events, target, isCanonical, isLossless))
            let stable = LawVerdict(
                law: "L3", holds: false, weight: weight(ofL3: verdict, events, target, isCanonical, []), error: error)
            return found + [verdict, stable]
        }
    }

    private func stepwise(
        _ events: [LawEvent], _ images: [[GroupPart]], _ target: SchemaVersion, along walk: inout StepWalk
    ) -> LawVerdict? {
        do throws(EvstoreError) {
            let last = try walk.images(of: events, at: target) { (before, from, to) throws(EvstoreError) in
                let after = try see(appended: before, of: events, from: from, to: to)
                return StepWalk.Stop(after, crossings: zip(before, after).flatMap { StepCrossing.all($0, $1, from: from, to: to) })
            }
            return LawVerdict(law: "L4", holds: zip(last, images).allSatisfy { Self.isSame($0, $1) })
        } catch {
            // What is not seen at the target needs no image on the way.
            if images.allSatisfy(\.isEmpty) { return nil }
            return isExcused(events[0], target, error) ? nil : LawVerdict(law: "L4", holds: false, error: error)
        }
    }

    /// For each event of an append, its images at a version; empty if a later event has the merged image.
    func see(
        appended all: [[GroupPart]], of events: [LawEvent], from: SchemaVersion, to: SchemaVersion
    ) throws(EvstoreError) -> [[GroupPart]] {
        var (parts, sources): ([AppendedEvent], [Int]) = ([], [])
        for (index, event) in events.enumerated() {
            let first = parts.count
            for part in all[index] {
                sources.append(index)
                parts.append(
                    AppendedEvent(
                        type: part.type, payload: part.payload, metadata: event.metadata, time: event.time,
                        stream: event.stream(at: from, history),
                        first: first))
            }
        }
        var found: [[GroupPart]] = events.map { _ in [] }
        var failure: ImageFailure?
        do {
            try viewer.view(
                appended: parts, born: from, at: to,
                failed: { index, one in
                    guard failure == nil else { return }
                    failure = one
                    failure?.position = events[sources[index]].position
                }
            ) { index, image in
                found[sources[index]].append(GroupPart(type: image.type, payload: [UInt8](copying: image.payload)))
            }
        } catch { throw error as? EvstoreError ?? .verificationFailed(reason: "\(error)") }
        if let failure { throw .noImage(failure) }
        return found
    }

    /// Whether the name of an event's stream is unchanged after conversion to another version and back, and is the one that the template
    /// of each image makes there: no event could be appended behind an image in another stream.
    func keepsStream(_ event: LawEvent, _ images: [GroupPart], _ target: SchemaVersion) -> Bool {
        guard history.rekeysStreams else { return true }
        do {
            let name = try StreamName(event.stream)
            let seen = try history.streamName(name, from: event.born, to: target)
            guard try history.streamName(seen, from: target, to: event.born) == name else { return false }
            // A made event has the stream of another one, and an import may have taken one into any stream.
            let isOwn = holds(GroupPart(type: event.type, payload: event.payload), in: name, at: event.born)
            return event.origin != .log || !isOwn || images.allSatisfy { holds($0, in: seen, at: target) }
        } catch {
            // A rekey may refuse a generated name.
            return event.origin != .log
        }
    }

    /// Why a step gives the stream of an event of the log no name at a version; nil where it has one there.
    func nameRefusal(_ event: LawEvent, at target: SchemaVersion) -> EvstoreError? {
        guard history.rekeysStreams, event.origin == .log else { return nil }
        do throws(EvstoreError) {
            _ = try history.streamName(StreamName(event.stream), from: event.born, to: target)
            return nil
        } catch { return error }
    }

    /// Whether a type has no template, or its template makes this name.
    private func holds(_ part: GroupPart, in stream: StreamName, at version: SchemaVersion) -> Bool {
        guard let template = history.shape(of: part.type, at: version)?.stream else { return true }
        do { return try template.name(for: part.payload.lent) == stream.text } catch { return false }
    }

    static func sorted(_ parts: [GroupPart]) -> [GroupPart] {
        parts.map { part in
            do { return GroupPart(type: part.type, payload: try Canonical.bytes(of: part.payload.lent)) } catch { return part }
        }.sorted { ($0.type, String(decoding: $0.payload, as: UTF8.self)) < ($1.type, String(decoding: $1.payload, as: UTF8.self)) }
    }
}
