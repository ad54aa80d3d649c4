internal import Bytes
internal import EventModel
internal import JSONText

/// `swift {id, revision, class, reads, writes, down}`: the application's own code changes a payload.
struct SwiftOp: Op {
    static let name = "swift"

    /// How an event that is born above the step gets its images at older versions.
    enum Down: String, CaseIterable {
        /// The code converts downwards when an image is requested.
        case inverse
        /// The code converts downwards when the event is appended, and the images are stored with it.
        case shadow
        /// There are no older images; a replay past the step needs consent.
        case oneWay = "one-way"
    }

    let id: String
    let revision: Int
    let declared: OpClass
    let reads: [JSONPointer]
    let writes: [JSONPointer]
    let down: Down
    let because: String?

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("swift", allowing: ["id", "revision", "class", "reads", "writes", "down", "because"])
        id = try Self.argument("id", of: arguments, "the name under which the program registers it").text("id")
        revision = try Self.argument("revision", of: arguments, "a number that grows with each change of the code")
            .integer("revision", from: 1)
        reads = try Self.pointers("reads", of: arguments, "the members that the code is handed")
        writes = try Self.pointers("writes", of: arguments, "the members that the code may change")
        guard !writes.isEmpty else { throw arguments.problem("swift writes nothing", rule: Rule.swiftStep) }
        declared = try Self.opClass(try Self.argument("class", of: arguments, "iso, widen, narrow or partial, or a list of them"))
        down =
            try arguments.member("down").map { node throws(FileProblem) in
                let word = try node.text("down")
                guard let down = Down(rawValue: word) else {
                    throw node.problem(
                        "there is no down: \(quoted(word))", rule: Rule.swiftStep,
                        fix: "it is one of: \(Down.allCases.map(\.rawValue).joined(separator: ", "))")
                }
                return down
            } ?? .inverse
        because = try arguments.member("because")?.text("because")
    }

    private static func argument(_ name: String, of arguments: FileNode, _ what: String) throws(FileProblem) -> FileNode {
        guard let node = arguments.member(name) else {
            throw arguments.problem("swift does not declare its \(name)", rule: Rule.swiftStep, fix: "add \(name): \(what)")
        }
        return node
    }

    private static func pointers(_ name: String, of arguments: FileNode, _ what: String) throws(FileProblem) -> [JSONPointer] {
        var pointers: [JSONPointer] = []
        for node in try argument(name, of: arguments, what).list(name) {
            let pointer = try node.pointer("each of \(name)")
            guard !pointer.isRoot else { throw node.problem("\(name) names members, not the whole payload", rule: Rule.swiftStep) }
            if let other = pointers.first(where: { $0.hasPrefix(pointer) || pointer.hasPrefix($0) }) {
                throw node.problem("\(name) has \(other) and \(pointer), and one contains the other", rule: Rule.swiftStep)
            }
            pointers.append(pointer)
        }
        return pointers
    }

    private static func opClass(_ node: FileNode) throws(FileProblem) -> OpClass {
        var result = OpClass.iso
        let known: [String: OpClass] = ["iso": .iso, "widen": .widen, "narrow": .narrow, "partial": .partial]
        for word in try node.texts("class") {
            guard let one = known[word] else {
                throw node.problem(
                    "there is no class \(quoted(word))", rule: Rule.swiftStep, fix: "it is iso, widen, narrow or partial, or a list of them"
                )
            }
            result.formUnion(one)
        }
        return result
    }

    /// The step's name in errors.
    /// - Parameter version: the version whose step contains it.
    func words(_ version: SchemaVersion) -> String { "the step \(id) (revision \(revision)) of \(version)" }

    var loss: String? { declared.contains(.narrow) ? because ?? "" : nil }

    var blocks: Bool { down == .oneWay }

    var summary: OpSummary { OpSummary(verb: Self.name, object: id) }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        if direction == .down, down == .oneWay { return writes.map { OpEffect(.changes($0), "has no way down: \(id) is one-way") } }
        let source = reads.isEmpty ? "" : " from \(reads.map(\.description).joined(separator: ", "))"
        let kept = down == .shadow ? " when the event is appended, and kept with it" : ""
        let words = direction == .up ? "is made by the Swift step \(id)\(source)" : "is made again by the Swift step \(id)\(kept)"
        return writes.map { OpEffect(.appears($0), words) }
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        if id.isEmpty {
            // A version that a store has registered keeps its ops.
            site.note(
                Rule.swiftStep, .warning, "its id is empty, and names no step",
                fix: "write the name under which the program registers it")
        }
        let before = site.shape
        for pointer in reads where site.require(pointer) == nil { return nil }
        for pointer in writes where !write(pointer, &site) { return nil }
        site.opClass.formUnion(declared)
        if down == .oneWay { site.opClass.insert(.oneWay) }
        // The declared class proves nothing: only running the code shows what it does.
        site.isUnproved = true
        site.note(Rule.undecided, .note, "what the step \(id) does is proved on the data alone", advice: "\(.verifyLaws)")
        if declared.contains(.narrow) { site.require(reason: because, "it declares a loss and does not say why") }
        let step = site.swiftSteps[id]
        if down != .oneWay, let step, !(step is any ReversibleSwiftStep) {
            site.note(
                Rule.swiftStep, "the step \(id) of this program leads up only", fix: "make it a ReversibleSwiftStep, or say down: one-way")
        }
        return BoundSwiftStep(self, step, from: before, at: site)
    }

    /// Gives a member the shape that version n declares. Returns false if that is not possible.
    private func write(_ pointer: JSONPointer, _ site: inout BindingContext) -> Bool {
        if site.namesStream(pointer) { return false }
        let isRequired = site.declaredRequires(pointer) ?? false
        if site.shape.shape(at: pointer) != nil, site.declared(at: pointer) != nil, !reads.contains(where: { pointer.hasPrefix($0) }) {
            site.note(
                Rule.swiftStep, "it writes \(pointer), which is there before, and does not read it: what it leaves alone would be lost",
                fix: "add \(pointer) to reads")
        }
        switch (site.shape.shape(at: pointer), site.declared(at: pointer)) {
        case (_?, nil): return site.take(pointer, restoring: writes) != nil
        case (_?, let declared?): return site.shape.replace(at: pointer, with: declared, required: isRequired)
        case (nil, let declared?): return site.put(declared, at: pointer, .derived(always: isRequired))
        case (nil, nil):
            site.note(Rule.noMember, "neither version has \(pointer)", fix: "take it out of writes")
            return false
        }
    }
}

