package import EventModel
internal import JSONText

/// A step bound to the shapes on both of its sides.
struct CompiledStep: Sendable {
    enum Stage: Sendable {
        /// What runs on each type, by its name at this point.
        case payload([Name: [BoundEntry]])
        case event(BoundEventOp, label: String, mark: Mark)
    }

    let version: SchemaVersion
    let step: Step
    var stages: [Stage] = []
    var findings: [Finding] = []
    /// Types of version n whose shape is not proved to take what the ops make.
    var narrowed: Set<Name> = []
    /// Types of version n of whose shape something depends on what ops make without a proof that it fits.
    var unproved: Set<Name> = []
    var opClass: OpClass = .iso
    /// What this program can't read, or has no room for. A store may hold it, since another program registered it: then no
    /// path leads through the step, for without it events would look otherwise than they are.
    var unread: [String] = []
    /// What is lost by declaration, in the order of the list.
    var losses: [LossDeclaration] = []
    /// Members that are gone for ever, by the name of the type in version n.
    var reserved: [Name: [JSONPointer]] = [:]
    var retiredTypes: [String] = []

    /// The changes to names of streams, in the order of the list.
    var rekeys: [BoundRekey] {
        stages.compactMap { stage in if case .event(let event, _, _) = stage { event.rekey } else { nil } }
    }
}

/// An op bound for one type.
struct BoundEntry: Sendable {
    let op: any BoundOp
    let step: SchemaVersion
    let label: String
    let summary: OpSummary
    let mark: Mark
    let isUnproved: Bool
    let blocks: Bool
    /// Where what it does not give back is entered.
    let loss: LossDeclaration
}

/// Something that a step loses, with the author's reason: empty where nothing says it.
package struct LossDeclaration: Hashable, Sendable {
    package let version: SchemaVersion
    private let name: Name
    /// The op with what it is about, such as `remove /email`.
    package let op: String
    package let because: String

    package init(version: SchemaVersion, type: String, op: String, because: String) {
        (self.version, name, self.op, self.because) = (version, Name(type), op, because)
    }

    /// The type as its step names it.
    package var type: String { name.text }

    func because(_ why: String) -> LossDeclaration { LossDeclaration(version: version, type: type, op: op, because: why) }
}

extension LossDeclaration {
    init(version: SchemaVersion, type: String, _ loss: OpLoss) {
        self.init(version: version, type: type, op: loss.op, because: loss.because)
    }
}

/// Stands where an op could not be bound: the version was never checked.
final class UnboundOp: BoundOp {
    let why: String

    init(why: String) { self.why = why }

    func run(_ doc: inout EventDocument, at object: Splice.Node, _ direction: Direction) throws(OpStop) {
        throw .failed(pointer: "", expected: "a step that was checked", found: why)
    }
}
