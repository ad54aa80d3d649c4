package import EventModel
internal import JSONText

/// An op bound to the shapes on both of its sides: a change to a document, and the change back.
//
// An object, so that running one for an event copies a reference and nothing else.
protocol BoundOp: AnyObject, Sendable {
    /// Changes the document of an event.
    func run(_ doc: inout EventDocument, at object: Splice.Node, _ direction: Direction) throws(OpStop)

    /// Changes a draft, or gives it up.
    func fuse(_ draft: inout FusedDraft, _ direction: Direction)

    /// The op as a sequence of ops with the same result, in upward order, each with its loss: more than one only where it holds
    /// others.
    func parts(losing loss: OpLoss) -> [BoundPart]

    /// Whether it reads the name of the event's stream.
    var readsStream: Bool { get }
}

extension BoundOp {
    var readsStream: Bool { false }

    func fuse(_ draft: inout FusedDraft, _ direction: Direction) { draft.giveUp() }

    func parts(losing loss: OpLoss) -> [BoundPart] { [BoundPart(op: self, loss: loss)] }
}

/// An op whose code is the same for documents and for drafts.
protocol StagedOp: BoundOp {
    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop)
}

extension StagedOp {
    func run(_ doc: inout EventDocument, at object: Splice.Node, _ direction: Direction) throws(OpStop) {
        try change(&doc, at: object, direction)
    }

    func fuse(_ draft: inout FusedDraft, _ direction: Direction) {
        do throws(OpStop) { try change(&draft, at: draft.root, direction) } catch { draft.stop(error) }
    }
}

/// One of the ops that an op holds.
struct BoundPart: Sendable {
    let op: any BoundOp
    let loss: OpLoss
}

/// Why an op ends the conversion of an event.
enum OpStop: Error {
    /// The op, or the codec that it uses, does not accept the value at a pointer.
    case failed(pointer: String, expected: String, found: String, byCodec: Bool = false)
    /// The event is hidden from the older version, by declaration.
    case hidden
    /// The program lacks code of the application, which is named.
    case programNeeded(String)
}

/// Counts over all images that were made.
package struct PathCounts: Hashable, Sendable {
    /// Values that the image does not have and that no op can give back.
    package var lost = 0
    /// Values that a codec accepted and that were not in its canonical form.
    package var nonCanonical = 0
    /// Events that a step hides from an older version.
    package var hidden = 0
    /// Events whose type a step drops.
    package var dropped = 0
    /// Members of data from before versions that adoption keeps.
    package var kept = 0
    /// Members of such data that adoption does not keep.
    package var notKept = 0
    /// Members that adoption gave a default.
    package var defaulted = 0

    package init() {}

    package static func + (a: PathCounts, b: PathCounts) -> PathCounts {
        var sum = a
        sum.lost += b.lost
        sum.nonCanonical += b.nonCanonical
        sum.hidden += b.hidden
        sum.dropped += b.dropped
        sum.kept += b.kept
        sum.notKept += b.notKept
        sum.defaulted += b.defaulted
        return sum
    }

    /// Whether all values since an earlier count were in their codec's canonical form, and whether besides that nothing was lost.
    func forms(since before: PathCounts) -> (isCanonical: Bool, isLossless: Bool) {
        (nonCanonical == before.nonCanonical, nonCanonical == before.nonCanonical && lost == before.lost)
    }

    /// What was counted since an earlier count.
    package static func - (a: PathCounts, b: PathCounts) -> PathCounts {
        var rest = a
        rest.lost -= b.lost
        rest.nonCanonical -= b.nonCanonical
        rest.hidden -= b.hidden
        rest.dropped -= b.dropped
        rest.kept -= b.kept
        rest.notKept -= b.notKept
        rest.defaulted -= b.defaulted
        return rest
    }
}

/// What `$time`, `$stream` and `$metadata/x` read.
package struct EventContext: ~Escapable {
    package let time: Timestamp
    /// What it is called at the version that the event comes from. Nil where the path does not read it.
    package let stream: String?
    /// Empty where the event has none.
    package let metadata: RawSpan

    @_lifetime(copy metadata)
    package init(time: Timestamp, stream: String?, metadata: RawSpan) {
        (self.time, self.stream, self.metadata) = (time, stream, metadata)
    }
}
