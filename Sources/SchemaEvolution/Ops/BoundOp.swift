package import EventModel
internal import JSONText

/// An op that is bound to the shapes on both of its sides: a change to a document, and the reverse change.
//
// A class, so that running an op for an event copies only a reference.
protocol BoundOp: AnyObject, Sendable {
    func run(_ doc: inout EventDocument, at object: JSONEditor.Node, _ direction: Direction) throws(OpStop)

    /// Applies the change to a symbolic document, or gives up on it.
    func fuse(_ draft: inout SymbolicDocument, _ direction: Direction)

    /// The op as a sequence of ops with an equal result, in upward order, each with its loss. More than one only if the op contains others.
    func parts(losing loss: OpLoss) -> [BoundPart]

    var readsStream: Bool { get }
}

extension BoundOp {
    var readsStream: Bool { false }

    func fuse(_ draft: inout SymbolicDocument, _ direction: Direction) { draft.giveUp() }

    func parts(losing loss: OpLoss) -> [BoundPart] { [BoundPart(op: self, loss: loss)] }
}

/// An op with a single implementation for documents and symbolic documents.
protocol StagedOp: BoundOp {
    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop)
}

extension StagedOp {
    func run(_ doc: inout EventDocument, at object: JSONEditor.Node, _ direction: Direction) throws(OpStop) {
        try change(&doc, at: object, direction)
    }

    func fuse(_ draft: inout SymbolicDocument, _ direction: Direction) {
        do throws(OpStop) { try change(&draft, at: draft.root, direction) } catch { draft.stop(error) }
    }
}

struct ConstantText: Sendable {
    /// The JSON text that the op writes.
    let json: [UInt8]
    /// The canonical form, with which values are compared.
    let canonical: [UInt8]

    init(_ value: JSONValue) { (json, canonical) = (Array(value.text.utf8), value.canonical()) }
}

struct BoundPart: Sendable {
    let op: any BoundOp
    let loss: OpLoss
}

/// Why an op ends the conversion of an event.
enum OpStop: Error {
    /// The op, or its codec, does not accept the value at a pointer.
    case failed(pointer: String, expected: String, found: String, byCodec: Bool = false)
    /// The event is hidden from the older version, by declaration.
    case hidden
    /// The program lacks the named code of the application.
    case programNeeded(String)
}

/// Counts over all images that were made.
package struct PathCounts: Hashable, Sendable {
    /// Values that are missing in the image and that no op can restore.
    package var lost = 0
    /// Values that a codec accepted although they were not in its canonical form.
    package var nonCanonical = 0
    /// Events that a step hides from an older version.
    package var hidden = 0
    /// Events whose type a step drops.
    package var dropped = 0
    /// Members of data from before versions that adoption keeps.
    package var kept = 0
    /// Members of data from before versions that adoption does not keep.
    package var notKept = 0
    /// Members to which adoption gave a default.
    package var defaulted = 0

    package init() {}

    package static func + (a: PathCounts, b: PathCounts) -> PathCounts { a.combined(with: b, +) }

    /// Whether all values since an earlier count were in their codec's canonical form, and whether in addition nothing was lost.
    func forms(since before: PathCounts) -> (isCanonical: Bool, isLossless: Bool) {
        (nonCanonical == before.nonCanonical, nonCanonical == before.nonCanonical && lost == before.lost)
    }

    package static func - (a: PathCounts, b: PathCounts) -> PathCounts { a.combined(with: b, -) }

    private func combined(with other: PathCounts, _ combine: (Int, Int) -> Int) -> PathCounts {
        var made = PathCounts()
        (made.lost, made.nonCanonical) = (combine(lost, other.lost), combine(nonCanonical, other.nonCanonical))
        (made.hidden, made.dropped) = (combine(hidden, other.hidden), combine(dropped, other.dropped))
        (made.kept, made.notKept) = (combine(kept, other.kept), combine(notKept, other.notKept))
        made.defaulted = combine(defaulted, other.defaulted)
        return made
    }
}

/// The values that `$time`, `$stream` and `$metadata/x` read.
package struct EventContext: ~Escapable {
    package let time: Timestamp
    /// The name of the stream at the version from which the event is converted; nil if the path does not read it.
    package let stream: String?
    /// Empty if the event has no metadata.
    package let metadata: RawSpan

    @_lifetime(copy metadata)
    package init(time: Timestamp, stream: String?, metadata: RawSpan) {
        (self.time, self.stream, self.metadata) = (time, stream, metadata)
    }
}
