internal import EventModel
internal import JSONText

/// An event seen from its parts, of a split or before a merge: what each holds of it, and what one is that stands alone.
final class PartedEvent: Sendable {
    /// The event before the split, or after the merge.
    let type: String
    let arms: [SplitArm]
    /// Members whose values the parts share, where several such events may come at once.
    let on: [JSONPointer]

    init(type: String, arms: [SplitArm], on: [JSONPointer] = []) { (self.type, self.arms, self.on) = (type, arms, on) }
}

struct SplitArm: Sendable {
    enum Lone: Sendable {
        case alone(BoundFill?)
        case hidden(why: String)
        case blocked(why: String)
    }

    let pick: [Place]
    /// Applied upwards after the picking.
    let ops: [any BoundOp]
    let lone: Lone
}

/// Gives an event, on the way down, the members that its part lacks.
final class BoundFill: BoundOp {
    struct Value: Sendable {
        let place: Place
        let text: [UInt8]
    }

    let values: [Value]

    init(_ values: [Value]) { self.values = values }

    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) {}

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) {
        fill(&doc, at: object)
    }

    func fuse(_ draft: inout FusedDraft, _ direction: Direction) {
        if direction == .down { fill(&draft, at: draft.root) }
    }

    private func fill<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) {
        for value in values where value.place.find(in: &doc, at: object) == nil {
            if let holder = value.place.holder(in: &doc, at: object, forValue: true) {
                doc.set(value.place.name, of: holder, to: value.text)
            }
        }
    }
}
