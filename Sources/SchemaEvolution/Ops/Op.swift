internal import JSONText

/// One change to a payload, as a version file declares it: read once, bound once for each type that it changes.
protocol Op: Sendable {
    static var name: String { get }

    /// Reads the arguments, the value of the one-key map that is an op.
    init(_ arguments: FileNode) throws(FileProblem)

    /// Changes the site's shape as the op changes payloads, adds the op's class and findings to the site,
    /// and returns what runs on events; nil where nothing has to run, or where the op can't be bound.
    func bind(_ site: inout OpSite) -> (any BoundOp)?

    /// The member that the op moves, with all that is in it; nil where it moves none.
    var origin: JSONPointer? { get }

    /// Where a member is after the op: the same place, unless the op moves the member or one that holds it.
    func destination(of pointer: JSONPointer) -> JSONPointer

    /// The members whose values the op changes.
    var writes: [JSONPointer] { get }

    /// Whether it can refuse or hide no event, in either direction.
    var isTotal: Bool { get }

    /// The reason that the file gives for a loss, empty where it gives none; nil where the op itself loses nothing by intent.
    var loss: String? { get }

    /// Whether an event that is new in version n may have no image below, by declaration.
    var blocks: Bool { get }

    /// The ops that it holds.
    var inner: [OpEntry] { get }

    /// The op in a few words, for a person: `move`, `split /customer`.
    var summary: OpSummary { get }

    /// The op with its arguments, for tools that read version files.
    var statement: OpStatement { get }
}

/// An op in a line such as `move x2, split /customer`; equal ones are counted together.
struct OpSummary: Hashable, Sendable {
    var verb: String
    var object: String?
}

extension Op {
    var origin: JSONPointer? { nil }

    func destination(of pointer: JSONPointer) -> JSONPointer { pointer }

    var isTotal: Bool { false }

    var loss: String? { nil }

    var blocks: Bool { inner.contains { $0.op.blocks } }

    var inner: [OpEntry] { [] }

    /// The op and all that it holds, the outermost first.
    var nested: [any Op] { [self] + inner.flatMap(\.op.nested) }

    var ownLoss: OpLoss { OpLoss(op: summary.words, because: loss ?? "") }

    /// Under what its losses are counted: under itself, or under each of the ops that it holds.
    var losses: [OpLoss] { inner.isEmpty ? [ownLoss] : inner.flatMap { $0.op.losses.map { $0.within(summary) } } }
}

/// An op as losses are counted by: its name in reports, and the file's reason, empty where it gives none.
struct OpLoss: Hashable, Sendable {
    var op: String
    var because: String

    /// The same for an op that another holds.
    func within(_ holder: OpSummary) -> OpLoss { OpLoss(op: "\(holder.words), \(op)", because: because) }
}

extension OpSummary {
    fileprivate var words: String { [verb, object].compactMap(\.self).joined(separator: " ") }
}

/// An op with its place in the file and in the step.
package struct OpEntry: Sendable {
    let op: any Op
    package let mark: Mark
    package let name: String
    /// From 1, over the whole step.
    let number: Int

    /// The op's name in errors.
    var label: String { "\(name) (op \(number))" }

    package var statement: OpStatement { op.statement }

    /// The ops that it holds.
    package var inner: [OpEntry] { op.inner }
}
