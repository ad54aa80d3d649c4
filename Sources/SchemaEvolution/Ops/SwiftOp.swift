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
        for word in try node.texts("class") {
            switch word {
            case "iso": break
            case "widen": result.insert(.widen)
            case "narrow": result.insert(.narrow)
            case "partial": result.insert(.partial)
            default:
                throw node.problem(
                    "there is no class \(quoted(word))", rule: Rule.swiftStep, fix: "it is iso, widen, narrow or partial, or a list of them"
                )
            }
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
        let before = site.shape
        for pointer in reads where site.require(pointer) == nil { return nil }
        for pointer in writes where !write(pointer, &site) { return nil }
        site.opClass.formUnion(declared)
        if down == .oneWay { site.opClass.insert(.oneWay) }
        // The declared class proves nothing: only running the code shows what it does.
        site.isUnproved = true
        site.note(Rule.undecided, .note, "what the step \(id) does is proved on the data alone", advice: "\(.verifyLaws)")
        if declared.contains(.narrow), because?.isEmpty ?? true {
            site.note(Rule.unexplainedLoss, "it declares a loss and does not say why", fix: "add because: \"…\"")
        }
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
        case (_?, nil): return site.take(pointer) != nil
        case (_?, let declared?): return site.shape.replace(at: pointer, with: declared, required: isRequired)
        case (nil, let declared?): return site.put(declared, at: pointer, .derived(always: isRequired))
        case (nil, nil):
            site.note(Rule.noMember, "neither version has \(pointer)", fix: "take it out of writes")
            return false
        }
    }
}