/// A Swift step that is bound to two shapes. It fails at run time if the program does not contain the step.
final class BoundSwiftStep: BoundOp {
    let words: String
    /// A description of what the program lacks; nil if it can run the step.
    let missing: String?
    private let op: SwiftOp
    private let type: String
    private let visibleBelow: [JSONPointer]
    /// The members that the step writes, with their locations in each shape that has them.
    private let written: [(pointer: JSONPointer, before: MemberLocation?, after: MemberLocation?)]
    private let step: (any SwiftStep)?

    init(_ op: SwiftOp, _ step: (any SwiftStep)?, from before: Shape, at site: BindingContext) {
        let after = site.shape
        (self.op, type) = (op, site.type)
        let words = op.words(site.version)
        self.words = words
        visibleBelow = op.writes + op.reads.filter { read in !op.writes.contains { read.hasPrefix($0) } }
        written = op.writes.map { pointer in
            (
                pointer: pointer, before: before.shape(at: pointer) == nil ? nil : MemberLocation(pointer, here: before, there: after),
                after: after.shape(at: pointer) == nil ? nil : MemberLocation(pointer, here: after, there: before)
            )
        }
        switch step {
        case nil: missing = words
        case let step? where step.revision != op.revision:
            missing = "\(words), of which this program has revision \(step.revision),"
        default: missing = nil
        }
        self.step = step
    }

    /// Whether events born at or above the step keep a shadow for the versions below.
    var keepsShadow: Bool { op.down == .shadow }

