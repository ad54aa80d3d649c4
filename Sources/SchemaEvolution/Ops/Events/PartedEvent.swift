internal import EventModel
internal import JSONText

/// An event that a split makes parts of, or a merge makes of parts: what each part holds, and what becomes of one that comes alone.
final class PartedEvent: Sendable {
    /// The event before the split, or after the merge.
    let type: String
    let arms: [SplitArm]
    /// Members by whose values the parts of different events are told apart; empty where all parts are those of one event.
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
    /// Ops that run on the way up, on the picked members.
    let ops: [any BoundOp]
    let lone: Lone
}

/// Adds, on the way down, the members that a part lacks of its event.
final class BoundFill: StagedOp {
    struct Value: Sendable {
        let place: Place
        let text: [UInt8]
        /// The parts that take the member, a bit for each: where one of them is there, an absent member was absent.
        let takers: UInt64
    }

    let values: [Value]

    init(_ values: [Value]) { self.values = values }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        if direction == .down { fill(&doc, at: object, without: 0) }
    }

    /// Adds what none of the parts takes that are there.
    func fill<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, without there: UInt64) {
        for value in values where value.takers & there == 0 && value.place.find(in: &doc, at: object) == nil {
            if let holder = value.place.holder(in: &doc, at: object, forValue: true) {
                doc.set(value.place.name, of: holder, to: value.text)
            }
        }
    }
}
