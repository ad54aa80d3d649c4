internal import EventModel
internal import JSONText

/// The shape that version n declares for a type, and the ops that still change a payload before it has that shape.
struct ShapeTarget: Sendable {
    let declared: Shape
    private let moving: MovingOps
    /// The index of the first op that is still to run.
    private let next: Int

    init(declared: Shape, ops: [any Op]) { self.init(declared: declared, ops: MovingOps(ops), from: 0) }

    init(declared: Shape, ops: MovingOps, from next: Int) { (self.declared, moving, self.next) = (declared, ops, next) }

    var ops: [any Op] { Array(moving.from(next)) }

    /// Where a member will be in the declared shape.
    func place(of pointer: JSONPointer) -> JSONPointer { moving.destination(of: pointer, from: next) }
}

/// Where an op is bound: a shape that it changes, the shape that version n declares, and what it reports.
struct OpSite {
    /// The type's shape at this point of the list.
    var shape: Shape
    var stream: StreamTemplate?
    /// More than one where a later item dispatches or splits the type.
    let shapeTargets: [ShapeTarget]
    /// The type, as messages name it.
    let type: String
    var mark: Mark
    var label: String

    var opClass: OpClass = .iso
    /// Whether the result must be checked against its shape, because the shapes alone do not prove it.
    var isUnproved = false
    /// The version that the step leads to, and the program's code for `swift` ops.
    var version = SchemaVersion(0)
    var swiftSteps = SwiftSteps.none
    /// Whether the step gives streams other names, so that a member in them may change with them.
    var isRekeyed = false
    /// Whether the version was not released, so that it can be changed: in a released one, values that an op refuses are warnings.
    var mayChange = false
    var findings: [Finding] = []

    mutating func note(_ rule: String, _ message: String, fix: String? = nil, mend: Repair?...) {
        note(rule, .error, message, fix: fix, mend: mend.compactMap(\.self))
    }

    mutating func note(_ rule: String, _ severity: Finding.Severity, _ message: String, fix: String? = nil, mend: [Repair] = []) {
        note(rule, severity, message, advice: fix.map { Advice(stringLiteral: $0) }, mend: mend)
    }

    mutating func note(_ rule: String, _ severity: Finding.Severity, _ message: String, advice: Advice?, mend: [Repair] = []) {
        var finding = Finding(
            id: rule, severity: severity, file: mark.file, line: mark.line, column: mark.column,
            message: "\(type): \(label): \(message)", advice: advice)
        (finding.repairs, finding.subject) = (mend, type)
        findings.append(finding)
    }

    /// The shape that version n declares for the member that is at a pointer at this point of the list.
    func declared(at pointer: JSONPointer) -> Shape? {
        for target in shapeTargets {
            if let shape = target.declared.shape(at: target.place(of: pointer)) { return shape }
        }
        return nil
    }

    /// Whether version n declares a member and requires it; nil where it does not declare it.
    func declaredRequires(_ pointer: JSONPointer) -> Bool? {
        for target in shapeTargets {
            let place = target.place(of: pointer)
            if target.declared.shape(at: place) != nil { return target.declared.isRequired(at: place) }
        }
        return nil
    }

    /// The shape at a pointer, or a finding that there is none.
    mutating func require(_ pointer: JSONPointer) -> Shape? {
        if let found = shape.shape(at: pointer) { return found }
        let known = shape.pointers { _ in true }.map(\.description)
        let meant = nearest(to: pointer.description, among: known)
        note(
            Rule.noMember, "there is no \(pointer) at this point of the list",
            fix: meant.map { "did you mean \($0)?" } ?? "there are: \(known.joined(separator: " "))",
            mend: meant.map { mark.mend(.swap(pointer.description, JSONValue.string($0).text)) })
        return nil
    }

    /// Whether an op would change a member of the stream template, which it may not: adds a finding. In a step with a rekey, only a note.
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

    /// A site for the elements or values of an array or map, or for the ops of a guard.
    func nested(_ shape: Shape, shapeTargets: [ShapeTarget]) -> OpSite {
        OpSite(shape: shape, stream: nil, shapeTargets: shapeTargets, type: type, mark: mark, label: label)
    }

    /// Adds the class and the findings of a nested site.
    mutating func absorb(_ site: OpSite) {
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
