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

    /// Whether the declared shape has a member wherever it has another one.
    func hasAlways(_ pointer: JSONPointer, beside other: JSONPointer) -> Bool {
        let (member, neighbour) = (place(of: pointer), place(of: other))
        return member.prefixes.dropFirst(member.commonParents(with: neighbour) + 1).allSatisfy { declared.isRequired(at: $0) }
    }

    /// Whether an `allow` that remains to be run is about the member at a pointer or an object around it.
    func isAllowed(_ pointer: JSONPointer) -> Bool {
        let place = place(of: pointer)
        return ops.enumerated().contains { index, op in
            guard let allow = op as? Allow else { return false }
            return place.hasPrefix(moving.destination(of: allow.path, from: next + index + 1))
        }
    }
}

/// The context in which an op is bound: the place in the file, and what is found out about the op.
protocol BindingSite {
    var mark: FileLocation { get }
    var label: String { get }
    /// The event type with which messages begin; nil for ops on whole events.
    var subject: String? { get }
    var opClass: OpClass { get set }
    var findings: [Finding] { get set }
}

extension BindingSite {
    mutating func note(_ rule: String, _ message: String, fix: String? = nil, repair: Repair?...) {
        note(rule, .error, message, fix: fix, repair: repair.compactMap(\.self))
    }

    mutating func note(
        _ rule: String, _ severity: Finding.Severity, _ message: String, fix: String? = nil, advice: Advice? = nil, repair: [Repair] = []
    ) {
        let words = [subject, label, message].compactMap(\.self).joined(separator: ": ")
        var finding = Finding(rule, severity, at: mark, words, fix: fix, repairs: repair, subject: subject)
        finding.advice = advice ?? finding.advice
        findings.append(finding)
    }

    /// Adds an error and returns nil, for what can't be bound.
    mutating func refuse<Bound>(_ rule: String, _ message: String, fix: String? = nil, repair: Repair?...) -> Bound? {
        note(rule, .error, message, fix: fix, repair: repair.compactMap(\.self))
        return nil
    }

    /// Warns of constants that the value which a guard tests never equals.
    mutating func check(_ test: Guard, in shape: Shape) {
        for (constant, reason) in test.misfits(shape) {
            note(Rule.idle, .warning, "the guard never holds for \(constant.text): the value \(reason)", fix: "correct the value")
        }
    }

    /// Adds an error unless the file gives a reason for a loss.
    /// - Parameter path: where the reason belongs, from the op on; nil if no repair can add it.
    mutating func require(reason: String?, _ message: String, fix: String = "add because: \"…\"", at path: [String]? = nil) {
        guard reason?.isEmpty ?? true else { return }
        let repair = path.map { mark.repair(.set(JSONValue.string(unexplainedReason).text), below: $0) }
        note(Rule.unexplainedLoss, message, fix: fix, repair: repair)
    }
}

/// The context of an op on payloads: the shape that it changes, the shape that version n declares, and its findings.
struct BindingContext: BindingSite {
    /// The type's shape at this point of the step.
    var shape: Shape
    var stream: StreamTemplate?
    /// Several if a later item dispatches or splits the type.
    let shapeTargets: [ShapeTarget]
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
    /// Whether the step takes the type away, so that version n requires nothing of it.
    var isLeaving = false
    /// An object that events may have at the version before without a member which is required there: `/o without /o/a`.
    var lacking: String?
    var findings: [Finding] = []

    var subject: String? { type }

    /// Marks the op as one that may refuse events, and whose results are validated at run time.
    mutating func mayFail() {
        opClass.insert(.partial)
        isUnproved = true
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

    /// Whether version n lets a member be absent, without an `allow` that says so.
    func declaresOptional(_ pointer: JSONPointer) -> Bool {
        declaredRequires(pointer) == false && !shapeTargets.contains { $0.isAllowed(pointer) }
    }

    /// The shape at a pointer; adds a finding if there is none.
    mutating func require(_ pointer: JSONPointer) -> Shape? {
        if let found = shape.shape(at: pointer) { return found }
        let known = shape.pointers { _ in true }.map(\.description)
        let meant = nearest(to: pointer.description, among: known)
        return refuse(
            Rule.noMember, "there is no \(pointer) at this point of the list",
            fix: meant.map { "did you mean \($0)?" } ?? "there are: \(known.joined(separator: " "))",
            repair: meant.map { mark.repair(.swap(pointer.description, JSONValue.string($0).text)) })
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
        var inner = BindingContext(shape: shape, stream: nil, shapeTargets: shapeTargets, type: type, mark: mark, label: label)
        (inner.isRekeyed, inner.mayChange, inner.isLeaving) = (isRekeyed, mayChange, isLeaving)
        return inner
    }

    /// Adds the class and the findings of a nested context.
    mutating func absorb(_ site: BindingContext) {
        opClass.formUnion(site.opClass)
        isUnproved = isUnproved || site.isUnproved
        lacking = lacking ?? site.lacking
        findings += site.findings
    }
}

/// Removes members from a shape and inserts them, together with the objects around them.
extension BindingContext {
    /// The origin of an inserted member's value.
    enum MemberOrigin {
        /// Moved from another pointer; `always` means that it is present whenever the innermost object around both pointers is.
        case moved(always: Bool)
        case added
        /// Derived from other members.
        case derived(always: Bool)
    }

