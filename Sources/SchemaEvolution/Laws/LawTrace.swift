internal import Bytes
package import EventModel
internal import JSONText

/// The trace of an event's conversion to a version and back: the branches that it took in the programs, their counts, and whether the event
/// was unchanged afterwards. Events with equal traces execute the same instructions, so the laws that a few of them obey, and the losses
/// that they have, apply to all of them.
struct LawTrace: Hashable {
    fileprivate let kind: TypeAtVersion
    fileprivate let target: SchemaVersion
    /// The type index of the image.
    fileprivate let image: Int
    fileprivate let there, back: Leg
    fileprivate let isSame: Bool

    /// The branches and counts of one direction.
    fileprivate struct Leg: Hashable {
        var branches: UInt64 = 0
        var lost = 0
        var otherForms = 0
    }

    /// The outcome of the laws for the tried events of one trace.
    struct Outcome {
        let verdicts: [LawVerdict]
        let losses: Set<LossAccount.Entry>
        /// The number of events that were counted without a trial.
        var likes: UInt64 = 0
        private var tried = 0
        /// Whether all tried events had equal outcomes, none of which is a failure.
        private var agrees = true

        init(verdicts: [LawVerdict], losses: Set<LossAccount.Entry>) {
            (self.verdicts, self.losses) = (verdicts, losses)
            agrees = verdicts.allSatisfy { $0.holds || $0.weight == .measured }
        }

        mutating func take(_ found: [LawVerdict], _ lost: Set<LossAccount.Entry>) {
            tried += 1
            agrees =
                agrees && lost == losses && found.count == verdicts.count
                && zip(found, verdicts).allSatisfy { $0.law == $1.law && $0.holds == $1.holds && $0.weight == $1.weight }
        }

        /// Whether enough events were tried to count the next one without a trial.
        func isLike(after tries: Int) -> Bool { agrees && tried >= tries }
    }

    /// The maximum number of traces that are kept for a history. Beyond it, each event is tried individually.
    fileprivate static let most = 1 << 14
}

/// Converts events to versions and back to determine their traces.
struct LawTracer: ~Copyable {
    /// A copy of an image.
    fileprivate struct Made: ~Copyable {
        var payload = ByteBuffer(capacity: 4096)
        var type = ""
        var index = 0
        var count = 0

        mutating func take(_ image: borrowing Image) {
            count += 1
            (type, index) = (image.type, image.typeIndex)
            payload.removeAll()
            payload.append(image.payload)
        }
    }

    /// Converts events in one direction.
    private struct Leader: ~Copyable {
        private var workspace = PathInterpreter()
        /// The image of the event that was converted last.
        var made = Made()

        mutating func lead(
            _ path: Path, _ image: borrowing Made, of event: borrowing SourceEvent, stream: @autoclosure () throws -> String
        ) throws -> LawTrace.Leg? {
            let source = SourceEvent(payload: image.payload.bytes, time: event.time, metadata: event.metadata)
            return try lead(path, source, stream: try stream())
        }

        /// Makes the only image of an event; nil if there is not exactly one or if the ops had to run one by one. What the programs are
        /// proved to produce is not validated here: the events that are tried show whether it is valid.
        mutating func lead(
            _ path: Path, _ event: borrowing SourceEvent, stream: @autoclosure () throws -> String
        ) throws -> LawTrace.Leg? {
            made.count = 0
            let before = workspace.counts
            try workspace.run(path, event, stream: try stream()) { made.take($0) }
            guard made.count == 1, let branches = workspace.trace else { return nil }
            let cost = workspace.counts - before
            return LawTrace.Leg(branches: branches, lost: cost.lost, otherForms: cost.nonCanonical)
        }
    }

    private let viewer: PathRunner
    private var there = Leader()
    private var returned = Leader()

    init(_ viewer: PathRunner) { self.viewer = viewer }

    /// The trace of an event; nil if it does not have exactly one image or if its ops run one by one.
    /// - Parameter stream: returns the name of its stream at a version.
    mutating func trace(
        of event: borrowing SourceEvent, _ kind: TypeAtVersion, at target: SchemaVersion, stream: (SchemaVersion) throws -> String
    ) -> LawTrace? {
        do {
            guard let path = try single(kind, to: target),
                let there = try there.lead(path, event, stream: try stream(kind.version)),
                let path = try single(TypeAtVersion(type: self.there.made.type, version: target), to: kind.version),
                let back = try returned.lead(path, self.there.made, of: event, stream: try stream(target))
            else { return nil }
            let isSame = returned.made.isSame(as: event, kind.type)
            if !isSame { try viewer.history.requireShape(of: returned.made.type, at: kind.version).validate(returned.made.payload.bytes) }
            return LawTrace(kind: kind, target: target, image: self.there.made.index, there: there, back: back, isSame: isSame)
        } catch { return nil }
    }

    /// The path to a version; nil if an event may have several images, or if its ops run one by one.
    private func single(_ kind: TypeAtVersion, to target: SchemaVersion) throws -> Path? {
        if kind.version.number == 0 { return nil }
        let path = try viewer.path(type: kind.type, born: kind.version, to: target)
        return (path.fused != nil || path.unchanged != nil) && !path.merges ? path : nil
    }
}

extension LawTracer.Made {
    fileprivate borrowing func isSame(as event: borrowing SourceEvent, _ type: String) -> Bool {
        guard self.type.isSame(as: type) else { return false }
        if payload.bytes.equals(event.payload) { return true }
        do { return try JSONEquality.same(payload.bytes, event.payload) } catch { return false }
    }
}

/// Shared by the copies of a trial, only one of which is in use.
final class SharedLawTracer {
    var tracer: LawTracer

    init(_ viewer: PathRunner) { tracer = LawTracer(viewer) }
}

extension LawTrial {
    /// Counts the next event of a log by its trace if enough events with an equal trace were tried. Returns false if the event itself must
    /// be tried.
    package mutating func isLikeOthers(
        next event: borrowing SourceEvent, _ kind: TypeAtVersion, at place: LogLocation, _ target: SchemaVersion,
        stream: (SchemaVersion) throws -> String
    ) -> Bool {
        guard let trace = trace(of: event, kind, at: target, stream: stream), count(trace, at: place.position) else { return false }
        pass(place, at: [target])
        return true
    }

    /// The trace of an event of the log; nil if all laws are tried or if no trace can be determined.
    func trace(
        of event: borrowing SourceEvent, _ kind: TypeAtVersion, at target: SchemaVersion, stream: (SchemaVersion) throws -> String
    ) -> LawTrace? {
        guard triesEach < .max, traces.count < LawTrace.most, kind.version.number > 0, kind.version != target else { return nil }
        return shared.tracer.trace(of: event, kind, at: target, stream: stream)
    }

    /// Counts an event of the log without a trial if enough events with an equal trace were tried.
    mutating func count(_ trace: LawTrace, at position: Position?) -> Bool {
        guard let place = traces.index(forKey: trace), traces.values[place].isLike(after: triesEach) else { return false }
        traces.values[place].likes += 1
        noted.losses.add(traces.values[place].losses, at: position ?? .start)
        return true
    }

    package var tally: LawTally {
        var tally = noted
        for outcome in traces.values { tally.count(outcome.verdicts, ofLogEvents: outcome.likes) }
        return tally
    }
}
