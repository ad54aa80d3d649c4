internal import JSONText

/// Explores the branches that events of a shape can take through a path, and compiles them to one program.
//
// The branch that most events take is compiled first, followed by those that deviate from it once, then twice. If there are too many, the
// rarest are left to the ops.
struct FusedCompiler {
    private var code: [FusedInstruction] = []
    private var targets: [Int32] = []
    private var output = FusedOutput()
    private var layout = SymbolicDocument.Layout()
    private var tools = ConstantPool()
    /// The deviations from compiled branches: the outcomes up to and including the deviating one, and the jump target to patch.
    private var branches: [(script: [Int], target: Int?)] = [([], nil)]
    private var writes = false
    /// Returns the pointers that are read of an image of a type; nil means the whole image.
    private let reading: ((String) -> [JSONPointer]?)?
    /// Whether a value that is read can't be determined.
    private var isBlurred = false
    /// Descriptions of what made branches fall back to the ops.
    private var causes: [String] = []

    /// The maximum number of branches that are worth their memory.
    private static let branchesMax = 256

    private init(_ reading: ((String) -> [JSONPointer]?)? = nil) { self.reading = reading }

    /// The program of a path; nil if no event would complete it, or if not all values that are read can be determined.
    static func compile(_ root: PathSegment, of shape: Shape, reading: ((String) -> [JSONPointer]?)? = nil) -> FusedProgram? {
        guard shape.kind == .object, !shape.isMap else { return nil }
        var compiler = FusedCompiler(reading)
        return compiler.goAllWays(root, of: shape) ? compiler.program() : nil
    }

    /// Why all or some events of the shape must be converted by the ops of a path; nil if none must.
    static func opByOp(_ root: PathSegment, of shape: Shape) -> SlowPathReport? {
        guard shape.kind == .object, !shape.isMap else { return SlowPathReport(isForAll: true, causes: ["its payload is a map"]) }
        var compiler = FusedCompiler()
        let isWhole = compiler.goAllWays(root, of: shape)
        if compiler.branches.count > branchesMax { compiler.note("there are more than \(branchesMax) branches through its steps") }
        return compiler.causes.isEmpty ? nil : SlowPathReport(isForAll: !isWhole, causes: compiler.causes)
    }

    /// The symbolic document at the end of each branch through a path, for all events of a shape; nil if there are too many branches or if
    /// some events must be converted by the ops.
    static func drafts(_ root: PathSegment, of shape: Shape) -> [SymbolicDocument]? {
        guard shape.kind == .object, !shape.isMap else { return nil }
        var compiler = FusedCompiler { _ in [] }
        var drafts: [SymbolicDocument] = []
        _ = compiler.goAllWays(root, of: shape) { drafts.append($0) }
        return compiler.branches.count > branchesMax || drafts.contains(where: \.isGivenUp) ? nil : drafts
    }

    private static let elements = "what is done to the elements of a list"

    private mutating func note(_ cause: String) {
        if !causes.contains(cause) { causes.append(cause) }
    }

    /// The program of ops that are applied to each element of a list or each value of a map.
    static func compile(_ elements: FusedElements) -> FusedProgram? {
        var compiler = FusedCompiler()
        compiler.layout.slotCount = FusedProgram.elementSlot + 1
        let isWhole = compiler.goAllWays { compiler, script in
            var draft = SymbolicDocument(element: elements.shape, layout: compiler.layout, tools: compiler.tools, script: script)
            for op in elements.ops where !draft.isOver { op.op.fuse(&draft, op.direction) }
            draft.settleElements { _ in true }
            if !draft.isOver {
                let pieces = compiler.output.write(draft.root, of: draft)
                draft.emit(.write, pieces.lowerBound, pieces.count)
                compiler.writes = true
            }
            return draft
        }
        return isWhole ? compiler.program(kinds: elements.shape.kindBits & ~(1 << JSONKind.null.rawValue)) : nil
    }

    /// Explores all branches of a path for events of a shape.
    private mutating func goAllWays(_ root: PathSegment, of shape: Shape, _ visit: (SymbolicDocument) -> Void = { _ in }) -> Bool {
        goAllWays { compiler, script in
            var draft = SymbolicDocument(shape, layout: compiler.layout, tools: compiler.tools, script: script)
            if draft.isGivenUp { compiler.note("an object has more than 64 members, or is a map") }
            compiler.follow(root, &draft)
            visit(draft)
            return draft
        }
    }

