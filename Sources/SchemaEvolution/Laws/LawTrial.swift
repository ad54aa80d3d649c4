internal import Bytes
package import EventModel
internal import JSONText

/// Events of the log that need no image at a version: whoever made it live has accepted that its read models lack them.
package struct AcceptedQuarantine: Sendable {
    package let version: SchemaVersion
    /// Whether the event at a position is one of them.
    let contains: @Sendable (Position) -> Bool

    package init(at version: SchemaVersion, _ contains: @escaping @Sendable (Position) -> Bool = { _ in true }) {
        (self.version, self.contains) = (version, contains)
    }
}

/// Tries the laws on one event after another. Each thread needs its own trial.
///
/// T-up, T-down: every event has an image that fits its shape. L1: an event that is upcast and downcast again is unchanged; the images of
/// an event are converted together. L2: an event that is downcast and upcast again is unchanged. L3: converting an image back and forth
/// again gives an equal image. L4: converting version by version gives the same result as converting at once. L5: the parts of an event
/// keep their order over every step, and the name of its stream survives the round trip. L8: an accepted event has an image at every
/// version that was promised at that time.
package struct LawTrial {
    /// The results, except those of events that were counted by their trace.
    var noted = LawTally()
    let viewer: PathRunner
    /// Whether all laws are tried; otherwise only T, L1 and L4.
    private let isFull: Bool
    /// The outcomes for events of the log, by trace.
    var traces: [LawTrace: LawTrace.Outcome] = [:]
    /// The losses of the event that is being tried.
    var lost: Set<LossAccount.Entry> = []
    /// How many events with equal traces are tried; further ones are counted without a trial.
    let triesEach: Int
    /// The append that is being read from a log.
    var append = OpenAppend()
    let probe: LossProbe
    let shared: SharedLawTracer
    var madeGenerator: EventGenerator?
    private let quarantines: [AcceptedQuarantine]

    /// The laws need the paths between all pairs of versions, but those of one event at a time.
    private static let opsMax = 1 << 18

    /// - Parameters:
    ///   - triesEach: how many events with equal traces are tried, unless all laws are tried.
    ///   - quarantines: no law applies to the events of one without an image at its version, or at a later one for that reason.
    package init(_ history: History, isFull: Bool, triesEach: Int = 8, quarantines: [AcceptedQuarantine] = []) {
        self.quarantines = quarantines
        (viewer, self.isFull, self.triesEach) = (PathRunner(history, opsMax: Self.opsMax), isFull, isFull ? .max : triesEach)
        probe = LossProbe(history)
        shared = SharedLawTracer(viewer)
    }

    var history: History { viewer.history }

    /// Tries all laws on an event seen at a version.
    package mutating func check(_ event: LawEvent, at target: SchemaVersion) { check(all: [event], at: target) }

    /// Tries all laws on events of one append, stream and version that may be merged.
    mutating func check(all events: [LawEvent], at target: SchemaVersion) {
        var walk = StepWalk()
        check(all: events, at: target, along: &walk)
        noted.count(walk)
    }

    /// Tries all laws on events of one append, stream and version.
    /// - Parameter walk: the walk of these events in this direction, whose crossings the caller counts.
    mutating func check(all events: [LawEvent], at target: SchemaVersion, along walk: inout StepWalk) {
        var trace: LawTrace?
        if events.count == 1, events[0].origin == .log {
            let event = events[0]
            let source = SourceEvent(payload: event.payload.lent, time: event.time, metadata: event.metadata.lent)
            let kind = TypeAtVersion(type: event.type, version: event.born)
            trace = self.trace(of: source, kind, at: target) { event.stream(at: $0, history) }
            if let trace, count(trace, at: event.position) { return }
        }
        noted.count(events)
        lost = []
        let found = verdicts(onAll: events, at: target, along: &walk)
        for verdict in found { noted.count(verdict, of: events, at: target) }
        if let trace { traces[trace, default: LawTrace.Outcome(verdicts: found, losses: lost)].take(found, lost) }
    }

    /// One verdict for each law; empty if no law applies to the events.
    mutating func verdicts(onAll events: [LawEvent], at target: SchemaVersion, along walk: inout StepWalk) -> [LawVerdict] {
        events.count == 1 && !isMerged(events[0], target)
            ? verdicts(on: events[0], at: target, along: &walk) : verdicts(onMerged: events, at: target, along: &walk)
    }

    /// Whether events born at one version must have an image at another.
    package static func requiresImage(_ history: History, from born: SchemaVersion, to target: SchemaVersion) -> Bool {
        guard let file = history[born], target.number >= 1, target <= history.head, born != target else { return false }
        if born < target { return true }
        return target >= file.forward ?? born.previous && !history.opClass(from: target, to: born).contains(.oneWay)
    }

    /// The images of an event at a version, as if born there.
    func images(of event: LawEvent, at version: SchemaVersion) -> [LawEvent] {
        let start = [GroupPart(type: event.type, payload: event.payload)]
        let images: [GroupPart]
        do { images = try see(start, of: event, from: event.born, to: version) } catch { return [] }
        return images.map { image($0, of: event, bornAt: version) }
    }

    /// An image of an event as if born at its version.
    private func image(_ image: GroupPart, of event: LawEvent, bornAt version: SchemaVersion) -> LawEvent {
        var made = event
        (made.type, made.payload) = (image.type, image.payload)
        (made.stream, made.born) = (event.stream(at: version, history), version)
        return made
    }

    private mutating func verdicts(on event: LawEvent, at target: SchemaVersion, along walk: inout StepWalk) -> [LawVerdict] {
        // No law applies to data from before versions existed: the laws are tried on what adoption makes of it.
        guard event.born != target, event.born.number > 0 else { return [] }
        let isUp = event.born < target
        let start = [GroupPart(type: event.type, payload: event.payload)]
        let counts = viewer.counts
        var parts: [Int] = []
        let images: [GroupPart]
        do { images = try see(start, of: event, from: event.born, to: target, parts: &parts) } catch {
            return unseen([event], target, error)
        }
        if isFull, let error = nameRefusal(event, at: target), isQuarantined([event], target, error) { return [] }
        let forms = viewer.counts.forms(since: counts)
        var found = [LawVerdict(law: isUp ? "T-up" : "T-down")]
        let stepwise = stepwise(event, images, target, along: &walk)
        if isFull {
            let keepsOrder = parts == Array(parts.indices) && walk.keepsOrder(from: event.born, to: target)
            found.append(LawVerdict(law: "L5", holds: keepsOrder && keepsStream(event, images, target)))
        }
        if let stepwise { found.append(stepwise) }
        if images.isEmpty || history.opClass(from: event.born, to: target).contains(.oneWay) {
            enterLosses(of: [event], at: target)
            return found
        }
        if !isUp, !Self.requiresImage(history, from: event.born, to: target) {
            // No law requires a round trip from so far below, but losses are counted, since a rollback to that version has to report them.
            enterLosses(of: [event], at: target)
            return found
        }
        if isUp, isFull, !Self.requiresImage(history, from: target, to: event.born) { return found }
        found += roundTrip(event, images, target, forms)
        return found
    }

    /// The verdicts on events without an image.
    mutating func unseen(_ events: [LawEvent], _ target: SchemaVersion, _ error: EvstoreError) -> [LawVerdict] {
        guard let last = events.last, !isQuarantined(events, target, error) else { return [] }
        guard isExcused(last, target, error) else {
            return [LawVerdict(law: last.born < target ? "T-up" : "T-down", holds: false, error: error)]
        }
        noted.refused += 1
        return []
    }

    /// The verdicts on converting the images back.
    /// - Parameters:
    ///   - images: the event's images at `target`.
    ///   - forms: whether all values were canonical, and whether nothing was lost when the images were made.
    private mutating func roundTrip(
        _ event: LawEvent, _ images: [GroupPart], _ target: SchemaVersion, _ forms: (isCanonical: Bool, isLossless: Bool)
    ) -> [LawVerdict] {
        let (isCanonical, isLossless) = forms
        let isUp = event.born < target
        var verdict = LawVerdict(law: isUp ? "L1" : "L2")
        let back: [GroupPart]
        do { back = try see(images, of: event, from: target, to: event.born) } catch {
            if isExcused(event, target, error) { return [] }
            (verdict.holds, verdict.error) = (false, error)
            verdict.weight = isUp ? weight([event], target, isCanonical, isLossless) : weightBelow(event, target)
            // An event that was born above is stored as it is. Nobody converts its lower image back, so a codec that can't reproduce it
            // does no harm.
            if !isUp, error.isByCodec { return [verdict] }
            let stable = LawVerdict(
                law: "L3", holds: false, weight: weight(ofL3: verdict, [event], target, isCanonical, []), error: error)
            return isFull ? [verdict, stable] : [verdict]
        }
        verdict.holds = Self.isSame(back, [GroupPart(type: event.type, payload: event.payload)])
        if !verdict.holds { verdict.weight = isUp ? weight([event], target, isCanonical, isLossless) : weightBelow(event, target) }
        // Where the way back hides all images, nothing can come forth again: L1 tells whether that is declared.
        guard isFull, !back.isEmpty else { return [verdict] }
        var stable = LawVerdict(law: "L3")
        var differences: [Difference] = []
        do {
            differences = [Difference(again: try see(back, of: event, from: event.born, to: target), images: images)]
            stable.holds = differences[0].isNone
        } catch {
            if isExcused(event, target, error) { return [verdict] }
            (stable.holds, stable.error) = (false, error)
        }
        if !stable.holds { stable.weight = weight(ofL3: verdict, [event], target, isCanonical, differences) }
        return [verdict, stable]
    }

    /// What images become on the way back and here again.
    struct Difference {
        let again, images: [GroupPart]

        var isNone: Bool { LawTrial.isSame(again, images) }
    }

    /// The weight of a failure in which images are not the same again after the way back. If the events did not come back as they were, or a
    /// value is in another form, the images may show just that.
    /// - Parameters:
    ///   - verdict: whether the events came back as they were; for events of the log it tells of each loss.
    ///   - differences: empty where there are no images again.
    mutating func weight(
        ofL3 verdict: LawVerdict, _ events: [LawEvent], _ target: SchemaVersion, _ isCanonical: Bool, _ differences: [Difference]
    ) -> LawVerdict.Weight {
        if !verdict.holds, verdict.weight == .required { return .required }
        guard isCanonical, let last = events.last else { return .measured }
        if !verdict.holds {
            if last.origin == .log || last.origin == .adopted || loseAsDeclared(events, target) { return .measured }
        }
        return !differences.isEmpty && differences.allSatisfy { isAllowed($0, last, target) } ? .measured : .required
    }

    /// Whether an image may differ from the one that it becomes on the way back and here again. A codec may round each time. Where a step
    /// makes a member from others within an object that the older version need not have, the way down takes the member out and can't know
    /// whether the object was there: an empty object and an absent one become one. On the way back up, an older image loses what an event
    /// that was born there loses.
    private func isAllowed(_ difference: Difference, _ event: LawEvent, _ target: SchemaVersion) -> Bool {
        let (steps, isUp) = (history.steps(from: event.born, to: target), event.born < target)
        let drifting = DriftingMembers(steps, isUp ? .up : .down)
        let mergesEmpty = !isUp && steps.contains { $0.step.derivesWithinObjects }
        func compared(_ parts: [GroupPart]) -> [GroupPart] {
            parts.map { part in
                do {
                    let rest = drifting.removed(from: try JSONValue(parsing: part.payload.lent))
                    return GroupPart(type: part.type, payload: Array((mergesEmpty ? rest.withoutEmptyObjects : rest).text.utf8))
                } catch { return part }
            }
        }
        if drifting.areAll || Self.isSame(compared(difference.again), compared(difference.images)) { return true }
        guard !isUp, difference.images.count == 1 else { return false }
        return loseAsDeclared([image(difference.images[0], of: event, bornAt: target)], event.born)
    }

    /// The weight of a failure in which downcast events differ from the originals.
    mutating func weight(
        _ events: [LawEvent], _ target: SchemaVersion, _ isCanonical: Bool, _ isLossless: Bool
    ) -> LawVerdict.Weight {
        let lost = enterLosses(of: events, at: target)
        // A replay asks for what is undeclared.
        if !lost.isEmpty { return lost.contains(where: \.isUndeclared) ? .noted : .measured }
        guard isCanonical, isLossless, let event = events.first else { return .measured }
        let mayLose = !history.opClass(from: event.born, to: target).isDisjoint(with: [.narrow, .partial, .oneWay])
        return mayLose || loseAsDeclared(events, target) ? .measured : .required
    }

    /// Whether the account of losses has losses of these events, and each of them is declared.
    private func loseAsDeclared(_ events: [LawEvent], _ target: SchemaVersion) -> Bool {
        let lost = losses(of: events, at: target)
        return !lost.isEmpty && lost.allSatisfy(\.isDeclared)
    }

    /// Counts the losses of logged or adopted events that changed in a round trip.
    @discardableResult
    private mutating func enterLosses(of events: [LawEvent], at target: SchemaVersion) -> Set<LossAccount.Entry> {
        guard let event = events.last, event.origin == .log || event.origin == .adopted else { return [] }
        let entries = losses(of: events, at: target)
        noted.losses.add(entries, at: event.position ?? .start)
        lost.formUnion(entries)
        return entries
    }

    /// The weight of a failure in which an upcast event differs from the original. The declared class of a Swift step is a promise that its
    /// code may break.
    private mutating func weightBelow(_ event: LawEvent, _ target: SchemaVersion) -> LawVerdict.Weight {
        enterLosses(of: [event], at: target)
        let steps = history.steps(from: target, to: event.born)
        return steps.contains(where: \.hasSwiftSteps) && steps.allSatisfy { $0.opClass == .iso } ? .required : .measured
    }

    /// Whether an error is allowed. A partial step, a codec or a declared `block` may refuse an event that is not from the log, since no gate
    /// has accepted it.
    /// If the log has a shadow of the event, the program may lack the code for the downcast.
    func isExcused(_ event: LawEvent, _ target: SchemaVersion, _ error: EvstoreError) -> Bool {
        if case .programNeeded = error, event.hasShadow, target < event.born { return true }
        guard event.origin != .log else { return false }
        // A rekey may refuse a generated stream name.
        if error.isByCodec { return true }
        if case .noImage(let failure) = error, failure.pointer == ImageFailure.streamName || failure.isDeclared { return true }
        return history.opClass(from: event.born, to: target).contains(.partial)
    }

    /// Whether events of the log have no image at a version because of steps up to one at which that is known; counts them.
    mutating func isQuarantined(_ events: [LawEvent], _ target: SchemaVersion, _ error: EvstoreError) -> Bool {
        guard case .noImage = error, let first = events.first, first.origin == .log else { return false }
        let quarantines = quarantines
        for quarantine in quarantines where first.born < min(quarantine.version, target) {
            guard events.contains(where: { $0.position.map(quarantine.contains) ?? false }) else { continue }
            if target > quarantine.version, hasImage(of: events, at: quarantine.version) { continue }
            noted.quarantined += UInt64(events.count)
            return true
        }
        return false
    }

    /// False also where that can't be found out.
    private mutating func hasImage(of events: [LawEvent], at version: SchemaVersion) -> Bool {
        let start = events.map { [GroupPart(type: $0.type, payload: $0.payload)] }
        do { _ = try see(appended: start, of: events, from: events[0].born, to: version) } catch { return false }
        return events.allSatisfy { nameRefusal($0, at: version) == nil }
    }

    /// Whether a step on the path merges the event with others of its append.
    func isMerged(_ event: LawEvent, _ target: SchemaVersion) -> Bool {
        do { return try viewer.path(type: event.type, born: event.born, to: target).merges } catch { return false }
    }

    /// The verdict on converting an event version by version; nil for the version next to its own, for which that is converting at once.
    private func stepwise(
        _ event: LawEvent, _ images: [GroupPart], _ target: SchemaVersion, along walk: inout StepWalk
    ) -> LawVerdict? {
        let isFar = (event.born < target ? event.born.next : event.born.previous) != target
        guard isFar || isFull else { return nil }
        do throws(EvstoreError) {
            let last = try walk.images(of: [event], at: target) { (before, from, to) throws(EvstoreError) in
                let after = isFar ? try see(before[0], of: event, from: from, to: to) : images
                guard isFull else { return StepWalk.Stop([after]) }
                return StepWalk.Stop(
                    [after], keepsOrder: keepsOrder(before[0], after, of: event, from: from, to: to),
                    crossings: StepCrossing.all(before[0], after, from: from, to: to))
            }
            return isFar ? LawVerdict(law: "L4", holds: Self.isSame(last[0], images)) : nil
        } catch {
            return images.isEmpty || isExcused(event, target, error) ? nil : LawVerdict(law: "L4", holds: false, error: error)
        }
    }

    func see(
        _ all: [GroupPart], of event: LawEvent, from: SchemaVersion, to: SchemaVersion
    ) throws(EvstoreError) -> [GroupPart] {
        var parts: [Int] = []
        return try see(all, of: event, from: from, to: to, parts: &parts)
    }

    /// The images of an event, or of its parts, in order, each validated against its shape.
    private func see(
        _ all: [GroupPart], of event: LawEvent, from: SchemaVersion, to: SchemaVersion, parts: inout [Int]
    ) throws(EvstoreError) -> [GroupPart] {
        var result: [GroupPart] = []
        guard let first = all.first else { return [] }
        func take(_ image: borrowing Image) {
            result.append(GroupPart(type: image.type, payload: [UInt8](copying: image.payload)))
            parts.append(image.part)
        }
        do {
            if all.count == 1 {
                try viewer.view(
                    SourceEvent(payload: first.payload.lent, time: event.time, metadata: event.metadata.lent),
                    of: TypeAtVersion(type: first.type, version: from), stream: event.stream(at: from, history), at: to, validating: true,
                    take)
            } else {
                let context = EventContext(time: event.time, stream: event.stream(at: from, history), metadata: event.metadata.lent)
                try viewer.view(group: all, born: from, context, at: to, validating: true, take)
            }
        } catch { throw error as? EvstoreError ?? .verificationFailed(reason: "\(error)") }
        return result
    }

    static func isSame(_ a: [GroupPart], _ b: [GroupPart]) -> Bool {
        a.count == b.count && zip(a, b).allSatisfy { $0.type.isSame(as: $1.type) && isSame($0.payload, $1.payload) }
    }

    private static func isSame(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        if a == b { return true }
        do { return try JSONEquality.same(a.lent, b.lent) } catch { return false }
    }
}

