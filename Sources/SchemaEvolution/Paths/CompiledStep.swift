package import EventModel
internal import JSONText

/// A step that is bound to the shapes on both of its sides.
struct CompiledStep: Sendable {
    enum Stage: Sendable {
        /// The ops for each type, upwards, by its name at this point of the step.
        case payload([Name: [PathOp]])
        case event(BoundEventOp, label: String, mark: FileLocation)
    }

    let version: SchemaVersion
    let step: Step
    var stages: [Stage] = []
    var findings: [Finding] = []
    /// Types of version n whose shape is not proved to accept the results of the ops.
    var narrowed: Set<Name> = []
    /// Types of version n whose shape depends on ops without a proof that the result fits.
    var unproved: Set<Name> = []
    var opClass: OpClass = .iso
    /// Ops that this program can't read or that exceed its limits. A store may contain them, since another program may have registered
    /// them. No path may then lead through the step, since without these ops events would look different.
    var unread: [String] = []
    /// The declared losses, in the order of the list.
    var losses: [LossDeclaration] = []
    /// Members that are permanently removed, by the name of the type in version n.
    var reserved: [Name: [JSONPointer]] = [:]
    var retiredTypes: [String] = []

    /// The changes of stream names, in the order of the list.
    var rekeys: [BoundRekey] {
        stages.compactMap { stage in if case .event(let event, _, _) = stage { event.rekey } else { nil } }
    }
}

/// A loss of a step, with the author's reason, which is empty if none is given.
package struct LossDeclaration: Hashable, Sendable {
    package let version: SchemaVersion
    private let name: Name
    /// The op and its object, such as `remove /email`.
    package let op: String
    package let because: String

    package init(version: SchemaVersion, type: String, op: String, because: String) {
        (self.version, name, self.op, self.because) = (version, Name(type), op, because)
    }

    /// The name of the type in its step.
    package var type: String { name.text }

    func because(_ why: String) -> LossDeclaration { LossDeclaration(version: version, type: type, op: op, because: why) }
}

extension LossDeclaration {
    init(version: SchemaVersion, type: String, _ loss: OpLoss) {
        self.init(version: version, type: type, op: loss.op, because: loss.because)
    }
}

/// Takes the place of an op that could not be bound because the version was never checked.
final class UnboundOp: BoundOp {
    let why: String

    init(why: String) { self.why = why }

    func run(_ doc: inout EventDocument, at object: JSONEditor.Node, _ direction: Direction) throws(OpStop) {
        throw .failed(pointer: "", expected: "a step that was checked", found: why)
    }
}
