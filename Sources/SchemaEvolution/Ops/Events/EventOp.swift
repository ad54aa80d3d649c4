internal import EventModel
internal import JSONText

/// One change to whole events, such as another type, as a version file declares it.
protocol EventOp: Sendable {
    static var name: String { get }

    init(_ arguments: FileNode) throws(FileProblem)

    /// Changes the site's types as the op changes events, adds findings and the op's class to the site, and returns what becomes of
    /// events in both directions; nil where the op can't be bound.
    func bind(_ site: inout StepSite) -> BoundEventOp?

    /// The names that a type has after the op; nil where the op does not concern the type.
    func successors(of type: String) -> [String]?

    /// The names that a type had before the op; nil where the op does not concern the type.
    func predecessors(of type: String) -> [String]?

    /// Whether the op changes events of a type, by its name after the op, or makes such events of others, in either direction.
    func touches(_ type: String) -> Bool

    /// Types whose names are never used again.
    var retired: [String] { get }

    /// What the op loses by intent: the type and why.
    var loss: (type: String, why: String)? { get }

    /// The payload ops that it holds.
    var inner: [OpEntry] { get }

    /// The op with its arguments, for tools that read version files.
    var statement: EventOpStatement { get }
}

extension EventOp {
    func touches(_ type: String) -> Bool { predecessors(of: type) != nil }

    var inner: [OpEntry] { [] }
}

/// An op on events bound to the shapes on both of its sides.
struct BoundEventOp: Sendable {
    /// What becomes of events, by the type that they have before the op, and on the way down by the one that they have after it.
    var up, down: [Name: EventChange]
    /// The change of stream names; nil: none.
    var rekey: BoundRekey?
    /// The op's own name, and what it loses by intent.
    var name = ""
    var loss: (type: String, why: String)?

    init(up: [Name: EventChange] = [:], down: [Name: EventChange] = [:]) { (self.up, self.down) = (up, down) }
}

/// What becomes of an event.
enum EventChange: Sendable {
    /// An event of this type, after the change to the payload, if any.
    case becomes(String, change: (any BoundOp)?)
    /// An event of the type that a member's value names; the case's change removes the member.
    case dispatch(by: JSONPointer, cases: [DispatchCase])
    /// Several events, and the members that may be lost in that.
    case parts([EventPart], losses: [PartLoss])
    /// The event that it was a part of.
    case rejoin(PartedEvent, arm: Int)
    /// Nothing, by declaration.
    case hidden(why: String)
    case dropped(because: String)
    /// Nothing, which is an error.
    case blocked(why: String)
}

struct DispatchCase: Sendable {
    /// The member's value, unescaped.
    let value: [UInt8]
    let type: String
    let change: any BoundOp
}

/// One of the events that an event is shown as.
struct EventPart: Sendable {
    let type: String
    /// The members that it gets, at the places that they have in the payload.
    let pick: [Place]
    /// Ops that run on the way up, on the picked members.
    let moves: [any BoundOp]
    let isUnproved: Bool
    /// Which events have the part, by the whole event; nil: all.
    var test: Guard?
}

/// A member that is lost where none of the parts that take it is made.
struct PartLoss: Sendable {
    let pointer: JSONPointer
    /// The parts that take it, a bit for each.
    var takers: UInt64 = 0
    /// The values that parts give the whole event in its place, in an object around it or beside it, in the order in which they are given.
    var fills: [Fill] = []

    struct Fill: Sendable {
        let part: Int
        /// The parts with which the value is not given.
        let takers: UInt64
        /// How deep the value lies where the member is it or lies in it; else 0.
        let depth: Int
        /// How deep the innermost object is that holds both.
        let shared: Int
        /// What the member is then, in canonical form; nil where the value lacks it.
        let value: [UInt8]?
    }

    /// What the event has there when it is made again of the chosen parts: a part that stands alone gives its own value, of several the
    /// first one gives its. Nil: it is absent.
    func restored(from chosen: UInt64) -> [UInt8]? {
        let isLone = chosen.nonzeroBitCount == 1
        // The depth of the objects that the values before have made: where one is, no other takes its place.
        var made = 0
        for fill in fills where isLone ? chosen == 1 << UInt64(fill.part) : fill.takers & chosen == 0 {
            if fill.depth > made, let value = fill.value { return value }
            made = max(made, fill.depth, fill.shared)
        }
        return nil
    }
}

/// The point of a step's list at which an op on events is bound: the types there, and what the op reports.
struct StepSite {
    struct TypeState: Sendable {
        var shape: Shape
        var stream: StreamTemplate?
        /// Whether version n may omit optional members, because a dispatch or a merge made the type.
        var mayNarrow = false
    }

    var types: [Name: TypeState]
    /// The shapes that version n declares, by the names that types have here.
    let shapeTargets: (String) -> [ShapeTarget]
    let declared: (String) -> EventShape?
    /// The names that version n declares.
    let names: [String]
    var mark: Mark
    var label: String
    /// Whether the version was not released, so that it can be changed.
    var mayChange = false
    var opClass: OpClass = .iso
    var findings: [Finding] = []

    mutating func note(_ rule: String, _ message: String, fix: String? = nil, mend: Repair?...) {
        note(rule, .error, message, fix: fix, mend: mend.compactMap(\.self))
    }

    mutating func note(_ rule: String, _ severity: Finding.Severity, _ message: String, fix: String? = nil, mend: [Repair] = []) {
        var finding = Finding(
            id: rule, severity: severity, file: mark.file, line: mark.line, column: mark.column, message: "\(label): \(message)",
            fix: fix)
        finding.repairs = mend
        findings.append(finding)
    }

    /// The state of a type; nil, and a finding, where there is none.
    mutating func require(_ type: String) -> TypeState? {
        if let state = types[type] { return state }
        let meant = nearest(to: type, among: types.sortedNames)
        note(
            Rule.noType, "there is no type \(type) at this point of the list",
            fix: meant.map { "did you mean \($0)?" } ?? "there are: \(types.sortedNames.joined(separator: ", "))",
            mend: meant.map { mark.mend(.swap(type, JSONValue.string($0).text)) })
        return nil
    }

    /// Whether a name is free; adds a finding where it is not.
    mutating func isFree(_ type: String) -> Bool {
        if types[type] == nil { return true }
        note(
            Rule.occupied, "there is a type \(type) already at this point of the list", fix: "choose another name, or drop that type before"
        )
        return false
    }
}
