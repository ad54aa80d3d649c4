internal import EventModel
internal import JSONText

/// One change to whole events, such as a change of type, as declared in a version file.
protocol EventOp: Sendable {
    static var name: String { get }

    init(_ arguments: FileNode) throws(FileProblem)

    /// Changes the context's types as the op changes events, adds findings and the op's class to the context, and returns the change of
    /// events in both directions; nil if the op can't be bound.
    func bind(_ site: inout StepContext) -> BoundEventOp?

    /// The types whose events the op turns into events of the `made` ones.
    var taken: [String] { get }

    /// The types that such events have after the op.
    var made: [String] { get }

    /// Whether the op, in either direction, changes events of a type, given by its name after the op, or produces such events from others.
    func touches(_ type: String) -> Bool

    /// The intended loss: the type and the reason.
    var loss: (type: String, why: String)? { get }

    /// The payload ops inside this op.
    var inner: [OpEntry] { get }

    /// The members on whose values it depends what becomes of an event.
    var reads: [JSONPointer] { get }

    /// What happens to an event of a type, in words; nil if the op does not affect the type.
    /// - Parameter stream: the template of its stream; nil if the stream may have any name.
    func effects(of type: String, in stream: StreamTemplate?, _ direction: Direction) -> [EventEffect]?
}

extension EventOp {
    var taken: [String] { [] }

    var made: [String] { [] }

    /// The names that a type has after the op; nil if the op does not affect the type.
    func successors(of type: String) -> [String]? { taken.has(type) ? made : nil }

    /// The names that a type had before the op; nil if the op does not affect the type.
    func predecessors(of type: String) -> [String]? { made.has(type) ? taken : nil }

    /// The types whose names must never be used again.
    var retired: [String] { taken.filter { !made.has($0) } }

    var loss: (type: String, why: String)? { nil }

    func touches(_ type: String) -> Bool { predecessors(of: type) != nil }

    var inner: [OpEntry] { [] }

    var reads: [JSONPointer] { [] }
}

/// An op on events that is bound to the shapes on both of its sides.
struct BoundEventOp: Sendable {
    /// The changes of events: on the way up by the type before the op, on the way down by the type after it.
    var up: [Name: EventChange] = [:]
    var down: [Name: EventChange] = [:]
    var rekey: BoundRekey?
    /// The op's name and its intended loss.
    var name = ""
    var loss: (type: String, why: String)?
}

/// What an event becomes.
enum EventChange: Sendable {
    /// An event of this type, after an optional change of the payload.
    case becomes(String, change: (any BoundOp)?)
    /// An event of the type that a member's value selects; the case's change removes the member.
    case dispatch(by: JSONPointer, cases: [DispatchCase])
    /// Several events, and the members that may be lost in the split.
    case parts([EventPart], losses: [PartLoss])
    /// The event of which it was a part.
    case rejoin(MultipartEvent, arm: Int)
    /// No event, by declaration.
    case hidden(why: String)
    case dropped(because: String)
    /// No event, which is an error.
    case blocked(why: String)
}

struct DispatchCase: Sendable {
    /// The member's value, unescaped.
    let value: [UInt8]
    let type: String
    let change: any BoundOp
}

/// One of the events that an event is split into.
struct EventPart: Sendable {
    let type: String
    /// The members that the part takes, at their locations in the payload.
    let pick: [MemberLocation]
    /// Ops on the picked members, applied on the way up.
    let moves: [any BoundOp]
    let isUnproved: Bool
    /// Selects the events that have this part, by the whole event; nil selects all.
    var test: Guard?
}

/// A member that is lost if none of the parts that take it is created.
struct PartLoss: Sendable {
    let pointer: JSONPointer
    /// The parts that take the member, as a bit mask.
    var takers: UInt64 = 0
    /// The values that parts supply to the whole event in place of the member, in an object around it or beside it, in the order in which
    /// they are applied.
    var fills: [Fill] = []

    struct Fill: Sendable {
        let part: Int
        /// The parts in whose presence the value is not supplied.
        let takers: UInt64
        /// The depth of the value if it is the member or contains the member; 0 otherwise.
        let depth: Int
        /// The depth of the innermost object that contains both.
        let shared: Int
        /// The resulting value of the member, in canonical form; nil if the supplied value lacks it.
        let value: [UInt8]?
    }

    /// The value of the member after the event is rebuilt from the chosen parts: a lone part supplies its own value; of several parts, the
    /// first one does. Nil means absent.
    func restored(from chosen: UInt64) -> [UInt8]? {
        let isLone = chosen.nonzeroBitCount == 1
        // The depth of the objects that earlier values have created; no other object replaces them.
        var made = 0
        for fill in fills where isLone ? chosen == 1 << UInt64(fill.part) : fill.takers & chosen == 0 {
            if fill.depth > made, let value = fill.value { return value }
            made = max(made, fill.depth, fill.shared)
        }
        return nil
    }
}

/// The context in which an op on events is bound, at one point of a step: the types there, and the op's findings.
struct StepContext: BindingSite {
    struct TypeState: Sendable {
        var shape: Shape
        var stream: StreamTemplate?
        /// Whether version n may omit optional members because a dispatch or a merge produced the type.
        var mayNarrow = false
    }

    var types: [Name: TypeState]
    /// The shapes that version n declares, by the names that types have at this point.
    let shapeTargets: (String) -> [ShapeTarget]
    let declared: (String) -> EventShape?
    /// The names that version n declares.
    let names: [String]
    var mark: FileLocation
    var label: String
    /// Whether the version is unreleased and can still be changed.
    var mayChange = false
    var opClass: OpClass = .iso
    var findings: [Finding] = []

    var subject: String? { nil }

    /// The state of a type. Returns nil, after adding a finding, if there is none.
    mutating func require(_ type: String) -> TypeState? {
        if let state = types[type] { return state }
        let meant = nearest(to: type, among: types.sortedNames)
        return refuse(
            Rule.noType, "there is no type \(type) at this point of the list",
            fix: meant.map { "did you mean \($0)?" } ?? "there are: \(types.sortedNames.joined(separator: ", "))",
            repair: meant.map { mark.repair(.swap(type, JSONValue.string($0).text)) })
    }

    /// Whether a name is free; adds a finding if it is not.
    mutating func isFree(_ type: String) -> Bool {
        if types[type] == nil { return true }
        note(
            Rule.occupied, "there is a type \(type) already at this point of the list", fix: "choose another name, or drop that type before"
        )
        return false
    }
}

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
