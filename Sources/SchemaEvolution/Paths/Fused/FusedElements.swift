internal import EventModel
internal import JSONText

/// Ops that are done to each element of a list, or each value of a map, one after the other.
struct FusedElements {
    let shape: Shape
    var ops: [PathOp]
}

extension FusedDraft {
    /// What they are done to is looked at once, at the end.
    mutating func each(_ node: Int, _ elements: ElementRun) {
        let steps = elements.ops.map { PathOp(on: $0, elements.direction) }
        switch nodes[node].value {
        case .each(let slot, var before):
            before.ops += steps
            nodes[node].value = .each(slot, before)
        case .input(let slot):
            guard let shape = nodes[node].shape, let element = shape.items ?? shape.additional else { return giveUp() }
            if shape.kind != .array, !shape.isMap { return giveUp() }
            nodes[node].value = .each(slot, FusedElements(shape: element, ops: steps))
        case .list(let element):
            if kind(element) == .null { return }
            at(element) { draft in for step in steps where !draft.isOver { step.op.fuse(&draft, step.direction) } }
        case .constant(let json): if json != Array("[]".utf8), json != Array("{}".utf8), json != Array("null".utf8) { giveUp() }
        case .text, .made, .object: giveUp()
        }
    }

    /// Makes the lists and maps whose elements ops are done to: those that are needed, and those where an op may refuse
    /// something or lose it.
    mutating func settleElements(_ isNeeded: (Int) -> Bool) {
        for node in nodes.indices where !isOver {
            guard case .each(let slot, let elements) = nodes[node].value else { continue }
            guard let program = tools.program(of: elements) else { return giveUp() }
            if !isNeeded(node), tools.programs[program].isSilent { continue }
            let made = makeSlots()
            emit(.each, slot, made, program)
            nodes[node].value = .made(made, nil)
        }
    }

    /// Whether a value is part of one of others.
    func isWithin(_ nodes: [Int?], _ node: Int) -> Bool {
        var next: Int? = node
        while let at = next {
            if nodes.contains(at) { return true }
            next = self.nodes[at].parent
            // What stands in a list that was made knows nothing of it.
            if next == nil { return at != root }
        }
        return false
    }
}

extension FusedTools {
    /// The program for the elements of a list, compiled once for the same ops; nil where it could do none.
    mutating func program(of elements: FusedElements) -> Int? {
        let key = elements.ops.map { ElementKey(op: ObjectIdentifier($0.op), isUp: $0.direction == .up) }
        if let known = elementPrograms[key] { return known }
        let program = FusedCompiler.compile(elements)
        if let program { programs.append(program) }
        let index = program == nil ? nil : programs.count - 1
        elementPrograms.updateValue(index, forKey: key)
        return index
    }

    struct ElementKey: Hashable {
        let op: ObjectIdentifier
        let isUp: Bool
    }
}

extension PathOp {
    /// An op within another, which is bound to no step of its own.
    fileprivate init(on op: any BoundOp, _ direction: Direction) {
        let loss = LossDeclaration(version: SchemaVersion(0), type: "", op: "", because: "")
        self.init(
            op: op, direction: direction, step: SchemaVersion(0), label: "", summary: nil, mark: nil, blocks: false,
            loss: loss)
    }
}
