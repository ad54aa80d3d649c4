internal import JSONText

/// One change to a payload, as a version file says it: read once, bound once for each type it touches.
protocol Op: Sendable {
    static var name: String { get }

    /// Reads the arguments, the value of the one-key map that is an op.
    init(_ arguments: FileNode) throws(FileProblem)

    /// Changes the site's shape as the op changes payloads, notes what it costs and what is wrong
    /// with it, and returns what does it at run time; nil where there is nothing to do.
    func bind(_ site: inout OpSite) -> (any BoundOp)?

    /// Where a member stands after the op; the same place unless the op moves it.
    func destination(of pointer: JSONPointer) -> JSONPointer

    /// The members whose values the op changes.
    var writes: [JSONPointer] { get }

    /// What the op loses by intent, for the plan; nil where it says nothing.
    var loss: String? { get }

    /// Whether an event that is new in version n may have no image below, by declaration.
    var blocks: Bool { get }

    /// The op in a few words, for a person: `move`, `split /customer`.
    var summary: OpSummary { get }

    /// What it does to members, for an explanation.
    func effects(_ direction: Direction) -> [OpEffect]
}

/// What a line such as `move x2, split /customer` is made of: ops that count alike are added up.
struct OpSummary: Hashable, Sendable {
    var verb: String
    var object: String?
}

extension Op {
    func destination(of pointer: JSONPointer) -> JSONPointer { pointer }

    var loss: String? { nil }

    var blocks: Bool { false }
}

/// An op with its place: in the file, and in the step.
struct OpEntry: Sendable {
    let op: any Op
    let mark: Mark
    let name: String
    /// Counted from 1 over the whole step.
    let number: Int

    /// How errors name it.
    var label: String { "\(name) (op \(number))" }
}
