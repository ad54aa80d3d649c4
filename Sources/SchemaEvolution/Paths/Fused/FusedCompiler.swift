internal import JSONText

/// Goes the ways through a path that the events of a shape can take, and makes one program of them.
//
// The way that most events should take comes first, then those that leave it once, then twice: where there are too many, the
// rarest are left to the ops.
struct FusedCompiler {
    /// A way that leaves one that was gone: the outcomes up to where it does, and the target that leads there.
    private struct Branch {
        let script: [Int]
        let target: Int?
    }

    private var code: [FusedInstruction] = []
    private var targets: [Int32] = []
    private var output = FusedOutput()
    private var layout = FusedDraft.Layout()
    private var tools = FusedTools()
    private var branches = [Branch(script: [], target: nil)]
    private var writes = false
    /// What of an image of a type is read; nil where all of it is.
    private let reading: ((String) -> [JSONPointer]?)?
    /// Whether a value that is read can't be told apart.
    private var isBlurred = false
    /// What made ways end at the ops, in words.
    private var causes: [String] = []

    /// More ways than this are not worth their room.
    private static let mostWays = 256

    private init(_ reading: ((String) -> [JSONPointer]?)? = nil) { self.reading = reading }

    /// The program of a path; nil where no event would get through it, or not all that is read can be told apart.
    static func compile(_ root: PathSegment, of shape: Shape, reading: ((String) -> [JSONPointer]?)? = nil) -> FusedProgram? {
        guard shape.kind == .object, !shape.isMap else { return nil }
        var compiler = FusedCompiler(reading)
        let isWhole = compiler.goAllWays { compiler, script in
            var draft = FusedDraft(shape, layout: compiler.layout, tools: compiler.tools, script: script)
            compiler.follow(root, &draft)
            return draft
        }
        return isWhole ? compiler.program() : nil
    }

    /// Why events of the shape, all or some, go through the ops of a path; nil where none has to.
    static func opByOp(_ root: PathSegment, of shape: Shape) -> OpByOp? {
        guard shape.kind == .object, !shape.isMap else { return OpByOp(isForAll: true, causes: ["its payload is a map"]) }
        var compiler = FusedCompiler()
        let isWhole = compiler.goAllWays { compiler, script in
            var draft = FusedDraft(shape, layout: compiler.layout, tools: compiler.tools, script: script)
            if draft.isGivenUp { compiler.note("an object has more than 64 members, or is a map") }
            compiler.follow(root, &draft)
            return draft
        }
        if compiler.branches.count > mostWays { compiler.note("there are more than \(mostWays) ways through its steps") }
        return compiler.causes.isEmpty ? nil : OpByOp(isForAll: !isWhole, causes: compiler.causes)
    }

    /// What the events of a shape are at the end of each way through a path; nil where there are too many ways, or the ops have to say
    /// what becomes of some events.
    static func drafts(_ root: PathSegment, of shape: Shape) -> [FusedDraft]? {
        guard shape.kind == .object, !shape.isMap else { return nil }
        var compiler = FusedCompiler { _ in [] }
        var drafts: [FusedDraft] = []
        _ = compiler.goAllWays { compiler, script in
            var draft = FusedDraft(shape, layout: compiler.layout, tools: compiler.tools, script: script)
            compiler.follow(root, &draft)
            drafts.append(draft)
            return draft
        }
        return compiler.branches.count > mostWays || drafts.contains(where: \.isGivenUp) ? nil : drafts
    }

    private static let elements = "what is done to the elements of a list"

    private mutating func note(_ cause: String) {
        if !causes.contains(cause) { causes.append(cause) }
    }

    /// The program of ops that are done to each element of a list, or value of a map.
    static func compile(_ elements: FusedElements) -> FusedProgram? {
        var compiler = FusedCompiler()
        compiler.layout.slotCount = FusedProgram.elementSlot + 1
        let isWhole = compiler.goAllWays { compiler, script in
            var draft = FusedDraft(element: elements.shape, layout: compiler.layout, tools: compiler.tools, script: script)
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

    /// False where no way writes anything, or what is read can't be told apart.
    private mutating func goAllWays(_ go: (inout FusedCompiler, [Int]) -> FusedDraft) -> Bool {
        var next = 0
        while next < branches.count, next < Self.mostWays {
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
        FusedProgram(
            objects: layout.objects, slotCount: layout.slotCount, code: code, targets: targets, output: output, tools: tools, kinds: kinds)
    }

    private mutating func follow(_ segment: PathSegment, _ draft: inout FusedDraft) {
        for op in segment.ops where !draft.isOver {
            // A program knows a stream by one name.
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
        // An event that is refused costs what it costs.
        case .adoption, .blocked: draft.giveUp()
        }
    }

    private mutating func write(_ end: PathEnd, _ draft: inout FusedDraft) {
        draft.tools.ends.append(end)
        let index = draft.tools.ends.count - 1
        // What has to be checked has to be made.
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

    /// One event becomes several.
    private mutating func follow(_ fan: PathFan, _ draft: inout FusedDraft) {
        // What was done to elements was done once, however many parts take them.
        draft.settleElements { _ in true }
        if draft.isGivenUp { note(Self.elements) }
        var chosen: UInt64 = 0
        // The parts are made of the event as it was before the guards looked at it.
        draft.aside { draft in chosen = fan.choose(&draft, at: draft.root) }
        if chosen == 0 { return draft.giveUp() }
        for (index, part) in fan.parts.enumerated() where fan.makes(index, of: chosen) && !draft.isOver {
            draft.aside { draft in
                draft.begin(part.rule.take(from: draft.root, of: &draft))
                if !draft.isOver { follow(part.segment, &draft) }
            }
        }
    }

    /// Adds what a way does behind the first choices, which it has in common with one before.
    private mutating func add(_ draft: FusedDraft, behind known: Int) {
        var passed = 0
        for step in draft.way {
            if passed >= known {
                var instruction = step.instruction
                if step.isChoice {
                    let base = targets.count
                    instruction.c = Int32(base)
                    targets += [Int32](repeating: -1, count: draft.choices[passed].count)
                    targets[base] = Int32(code.count + 1)
                    let script = draft.choices[..<passed].map(\.outcome)
                    for outcome in 1 ..< max(draft.choices[passed].count, 1) {
                        branches.append(Branch(script: script + [outcome], target: base + outcome))
                    }
                }
                code.append(instruction)
            }
            if step.isChoice { passed += 1 }
        }
    }
}
