internal import JSONText

/// Ops that are applied in sequence to each element of a list or each value of a map.
struct FusedElements {
    let shape: Shape
    var ops: [(op: any BoundOp, direction: Direction)]
}

extension SymbolicDocument {
    /// Records ops on elements, which are compiled at the end.
    mutating func each(_ node: Int, _ elements: ElementRun) {
        let steps = elements.ops.map { (op: $0, direction: elements.direction) }
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

    /// Emits the lists and maps whose elements have pending ops: those that are needed, and those on which an op may fail or lose
    /// something.
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

    /// Whether a value is part of one of the given values.
    func isWithin(_ nodes: [Int?], _ node: Int) -> Bool {
        var next: Int? = node
        while let at = next {
            if nodes.contains(at) { return true }
            next = self.nodes[at].parent
            // An element of a made list has no link to that list.
            if next == nil { return at != root }
        }
        return false
    }
}

extension ConstantPool {
    /// The program for the elements of a list, compiled once for each list of ops; nil if none can be compiled.
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
