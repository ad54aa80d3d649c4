internal import Bytes
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// What must hold of the steps, tried on events of the log.
///
/// T-up: every event has an image, and it fits its shape. L4: stepping version by version gives the same as skipping.
/// L1: what went up comes down as it was; tried where an event has one image.
struct Laws {
    private(set) var events: UInt64 = 0
    private(set) var counts: [String: LawCount] = [:]
    /// Of T-up or L4, the first that did not hold.
    private(set) var firstFailure: EvstoreError?
    /// The first event that did not come back as it was, although no step on its way says that it loses something and
    /// each value was in its codec's own form.
    private(set) var firstLoss: Position?

    private let viewer: Viewer
    private let target: SchemaVersion

    /// On a sample of the log, seen at a version.
    static func check(_ site: MigrationSite, _ history: History, at target: SchemaVersion) throws(EvstoreError) -> Laws {
        var laws = Laws(history, target)
        for event in try Sample(site).events {
            if laws.events % 1_000 == 0 {
                try site.checkCancellation()
                site.say("laws", done: laws.events)
            }
            try laws.check(event)
        }
        return laws
    }

    private init(_ history: History, _ target: SchemaVersion) {
        (viewer, self.target) = (Viewer(history), target)
    }

    private mutating func check(_ event: Sample.Event) throws(EvstoreError) {
        events += 1
        guard event.born != target else { return }
        let images: [Seen]
        let before = viewer.counts.nonCanonical
        do { images = try see(event, event.type, event.born, event.payload, at: target) } catch {
            count(event.born < target ? "T-up" : "T-down", false)
            firstFailure = firstFailure ?? placed(error, event)
            return
        }
        count(event.born < target ? "T-up" : "T-down", true)
        let isCanonical = viewer.counts.nonCanonical == before
        try checkStepping(event, images)
        if images.count == 1, event.born >= SchemaVersion(1), event.born < target {
            try checkReturn(event, images[0], isCanonical: isCanonical)
        }
    }

    private mutating func checkStepping(_ event: Sample.Event, _ images: [Seen]) throws(EvstoreError) {
        guard event.born < target, event.born >= SchemaVersion(1), event.born.next < target else { return }
        var current = [Seen(type: event.type, payload: event.payload)]
        var version = event.born
        do {
            while version < target {
                var next: [Seen] = []
                for seen in current { next += try see(event, seen.type, version, seen.payload, at: version.next) }
                (current, version) = (next, version.next)
            }
        } catch {
            count("L4", false)
            firstFailure = firstFailure ?? placed(error, event)
            return
        }
        var holds = current.count == images.count
        for (a, b) in zip(current, images) where holds { holds = try Self.isSame(a, b) }
        count("L4", holds)
        if !holds, firstFailure == nil {
            firstFailure = .verificationFailed(
                reason:
                    "\(event.type) born at \(event.born), position \(event.position), is not the same at \(target) when seen step by step")
        }
    }

    private mutating func checkReturn(_ event: Sample.Event, _ image: Seen, isCanonical: Bool) throws(EvstoreError) {
        let holds: Bool
        do {
            let back = try see(event, image.type, target, image.payload, at: event.born)
            let before = Seen(type: event.type, payload: event.payload)
            holds = if back.count == 1 { try Self.isSame(back[0], before) } else { false }
        } catch {
            holds = false
        }
        count("L1", holds)
        guard !holds, isCanonical, firstLoss == nil else { return }
        if try viewer.history.declaredLosses(of: event.type, born: event.born, to: target).isEmpty { firstLoss = event.position }
    }

    private struct Seen {
        var type: String
        var payload: [UInt8]
    }

    private func see(
        _ event: Sample.Event, _ type: String, _ born: SchemaVersion, _ payload: [UInt8], at version: SchemaVersion
    ) throws(EvstoreError) -> [Seen] {
        var result: [Seen] = []
        try migrating {
            try viewer.view(
                type: type, born: born, payload: payload.lent, time: event.time, stream: event.stream, metadata: event.metadata.lent,
                at: version, validating: true
            ) { image in
                result.append(Seen(type: image.type, payload: [UInt8](copying: image.payload)))
            }
        }
        return result
    }

    private static func isSame(_ a: Seen, _ b: Seen) throws(EvstoreError) -> Bool {
        if a.type != b.type { return false }
        if a.payload == b.payload { return true }
        do { return try Canonical.bytes(of: a.payload.lent) == Canonical.bytes(of: b.payload.lent) } catch {
            throw .invalidJSON(reason: "an image is not JSON", offset: 0)
        }
    }

    private mutating func count(_ law: String, _ holds: Bool) {
        counts[law, default: LawCount(law: law, tried: 0, failed: 0)].tried += 1
        if !holds { counts[law]?.failed += 1 }
    }

    /// The same failure with the position of the event.
    private func placed(_ error: EvstoreError, _ event: Sample.Event) -> EvstoreError {
        guard case .noImage(var failure) = error else { return error }
        failure.position = event.position
        return .noImage(failure)
    }
}
