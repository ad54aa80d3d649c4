package import EventModel
internal import JSONText

/// An op bound to the shapes on both of its sides: a change to a document, and the change back.
//
// An object, so that running one for an event copies a reference and nothing else.
protocol BoundOp: AnyObject, Sendable {
    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop)

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop)

    /// Does to a draft what the op does to a document, or gives the draft up.
    func fuse(_ draft: inout FusedDraft, _ direction: Direction)

    /// The ops that do the same one after the other, in the order of the way up, each with what it loses: more than one only
    /// where the op holds others.
    func parts(losing loss: OpLoss) -> [BoundPart]
}

extension BoundOp {
    func fuse(_ draft: inout FusedDraft, _ direction: Direction) { draft.giveUp() }

    func parts(losing loss: OpLoss) -> [BoundPart] { [BoundPart(op: self, loss: loss)] }
}

/// One of the ops that an op holds.
struct BoundPart: Sendable {
    let op: any BoundOp
    let loss: OpLoss
}

/// Why an op goes no further with an event.
enum OpStop: Error {
    /// The value at a pointer is not what the op takes.
    case failed(pointer: String, expected: String, found: String)
    /// The event is hidden from the older version, by declaration.
    case hidden
    /// The program lacks code of the application, which is named.
    case programNeeded(String)
}

/// What images have cost so far.
package struct PathCounts: Hashable, Sendable {
    /// Values that the image does not have and that no op can give back.
    package var lost = 0
    /// Inputs that were parseable and not in their codec's own form.
    package var nonCanonical = 0
    /// Events that a step hides from an older version.
    package var hidden = 0
    /// Events whose type a step drops.
    package var dropped = 0
    /// Members of data from before versions that adoption keeps.
    package var kept = 0
    /// Members of it that adoption does not keep.
    package var notKept = 0
    /// Members that adoption made up.
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

    /// Whether, since an earlier moment, all values were in their codec's own form, and nothing was lost besides.
    func forms(since before: PathCounts) -> (isCanonical: Bool, isPlain: Bool) {
        (nonCanonical == before.nonCanonical, nonCanonical == before.nonCanonical && lost == before.lost)
    }

    /// What was counted since an earlier moment.
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
    /// Set where the path reads it.
    package let stream: String?
    /// Empty where the event has none.
    package let metadata: RawSpan

    @_lifetime(copy metadata)
    package init(time: Timestamp, stream: String?, metadata: RawSpan) {
        (self.time, self.stream, self.metadata) = (time, stream, metadata)
    }
}