extension JSONValue {
    /// The value without the members that are empty objects, or objects of such members alone.
    fileprivate var withoutEmptyObjects: JSONValue {
        switch self {
        case .object(let members):
            .object(members.map { .init(name: $0.name, value: $0.value.withoutEmptyObjects) }.filter { $0.value != .object([]) })
        case .array(let values): .array(values.map(\.withoutEmptyObjects))
        case .null, .bool, .number, .string: self
        }
    }
}

extension EvstoreError {
    /// Whether the cause is a codec that could not read a value.
    fileprivate var isByCodec: Bool { if case .noImage(let failure) = self { failure.isByCodec } else { false } }
}

extension LawTrial {
    /// Whether the images of several parts after a step are those of each part alone, in the same order. Parts that the step joins to one
    /// event count as one, at the position of the first of them.
    func keepsOrder(
        _ before: [GroupPart], _ after: [GroupPart], of event: LawEvent, from: SchemaVersion, to: SchemaVersion
    ) -> Bool {
        if before.count < 2 { return true }
        let alone = before.map { part in seen([part], of: event, from: from, to: to) }
        if let all = Self.concatenation(alone), Self.isSame(all, after) { return true }
        // Finds the groups of parts that the step joins: a part belongs to the first group whose images it changes.
        var groups: [(parts: [GroupPart], seen: [GroupPart]?)] = []
        for (part, own) in zip(before, alone) {
            var isJoined = false
            for index in groups.indices where !isJoined {
                let together = groups[index].parts + [part]
                guard let all = seen(together, of: event, from: from, to: to) else { continue }
                let apart = Self.concatenation([groups[index].seen, own])
                isJoined = apart.map { !Self.isSame(Self.sorted($0), Self.sorted(all)) } ?? true
                if isJoined { groups[index] = (together, all) }
            }
            if !isJoined { groups.append(([part], own)) }
        }
        var joined: [JoinedParts] = []
        for group in groups {
            // Other laws report whether each part has an image.
            guard let seen = group.seen else { return true }
            joined.append((group.parts, seen))
        }
        return match(joined[...], after[...]) { part in seen(part, of: event, from: from, to: to) }
    }

