internal import EventModel
internal import JSONText

/// The shape that version n declares for a type, and the ops that change a payload until it has that shape.
struct ShapeTarget: Sendable {
    let declared: Shape
    private let moving: MovingOps
    /// The index of the first op that remains to be run.
    private let next: Int

    init(declared: Shape, ops: [any Op]) { self.init(declared: declared, ops: MovingOps(ops), from: 0) }

    init(declared: Shape, ops: MovingOps, from next: Int) { (self.declared, moving, self.next) = (declared, ops, next) }

    var ops: [any Op] { Array(moving.from(next)) }

    /// The pointer of a member in the declared shape.
    func place(of pointer: JSONPointer) -> JSONPointer { moving.destination(of: pointer, from: next) }
}

/// The context in which an op is bound: the shape that it changes, the shape that version n declares, and its findings.
struct BindingContext {
    /// The type's shape at this point of the step.
    var shape: Shape
    var stream: StreamTemplate?
    /// Several if a later item dispatches or splits the type.
    let shapeTargets: [ShapeTarget]
    /// The name of the type in messages.
    let type: String
    var mark: FileLocation
    var label: String

    var opClass: OpClass = .iso
    /// Whether the result must be validated at run time because the shapes do not prove that it fits.
    var isUnproved = false
    /// The version to which the step leads, and the program's code for `swift` ops.
    var version = SchemaVersion(0)
    var swiftSteps = SwiftSteps.none
    /// Whether the step renames streams, so that a member in their names may change with them.
    var isRekeyed = false
    /// Whether the version is unreleased and can still be changed. In a released version, values that an op refuses are only warnings.
    var mayChange = false
    var findings: [Finding] = []

    mutating func note(_ rule: String, _ message: String, fix: String? = nil, repair: Repair?...) {
        note(rule, .error, message, fix: fix, repair: repair.compactMap(\.self))
    }

    mutating func note(_ rule: String, _ severity: Finding.Severity, _ message: String, fix: String? = nil, repair: [Repair] = []) {
        note(rule, severity, message, advice: fix.map { Advice(stringLiteral: $0) }, repair: repair)
    }

    mutating func note(_ rule: String, _ severity: Finding.Severity, _ message: String, advice: Advice?, repair: [Repair] = []) {
        var finding = Finding(
            id: rule, severity: severity, file: mark.file, line: mark.line, column: mark.column,
            message: "\(type): \(label): \(message)", advice: advice)
        (finding.repairs, finding.subject) = (repair, type)
        findings.append(finding)
    }

    /// The shape that version n declares for the member at a pointer at this point of the step.
    func declared(at pointer: JSONPointer) -> Shape? {
        for target in shapeTargets {
            if let shape = target.declared.shape(at: target.place(of: pointer)) { return shape }
        }
        return nil
    }

    /// Whether version n requires a member; nil if it does not declare it.
    func declaredRequires(_ pointer: JSONPointer) -> Bool? {
        for target in shapeTargets {
            let place = target.place(of: pointer)
            if target.declared.shape(at: place) != nil { return target.declared.isRequired(at: place) }
        }
        return nil
    }

    /// The shape at a pointer; adds a finding if there is none.
    mutating func require(_ pointer: JSONPointer) -> Shape? {
        if let found = shape.shape(at: pointer) { return found }
        let known = shape.pointers { _ in true }.map(\.description)
        let meant = nearest(to: pointer.description, among: known)
        note(
            Rule.noMember, "there is no \(pointer) at this point of the list",
            fix: meant.map { "did you mean \($0)?" } ?? "there are: \(known.joined(separator: " "))",
            repair: meant.map { mark.repair(.swap(pointer.description, JSONValue.string($0).text)) })
        return nil
    }

    /// Whether an op would illegally change a member of the stream template, which is reported as a finding. In a step with a rekey, only a
    /// note is added.
    mutating func namesStream(_ pointer: JSONPointer) -> Bool {
        guard let stream, stream.members.contains(where: { $0.hasPrefix(pointer) || pointer.hasPrefix($0) }) else { return false }
        if isRekeyed {
            note(
                Rule.undecided, .note,
                "\(pointer) is part of the stream template \(quoted(stream.description)): whether the rekey gives the same names depends on the data"
            )
            return false
        }
        note(
            Rule.wrongKind, "\(pointer) is part of the stream template \(quoted(stream.description)), which this op would change",
            fix: "leave \(pointer) as it is and make a copy of it: copy: {from: \(pointer), path: …}")
        return true
    }

    /// A context for the elements of an array, the values of a map or the ops of a guard.
    func nested(_ shape: Shape, shapeTargets: [ShapeTarget]) -> BindingContext {
        BindingContext(shape: shape, stream: nil, shapeTargets: shapeTargets, type: type, mark: mark, label: label)
    }

    /// Adds the class and the findings of a nested context.
    mutating func absorb(_ site: BindingContext) {
        opClass.formUnion(site.opClass)
        isUnproved = isUnproved || site.isUnproved
        findings += site.findings
    }

    /// Binds the ops of a list, in order.
    mutating func bind(_ entries: [OpEntry]) -> [any BoundOp] {
        var bound: [any BoundOp] = []
        for entry in entries {
            if let op = entry.op.bind(&self) { bound.append(op) }
        }
        return bound
    }
}
