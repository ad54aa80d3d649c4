internal import JSONText

/// One change to a payload, as a version file says it: read once, bound once for each type it touches.
protocol Op: Sendable {
    static var name: String { get }

    /// Reads the arguments, the value of the one-key map that is an op.
    init(_ arguments: FileNode) throws(FileProblem)

    /// Changes the site's shape as the op changes payloads, notes what it costs and what is wrong
    /// with it, and returns what does it at run time; nil where there is nothing to do.
    func bind(_ site: inout OpSite) -> (any BoundOp)?

    /// The member that the op moves, with all that is in it; nil where it moves none.
    var origin: JSONPointer? { get }

    /// Where a member stands after the op; the same place unless it is or is in the origin.
    func destination(of pointer: JSONPointer) -> JSONPointer

    /// The members whose values the op changes.
    var writes: [JSONPointer] { get }

    /// Why the op loses something by intent; nil where it says nothing, and where those that it holds say it.
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

/// What a line such as `move x2, split /customer` is made of: ops that count alike are added up.
struct OpSummary: Hashable, Sendable {
    var verb: String
    var object: String?
}

extension Op {
    var origin: JSONPointer? { nil }

    func destination(of pointer: JSONPointer) -> JSONPointer { pointer }

    var loss: String? { nil }

    var blocks: Bool { inner.contains { $0.op.blocks } }

    var inner: [OpEntry] { [] }

    /// The op and all that it holds, the outermost first.
    var nested: [any Op] { [self] + inner.flatMap(\.op.nested) }

    var ownLoss: OpLoss { OpLoss(op: summary.words, because: loss ?? "") }

    /// Where what it does not give back is entered: of an op that holds others, with each of them.
    var losses: [OpLoss] { inner.isEmpty ? [ownLoss] : inner.flatMap { $0.op.losses.map { $0.within(summary) } } }
}

/// What an op may lose: the op, as the account of losses names it, and why; empty where nobody says it.
struct OpLoss: Hashable, Sendable {
    var op: String
    var because: String

    /// The same for an op that another holds.
    func within(_ holder: OpSummary) -> OpLoss { OpLoss(op: "\(holder.words), \(op)", because: because) }
}

extension OpSummary {
    fileprivate var words: String { [verb, object].compactMap(\.self).joined(separator: " ") }
}

/// An op with its place: in the file, and in the step.
package struct OpEntry: Sendable {
    let op: any Op
    package let mark: Mark
    package let name: String
    /// Counted from 1 over the whole step.
    let number: Int

    /// How errors name it.
    var label: String { "\(name) (op \(number))" }

    package var statement: OpStatement { op.statement }

    /// The ops that it holds.
    package var inner: [OpEntry] { op.inner }
}