    /// Parts that the step joins to one event, and their images.
    private typealias JoinedParts = (parts: [GroupPart], seen: [GroupPart])

    /// Whether the images are those of the groups, in order. A group without an image may belong to a later group whose images do not
    /// change without it; the later group then takes its position.
    private func match(
        _ groups: ArraySlice<JoinedParts>, _ after: ArraySlice<GroupPart>, seeing see: ([GroupPart]) -> [GroupPart]?
    ) -> Bool {
        guard let first = groups.first else { return after.isEmpty }
        let rest = groups.dropFirst()
        if Self.isSame(first.seen, Array(after.prefix(first.seen.count))),
            match(rest, after.dropFirst(first.seen.count), seeing: see)
        {
            return true
        }
        guard first.seen.isEmpty else { return false }
        return rest.indices.contains { index in
            let other = rest[index]
            guard !other.seen.isEmpty, Self.isSame(other.seen, Array(after.prefix(other.seen.count))),
                see(first.parts + other.parts).map({ Self.isSame($0, other.seen) }) == true
            else { return false }
            return match(rest[..<index] + rest[(index + 1)...], after.dropFirst(other.seen.count), seeing: see)
        }
    }

    private func seen(_ parts: [GroupPart], of event: LawEvent, from: SchemaVersion, to: SchemaVersion) -> [GroupPart]? {
        do { return try see(parts, of: event, from: from, to: to) } catch { return nil }
    }