    /// Removes a member, together with the objects around it that version n does not have.
    ///
    /// - Parameters:
    ///   - common: how many of the outermost objects around the member also contain its new location; whether they may be absent does not
    ///     matter.
    ///   - target: the new location, for which an object around the member may have to be removed.
    ///   - restored: the members that the op makes on the way down.
    mutating func take(
        _ pointer: JSONPointer, common: Int = 0, makingRoomFor target: JSONPointer? = nil, restoring restored: [JSONPointer] = []
    ) -> (
        shape: Shape, always: Bool
    )? {
        guard passesObjects(pointer), require(pointer) != nil else { return nil }
        let always = isAlwaysPresent(pointer, beyond: common)
        let partly = shape.isRequired(at: pointer) && !always
        // Whether an object from which it is taken may be there without it.
        var mayBeEmpty = !shape.isRequired(at: pointer)
        guard let taken = shape.remove(at: pointer) else { return nil }
        var parent = pointer.parent
        while let place = parent, !place.isRoot, let object = shape.shape(at: place) {
            guard object.properties.isEmpty, place == target || declared(at: place) == nil else { break }
            let isOptional = !shape.isRequired(at: place)
            // An empty object and an absent one become the same.
            if isOptional && mayBeEmpty { opClass.insert(.partial) }
            mayBeEmpty = mayBeEmpty || isOptional
            shape.remove(at: place)
            parent = place.parent
        }
        if let place = parent, place.tokens.count > common, let object = shape.shape(at: place), !shape.isRequired(at: place),
            object.required.isEmpty, declared(at: place)?.required.isEmpty == true
        {
            // An object that is emptied goes, and an empty one stays: they become the same on the way back.
            opClass.insert(.partial)
        }
        if partly, let place = parent, place.tokens.count + 1 == pointer.tokens.count {
            // The older version requires the member in each such object, and the newer version no longer records which objects had it.
            mayFail()
            if restored.isEmpty, declared(at: place) != nil, !hasAlways(target ?? pointer, beside: pointer) {
                lacking = lacking ?? "\(place) without \(pointer)"
            }
        }
        noteLacking(around: pointer, takenTo: target ?? pointer, beyond: common, restoring: restored)
        return (taken.shape, always)
    }

    /// Notes whether the way down may make an object around a taken member that lacks others which are required in it: version n need not
    /// have the object where it has the member.
    private mutating func noteLacking(
        around pointer: JSONPointer, takenTo target: JSONPointer, beyond common: Int, restoring restored: [JSONPointer]
    ) {
        var mayBeMade = false
        for place in pointer.prefixes.dropFirst(common + 1).dropLast() {
            guard let object = shape.shape(at: place) else { return }
            mayBeMade = mayBeMade || !shape.isRequired(at: place) && declaredRequires(place) != true
            guard mayBeMade else { continue }
            let others = object.required.sorted().map { place.appending($0.text) }.filter { other in
                !pointer.hasPrefix(other) && !restored.contains { $0.hasPrefix(other) }
            }
            guard let missing = others.first(where: { !hasAlways($0, beside: target) }) else { continue }
            opClass.insert(.partial)
            lacking = lacking ?? "\(place) without \(missing)"
            return
        }
    }

    /// Whether version n has a member wherever it has another one, by their pointers at this point of the list.
    private func hasAlways(_ pointer: JSONPointer, beside other: JSONPointer) -> Bool {
        !shapeTargets.isEmpty && shapeTargets.allSatisfy { $0.hasAlways(pointer, beside: other) }
    }

