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

/// Adds, on the way down, the members that a lone part lacks of its event.
final class BoundFill: StagedOp {
    struct Value: Sendable {
        let place: Place
        let text: [UInt8]
    }

    let values: [Value]

    init(_ values: [Value]) { self.values = values }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) {
        guard direction == .down else { return }
        for value in values where value.place.find(in: &doc, at: object) == nil {
            if let holder = value.place.holder(in: &doc, at: object, forValue: true) {
                doc.set(value.place.name, of: holder, to: value.text)
            }
        }
    }
}