    /// Explores all branches. Returns false if none writes anything, or if a value that is read can't be determined.
    private mutating func goAllWays(_ go: (inout FusedCompiler, [Int]) -> SymbolicDocument) -> Bool {
        var next = 0
        while next < branches.count, next < Self.branchesMax {
            let branch = branches[next]
            next += 1
            var draft = go(&self, branch.script)
            draft.finish()
            (layout, tools) = (draft.layout, draft.tools)
            if isBlurred { return false }
            if let target = branch.target { targets[target] = Int32(code.count) }
            add(draft, behind: branch.script.count)
        }
        for branch in branches[next...] { if let target = branch.target { targets[target] = Int32(code.count) } }
        if next < branches.count { code.append(FusedInstruction(code: .giveUp)) }
        return writes
    }

    private func program(kinds: UInt8 = .max) -> FusedProgram {
        FusedProgram(layout, code: code, targets: targets, output: output, tools: tools, kinds: kinds)
    }

    private mutating func follow(_ segment: PathSegment, _ draft: inout SymbolicDocument) {
        for op in segment.ops where !draft.isOver {
            // A program supports only one name for the stream.
            if op.streams == nil { op.op.fuse(&draft, op.direction) } else { draft.giveUp() }
            if draft.isGivenUp { note("\(op.step) \(op.label)") }
        }
        guard !draft.isOver else { return }
        switch segment.next {
        case .end(let end): write(end, &draft)
        case .dispatch(let dispatch):
            let node = draft.value(at: dispatch.by, from: draft.root)
            let index = node.map { draft.select($0, among: dispatch.branches.map(\.value)) } ?? 0
            if node == nil { draft.giveUp() }
            if draft.isGivenUp { note("what \(dispatch.by) tells") }
            if !draft.isOver { follow(dispatch.branches[index].segment, &draft) }
        case .fan(let fan): follow(fan, &draft)
        case .hidden, .dropped:
            if case .hidden = segment.next { draft.leaveOut(.hide) } else { draft.leaveOut(.drop) }
            if draft.isGivenUp { note(Self.elements) }
        case .junction:
            note("its parts meet again")
            draft.giveUp()
        // Refused events may be slow.
        case .adoption, .blocked: draft.giveUp()
        }
    }

    private mutating func write(_ end: PathEnd, _ draft: inout SymbolicDocument) {
        draft.tools.ends.append(end)
        let index = draft.tools.ends.count - 1
        // An image that must be validated must be written completely.
        if !end.isUnproved, let pointers = reading?(end.type) {
            let nodes = pointers.map { draft.find($0, from: draft.root) }
            isBlurred = isBlurred || draft.isOver
            let all = draft
            draft.settleElements { all.isWithin(nodes, $0) }
            if !draft.isOver { draft.end(.read, output.write(values: nodes, of: draft), nodes.count, index) }
        } else {
            draft.settleElements { _ in true }
            if draft.isGivenUp { note(Self.elements) }
            if draft.isOver { return }
            let pieces = output.write(draft.root, of: draft)
            draft.end(.write, pieces.lowerBound, pieces.count, index)
        }
        writes = true
    }

    private mutating func follow(_ fan: PathFan, _ draft: inout SymbolicDocument) {
        // Ops on elements are applied once, even if several parts take the elements.
        draft.settleElements { _ in true }
        if draft.isGivenUp { note(Self.elements) }
        var chosen: UInt64 = 0
        // The parts are made from the event's state before the guards examined it.
        draft.aside { draft in chosen = fan.choose(&draft, at: draft.root) }
        if chosen == 0 { return draft.giveUp() }
        for (index, part) in fan.parts.enumerated() where fan.makes(index, of: chosen) && !draft.isOver {
            draft.aside { draft in
                draft.begin(part.rule.take(from: draft.root, of: &draft))
                if !draft.isOver { follow(part.segment, &draft) }
            }
        }
    }

    /// Appends the instructions of a branch after its first choices, which it shares with an earlier branch.
    private mutating func add(_ draft: SymbolicDocument, behind known: Int) {
        var passed = 0
        for step in draft.trace {
            if passed >= known {
                var instruction = step.instruction
                if step.isChoice {
                    let base = targets.count
                    instruction.c = Int32(base)
                    targets += [Int32](repeating: -1, count: draft.choices[passed].count)
                    targets[base] = Int32(code.count + 1)
                    let script = draft.choices[..<passed].map(\.outcome)
                    for outcome in 1 ..< max(draft.choices[passed].count, 1) {
                        branches.append((script + [outcome], base + outcome))
                    }
                }
                code.append(instruction)
            }
            if step.isChoice { passed += 1 }
        }
    }
}