    private static func concatenation(_ lists: [[GroupPart]?]) -> [GroupPart]? {
        lists.contains { $0 == nil } ? nil : lists.flatMap { $0 ?? [] }
    }

    /// Tries law L8 on an event of the log: it must fit the shape at its birth version, and have an image, or a declared absence, at every
    /// version from the floor up to its birth version. The gate has checked these versions, whichever version was live then.
    package mutating func check(accepted event: LawEvent, from floor: SchemaVersion) {
        guard event.born.number > 0 else { return }
        let start = [GroupPart(type: event.type, payload: event.payload)]
        func count(_ error: EvstoreError?, at target: SchemaVersion) {
            noted.count(LawVerdict(law: "L8", holds: error == nil, error: error), of: [event], at: target)
        }
        do throws(EvstoreError) {
            let shape = try history.requireShape(of: event.type, at: event.born)
            do { try shape.validate(event.payload.lent) } catch {
                throw .noImage(
                    ImageFailure(
                        type: event.type, born: event.born, target: event.born, step: event.born, op: "shape", pointer: error.pointer,
                        expected: error.expected, found: error.found))
            }
            count(nil, at: event.born)
        } catch { count(error, at: event.born) }
        var target = event.born
        // Nothing is promised below a one-way step.
        while target > floor, target.number > 1, !history.opClass(from: target.previous, to: target).contains(.oneWay) {
            target = target.previous
            do {
                _ = try see(start, of: event, from: event.born, to: target)
                count(nil, at: target)
            } catch { count(error, at: target) }
        }
    }
}
