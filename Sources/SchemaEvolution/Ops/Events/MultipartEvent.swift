internal import EventModel
internal import JSONText

/// An event that a split divides into parts, or that a merge combines from parts: the content of each part, and the handling of lone parts.
final class MultipartEvent: Sendable {
    /// The type of the event before the split, or after the merge.
    let type: String
    let arms: [SplitArm]
    /// Members whose values identify the parts of one event; empty if all parts in a group belong to one event.
    let on: [JSONPointer]

    init(type: String, arms: [SplitArm], on: [JSONPointer] = []) { (self.type, self.arms, self.on) = (type, arms, on) }
}

struct SplitArm: Sendable {
    enum Lone: Sendable {
        case alone(BoundFill?)
        case hidden(why: String)
        case blocked(why: String)
    }

    let pick: [MemberLocation]
    /// Ops on the picked members, applied on the way up.
    let ops: [any BoundOp]
    let lone: Lone
}

/// Adds, on the way down, the members that a part lacks to make its event.
final class BoundFill: StagedOp {
    struct Value: Sendable {
        let place: MemberLocation
        let text: [UInt8]
        /// The parts that take the member, as a bit mask: if one of them is present, an absent member was absent in the event.
        let takers: UInt64
    }

    let values: [Value]

    init(_ values: [Value]) { self.values = values }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        if direction == .down { fill(&doc, at: object, without: 0) }
    }

    /// Adds the values that none of the present parts takes.
    func fill<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, without there: UInt64) {
        for value in values where value.takers & there == 0 && value.place.find(in: &doc, at: object) == nil {
            if let holder = value.place.holder(in: &doc, at: object, forValue: true) {
                doc.set(value.place.name, of: holder, to: value.text)
            }
        }
    }
}