    func run(_ doc: inout EventDocument, at object: JSONEditor.Node, _ direction: Direction) throws(OpStop) {
        switch direction {
        case .up:
            let step = try runnable()
            try copy(op.reads, from: &doc.splice, at: object, &doc.run)
            do { try step.up(&doc.run.members) } catch { throw stop(error) }
        case .down:
            if op.down == .oneWay {
                throw .failed(
                    pointer: "", expected: "born below the one-way step \(op.id), while the floor is below it", found: "born above it")
            }
            guard let step = try runnable() as? any ReversibleSwiftStep else {
                throw .failed(pointer: "", expected: "a step \(op.id) that leads down", found: "one that leads up only")
            }
            try copy(visibleBelow, from: &doc.splice, at: object, &doc.run)
            do { try step.down(&doc.run.members) } catch { throw stop(error) }
        }
        try take(direction, into: &doc, at: object)
    }

    private func runnable() throws(OpStop) -> any SwiftStep {
        if let missing { throw .programNeeded(missing) }
        guard let step else { throw .programNeeded("the step \(op.id)") }
        return step
    }

    private func copy(_ visible: [JSONPointer], from doc: inout JSONEditor, at object: JSONEditor.Node, _ run: inout OpRun) throws(OpStop) {
        do { try run.members.begin(type, reads: visible, writes: op.writes) } catch { throw stop(error) }
        for pointer in visible {
            guard let node = doc.find(pointer, from: object) else { continue }
            run.members.copy(node, of: doc, at: pointer)
        }
    }

    /// Copies the members that the step may write back into the document.
    private func take(_ direction: Direction, into doc: inout EventDocument, at object: JSONEditor.Node) throws(OpStop) {
        let root = doc.run.members.doc.root
        if doc.run.members.isReplaced { try check(root, JSONPointer(), &doc.splice, at: object, &doc.run) }
        for member in written {
            let (source, target) = direction == .up ? (member.before, member.after) : (member.after, member.before)
            guard let target else {
                source?.remove(from: &doc, at: object)
                continue
            }
            let value = doc.run.members.doc.find(member.pointer, from: root)
            let holder = target.holder(in: &doc, at: object, forValue: value != nil)
            if let value {
                guard let holder else {
                    throw .failed(
                        pointer: member.pointer.description, expected: "an object to hold what the step \(op.id) writes", found: "none")
                }
                let made = doc.take(member: value)
                doc.set(target.name, of: holder, toValueOf: made)
            } else if let old = target.find(in: &doc, at: object) {
                doc.detach(old)
            }
        }
        if let fault = doc.run.members.doc.fault { throw stop(fault) }
    }

    /// Refuses a change to a member that the step does not declare to write.
    private func check(
        _ node: JSONEditor.Node, _ pointer: JSONPointer, _ doc: inout JSONEditor, at object: JSONEditor.Node, _ run: inout OpRun
    ) throws(OpStop) {
        if op.writes.contains(where: { pointer.hasPrefix($0) }) { return }
        if op.writes.contains(where: { $0.hasPrefix(pointer) }), run.members.doc.kind(node) == .object {
            var child = run.members.doc.firstChild(of: node)
            while let next = child {
                try check(next, pointer.appending(run.members.doc.name(of: next)), &doc, at: object, &run)
                child = run.members.doc.next(after: next)
            }
            return
        }
        run.output.removeAll()
        run.members.doc.write(node, into: &run.output)
        let made: [UInt8]
        do { made = try Canonical.bytes(of: run.output.bytes) } catch { throw stop(error) }
        guard let old = doc.find(pointer, from: object), doc.equals(old, made.lent) else {
            throw .failed(
                pointer: pointer.description, expected: "as it was: the step \(op.id) does not declare to write it",
                found: run.members.doc.words(node))
        }
    }

    private func stop(_ error: any Error) -> OpStop {
        if let failure = error as? StepFailure {
            return .failed(pointer: failure.pointer, expected: failure.expected, found: failure.found)
        }
        return .failed(pointer: "", expected: "a payload that the step \(op.id) takes", found: "\(error)")
    }
}
