internal import EventModel
internal import JSONText

/// One change to whole events, as a version file says it beside the changes to payloads.
protocol EventOp: Sendable {
    static var name: String { get }

    init(_ arguments: FileNode) throws(FileProblem)

    /// Changes the types of the site and returns what becomes of events in both directions.
    func bind(_ site: inout StepSite) -> BoundEventOp?

    /// The names that a type has after the op; nil where the op is not about it.
    func successors(of type: String) -> [String]?

    /// The names that a type had before the op; nil where the op is not about it.
    func predecessors(of type: String) -> [String]?

    /// Whether an event of a type, as it is called after the op, may be something else on the other side, or something else there
    /// may be one.
    func touches(_ type: String) -> Bool

    /// Types whose names are never used again.
    var retired: [String] { get }

    /// What the op loses by intent: the type and why.
    var loss: (type: String, why: String)? { get }

    /// The op with its arguments, for tools that read version files.
    var statement: EventOpStatement { get }
}

extension EventOp {
    func touches(_ type: String) -> Bool { predecessors(of: type) != nil }
}

/// What becomes of events of a type that cross an op.
struct BoundEventOp: Sendable {
    var up: [String: Turn] = [:]
    var down: [String: Turn] = [:]
    /// Other names for streams.
    var rekey: BoundRekey?
    /// The op's own name, and what it loses by intent.
    var name = ""
    var loss: (type: String, why: String)?
}

/// Where an event goes on.
enum Turn: Sendable {
    /// As another type, after a change to the payload where there is one.
    case becomes(String, change: (any BoundOp)?)
    /// As the type that a member's value names; the change takes the member out.
    case dispatch(by: JSONPointer, cases: [DispatchCase])
    /// As several events, without the members that none of them takes.
    case parts([EventPart], unpicked: [JSONPointer])
    /// As the event that it was a part of.
    case rejoin(PartedEvent, arm: Int)
    /// Not at all, by declaration.
    case hidden(why: String)
    case dropped(because: String)
    /// It has no image.
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
    /// What it takes of the payload, and where that stands in it.
    let pick: [Place]
    /// Applied upwards, after the picking.
    let moves: [any BoundOp]
    let isUnproved: Bool
    /// On the whole event; nil: always.
    var test: Guard?
    /// What no other part takes: lost where the guard leaves this one out.
    var exclusive: [Exclusive] = []

    struct Exclusive: Sendable {
        let pointer: JSONPointer
        /// The value that the way back gives it, in canonical form.
        let restored: [UInt8]?
    }
}

/// The types at one place of a step's list, and where findings go.
struct StepSite {
    struct TypeState: Sendable {
        var shape: Shape
        var stream: StreamTemplate?
        /// Whether version n may leave out members that may be absent, because the type was dispatched here.
        var mayNarrow = false
    }

    var types: [String: TypeState]
    /// What version n declares, by the names that types have here.
    let destinies: (String) -> [Destiny]
    let declared: (String) -> EventShape?
    /// The names that version n declares.
    let names: [String]
    var mark: Mark
    var label: String
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

    /// The state of a type, or a finding that there is none.
    mutating func require(_ type: String) -> TypeState? {
        if let state = types[type] { return state }
        let meant = nearest(to: type, among: types.keys.sorted())
        note(
            Rule.noType, "there is no type \(type) at this point of the list",
            fix: meant.map { "did you mean \($0)?" } ?? "there are: \(types.keys.sorted().joined(separator: ", "))",
            mend: meant.map { mark.mend(.swap(type, JSONValue.string($0).text)) })
        return nil
    }

    /// Whether a name is free; a finding where it is not.
    mutating func isFree(_ type: String) -> Bool {
        if types[type] == nil { return true }
        note(
            Rule.occupied, "there is a type \(type) already at this point of the list", fix: "choose another name, or drop that type before"
        )
        return false
    }
}