    /// Inserts a member, together with missing objects around it. Returns false, after adding a finding, if that is not possible.
    mutating func put(_ member: Shape, at pointer: JSONPointer, _ arrival: MemberOrigin, common: Int = 0) -> Bool {
        guard passesObjects(pointer) else { return false }
        guard shape.shape(at: pointer) == nil else {
            note(Rule.occupied, "there is a \(pointer) already at this point of the list", fix: "remove it before, or choose another path")
            return false
        }
        let bringsObjects = if case .added = arrival { false } else { true }
        var (isNew, isWithinMade) = (false, false)
        for (depth, place) in pointer.prefixes.enumerated().dropFirst().dropLast() {
            let wanted = declaredRequires(place)
            if let parent = shape.shape(at: place) {
                isNew = false
                let requiresOthers = parent.required.contains { $0.text != pointer.tokens[depth].text }
                if isWithinMade, parent.required.isEmpty || requiresOthers { opClass.insert(.partial) }
                guard depth > common, !shape.isRequired(at: place) else { continue }
                let isMade =
                    switch arrival {
                    case .moved(let always): always
                    case .derived(let always): always && wanted != false
                    case .added: wanted == true
                    }
                if isMade { _ = shape.replace(at: place, with: parent, required: true) }
                if isMade || bringsObjects {
                    // On the way down, an empty object and an absent one can't be distinguished; an object that is created lacks its
                    // required members.
                    if parent.required.isEmpty {
                        opClass.insert(.partial)
                    } else if requiresOthers {
                        mayFail()
                    }
                    isWithinMade = true
                }
            } else {
                isNew = true
                let isRequired =
                    switch arrival {
                    case .moved(let always): always || wanted == true
                    case .derived(let always): wanted ?? always
                    case .added: wanted ?? true
                    }
                _ = shape.insert(.object([]), at: place, required: isRequired)
            }
        }
        let wanted = declaredRequires(pointer)
        let isConditional = isNew && pointer.parent.map { !shape.isRequired(at: $0) } == true
        let isRequired =
            switch arrival {
            case .moved(let always): always || isConditional && wanted != false
            case .derived(let always): always || isConditional ? wanted ?? true : false
            case .added: wanted ?? true
            }
        return shape.insert(member, at: pointer, required: isRequired)
    }

    /// Whether a member is present whenever its `common` outermost objects are.
    func isAlwaysPresent(_ pointer: JSONPointer, beyond common: Int = 0) -> Bool {
        pointer.prefixes.dropFirst(common + 1).allSatisfy { shape.isRequired(at: $0) }
    }

    /// Checks that a pointer leads only through objects that can't be null and are not maps.
    private mutating func passesObjects(_ pointer: JSONPointer) -> Bool {
        guard !pointer.isRoot else {
            note(Rule.opArgument, "the empty pointer names the whole payload, not a member")
            return false
        }
        for place in pointer.prefixes.dropLast() {
            guard let object = shape.shape(at: place) else { return true }
            guard object.kind == .object, !object.isMap, !object.isNullable else {
                let what = place.isRoot ? "what is here" : place.description
                note(
                    Rule.wrongKind,
                    "\(pointer) leads through \(what), which is \(object.noun)\(object.isNullable ? " that may be null" : "")",
                    fix: object.kind == .array || object.isMap ? "each: {path: \(place), do: […]}" : nil)
                return false
            }
        }
        return true
    }
}

extension JSONPointer {
    /// How many of the outermost objects around a member also contain the other member.
    func commonParents(with other: JSONPointer) -> Int {
        zip(tokens.dropLast(), other.tokens.dropLast()).prefix { $0 == $1 }.count
    }
}

/// A list of ops with an index over those that move members, by the first name of the moved member's pointer. Binding needs the destination
/// of a member at each op of a list, and few of the other ops move it.
final class MovingOps: Sendable {
    private let ops: [any Op]
    /// The indices of the ops that move members, by the first name of the member's pointer.
    private let places: [MemberName: [Int]]

    init(_ ops: [any Op]) {
        self.ops = ops
        var places: [MemberName: [Int]] = [:]
        for (index, op) in ops.enumerated() {
            if let name = op.origin?.tokens.first { places[name, default: []].append(index) }
        }
        self.places = places
    }

    func from(_ start: Int) -> ArraySlice<any Op> { ops[min(start, ops.count)...] }

    /// The pointer of a member after the ops from an index on.
    func destination(of pointer: JSONPointer, from start: Int) -> JSONPointer {
        var (place, next) = (pointer, start)
        while let name = place.tokens.first, let rows = places[name], let row = rows.first(from: next) {
            place = ops[rows[row]].destination(of: place)
            next = rows[row] + 1
        }
        return place
    }
}

extension [Int] {
    /// The index of the first number that is at least `bound`; the numbers must be sorted.
    func first(from bound: Int) -> Int? {
        var (low, high) = (0, count)
        while low < high {
            let middle = (low + high) / 2
            if self[middle] < bound { low = middle + 1 } else { high = middle }
        }
        return low < count ? low : nil
    }
}
