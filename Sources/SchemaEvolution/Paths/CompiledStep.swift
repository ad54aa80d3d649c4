package import EventModel
internal import JSONText

/// A step bound to the shapes on both of its sides.
struct CompiledStep: Sendable {
    enum Stage: Sendable {
        /// What runs on each type, by its name at this point.
        case payload([String: [BoundEntry]])
        case event(BoundEventOp, label: String, mark: Mark)
    }

    let version: SchemaVersion
    let step: Step
    var stages: [Stage] = []
    var findings: [Finding] = []
    /// Types of version n whose shape is not proved to take what the ops make.
    var narrowed: Set<String> = []
    var opClass: OpClass = .iso
    /// Ops that this program does not know: a newer one wrote the file.
    var unknownOps: [String] = []
    /// What is lost by declaration, in the order of the list.
    var losses: [LossDeclaration] = []
    /// Members that are gone for ever, by the name of the type in version n.
    var reserved: [String: [JSONPointer]] = [:]
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
    let readsStream: Bool
    let blocks: Bool
}

/// Something that a step loses by intent, with the author's reason.
package struct LossDeclaration: Hashable, Sendable {
    package let version: SchemaVersion
    /// The type as its step names it.
    package let type: String
    /// The op with what it is about, such as `remove /email`.
    package let op: String
    package let because: String
}

/// Stands where an op could not be bound: the version was never checked.
final class UnboundOp: BoundOp {
    let why: String

    init(why: String) { self.why = why }

    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        throw .failed(pointer: "", expected: "a step that was checked", found: why)
    }

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        throw .failed(pointer: "", expected: "a step that was checked", found: why)
    }
}
