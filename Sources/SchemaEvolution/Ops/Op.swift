package import JSONText

/// One change to a payload, as declared in a version file. It is read once and bound once for each type that it changes.
protocol Op: Sendable {
    static var name: String { get }

    /// Reads the arguments: the value in the map with a single key that represents an op.
    init(_ arguments: FileNode) throws(FileProblem)

    /// Changes the context's shape as the op changes payloads, adds the op's class and findings to the context, and returns the bound op;
    /// nil if nothing needs to run or if the op can't be bound.
    func bind(_ site: inout BindingContext) -> (any BoundOp)?

    /// The member that the op moves, with everything inside it; nil if it moves none.
    var origin: JSONPointer? { get }

    /// The pointer of a member after the op; unchanged unless the op moves the member or one that contains it.
    func destination(of pointer: JSONPointer) -> JSONPointer

    /// The members whose values the op changes.
    var writes: [JSONPointer] { get }

    /// Whether the op never refuses or hides an event, in either direction.
    var isTotal: Bool { get }

    /// The reason that the file gives for a loss, empty if it gives none; nil if the op itself does not lose anything on purpose.
    var loss: String? { get }

    /// Whether a new event of version n may have no image at the older version, by declaration.
    var blocks: Bool { get }

    /// The ops inside this one.
    var inner: [OpEntry] { get }

    /// A short description of the op: `move`, `split /customer`.
    var summary: OpSummary { get }

    /// What the op does to members of the payload, in words.
    /// - Parameter holder: the value to which the op's pointers are relative, such as an element of a list.
    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect]

    /// What the lint rules need to know of the op.
    var trait: OpTrait? { get }
}

/// An op that changes the value of one member, by which summaries name it.
protocol MemberOp: Op {
    var path: JSONPointer { get }
}

extension MemberOp {
    var writes: [JSONPointer] { [path] }

    var summary: OpSummary { OpSummary(verb: Self.name, object: path.description) }
}

/// A property of an op for the lint rules.
package enum OpTrait: Sendable {
    /// Removes the member.
    case removes(JSONPointer)
    /// Rounds the member's value if it is not exact.
    case rounds(JSONPointer)
    /// Derives the member from the event's metadata or from the stream's name.
    case addsFromMetadata(JSONPointer, at: JSONPointer)
    case addsFromStream(at: JSONPointer)
}

/// A summary of an op for lists such as `move x2, split /customer`, in which equal ones are counted.
struct OpSummary: Hashable, Sendable {
    var verb: String
    var object: String?
}

extension Op {
    var origin: JSONPointer? { nil }

    func destination(of pointer: JSONPointer) -> JSONPointer { pointer }

    var isTotal: Bool { false }

    var loss: String? { nil }

    var trait: OpTrait? { nil }

    var blocks: Bool { inner.contains { $0.op.blocks } }

    var inner: [OpEntry] { [] }

    var summary: OpSummary { OpSummary(verb: Self.name) }

    /// This op and all ops inside it, outermost first.
    var nested: [any Op] { [self] + inner.flatMap(\.op.nested) }

    var ownLoss: OpLoss { OpLoss(op: summary.words, because: loss ?? "") }

    /// The ops under which losses are counted: this op, or each of the ops inside it.
    var losses: [OpLoss] { inner.isEmpty ? [ownLoss] : inner.flatMap { $0.op.losses.map { $0.within(summary) } } }
}

/// The key under which losses of an op are counted: its name in reports, and the file's reason, empty if it gives none.
struct OpLoss: Hashable, Sendable {
    var op: String
    var because: String

    /// The key for an op inside another one.
    func within(_ holder: OpSummary) -> OpLoss { OpLoss(op: "\(holder.words), \(op)", because: because) }
}

extension OpSummary {
    fileprivate var words: String { [verb, object].compactMap(\.self).joined(separator: " ") }
}

/// An op with its location in the file and its number in the step.
package struct OpEntry: Sendable {
    let op: any Op
    package let mark: FileLocation
    /// Counted from 1 over the whole step.
    let number: Int

    package var name: String { type(of: op).name }

    /// The name of the op in errors.
    var label: String { "\(name) (op \(number))" }

    /// What the op does to members of the payload, in words.
    package func effects(_ direction: Direction) -> [OpEffect] { op.effects(direction, in: JSONPointer()) }

    package var trait: OpTrait? { op.trait }

    /// The ops inside this one.
    package var inner: [OpEntry] { op.inner }
}
