internal import JSONText

/// Goes all the ways through a path that the events of a shape can take, and makes one program of them.
struct FusedCompiler {
    private var code: [FusedInstruction] = []
    private var targets: [Int32] = []
    private var output = FusedOutput()
    private var layout = FusedDraft.Layout()
    private var tools = FusedTools()
    private var writes = false
    /// What of an image of a type is read; nil where all of it is.
    private let reading: ((String) -> [JSONPointer]?)?
    /// Whether a value that is read can't be told apart.
    private var isBlurred = false

    /// More ways than this are not worth their room: such paths stay with their ops.
    private static let mostWays = 256

    private init(_ reading: ((String) -> [JSONPointer]?)?) { self.reading = reading }

    /// The program of a path; nil where no event would get through it, or not all that is read can be told apart.
    static func compile(_ root: PathSegment, of shape: Shape, reading: ((String) -> [JSONPointer]?)? = nil) -> FusedProgram? {
        guard shape.kind == .object, !shape.isMap else { return nil }
        var compiler = FusedCompiler(reading)
        var script: [Int] = []
        /// Where the targets of each choice on the way stand.
        var bases: [Int] = []
        for _ in 0 ..< mostWays {
            let draft = compiler.go(root, shape, script)
            if compiler.isBlurred { return nil }
            compiler.add(draft, from: script.count, &bases)
            var choices = draft.choices
            while let last = choices.last, last.outcome + 1 == last.count { choices.removeLast() }
            guard let last = choices.popLast() else {
                return compiler.writes ? compiler.program : nil
            }
            script = choices.map(\.outcome) + [last.outcome + 1]
            bases.removeLast(bases.count - script.count)
            compiler.targets[bases[script.count - 1] + last.outcome + 1] = Int32(compiler.code.count)
        }
        return nil
    }

    private var program: FusedProgram {
        FusedProgram(
            objects: layout.objects, slotCount: layout.slotCount, code: code, targets: targets, output: output, tools: tools)
    }

    private mutating func go(_ root: PathSegment, _ shape: Shape, _ script: [Int]) -> FusedDraft {
        var draft = FusedDraft(shape, layout: layout, tools: tools, script: script)
        follow(root, &draft)
        (layout, tools) = (draft.layout, draft.tools)
        return draft
    }

    private mutating func follow(_ segment: PathSegment, _ draft: inout FusedDraft) {
        for op in segment.ops where !draft.isOver { op.op.fuse(&draft, op.direction) }
        guard !draft.isOver else { return }
        switch segment.next {
        case .end(let end):
            draft.tools.ends.append(end)
            // What has to be checked has to be made.
            if !end.isUnproved, let pointers = reading?(end.type) {
                let nodes = pointers.map { draft.find($0) }
                isBlurred = draft.isOver
                draft.end(.read, output.write(values: nodes, of: draft), nodes.count, draft.tools.ends.count - 1)
            } else {
                let pieces = output.write(FusedDraft.root, of: draft)
                draft.end(.write, pieces.lowerBound, pieces.count, draft.tools.ends.count - 1)
            }
            writes = true
        case .dispatch(let dispatch):
            guard let node = draft.value(at: dispatch.by, from: FusedDraft.root) else { return draft.giveUp() }
            let index = draft.select(node, among: dispatch.branches.map(\.value))
            if !draft.isOver { follow(dispatch.branches[index].segment, &draft) }
        case .hidden: draft.end(.hide)
        case .dropped: draft.end(.drop)
        default: draft.giveUp()
        }
    }

    /// Adds what a way does behind the first `known` choices, which it has in common with one before.
    private mutating func add(_ draft: FusedDraft, from known: Int, _ bases: inout [Int]) {
        var passed = 0
        for step in draft.way {
            if passed >= known {
                var instruction = step.instruction
                if step.isChoice {
                    let base = targets.count
                    instruction.c = Int32(base)
                    targets += [Int32](repeating: -1, count: draft.choices[passed].count)
                    targets[base] = Int32(code.count + 1)
                    bases.append(base)
                }
                code.append(instruction)
            }
            if step.isChoice { passed += 1 }
        }
    }
}
