internal import EventModel
internal import JSONText

/// `when {guard, do, else}`: ops that keep the shape, on the events that a guard chooses.
struct When: Op {
    static let name = "when"

    let test: Guard
    let entries, otherwise: [OpEntry]

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("when", allowing: Guard.members + ["do", "else"])
        test = try Guard(arguments)
        entries = try OpRegistry.nested(try arguments.required("do", of: "when"))
        otherwise = try arguments.member("else").map { node throws(FileProblem) in try OpRegistry.nested(node) } ?? []
    }

    var writes: [JSONPointer] { (entries + otherwise).flatMap(\.op.writes) }

    var loss: String? { (entries + otherwise).compactMap(\.op.loss).first }

    var blocks: Bool { (entries + otherwise).contains { $0.op.blocks } }

    var summary: OpSummary { OpSummary(verb: "when") }

    func bind(_ site: inout OpSite) -> (any BoundOp)? {
        switch test.subject {
        case .payload(let pointer):
            guard site.require(pointer) != nil else { return nil }
            if let written = writes.first(where: { $0.hasPrefix(pointer) || pointer.hasPrefix($0) }) {
                site.note(
                    Rule.noMember, "the guard reads \(pointer), and the ops write \(written): the way back could not tell",
                    fix: "guard something that the ops leave alone")
                return nil
            }
        case .metadata: site.note(Rule.undecided, .note, "which events have such metadata is known from the data alone")
        case .time: break
        }
        let ups = branch(entries, &site)
        let others = branch(otherwise, &site)
        return BoundWhen(test: test, ops: ups, otherwise: others)
    }

    private func branch(_ entries: [OpEntry], _ site: inout OpSite) -> [any BoundOp] {
        let label = site.label
        var inner = site.nested(site.shape, destinies: [Destiny(declared: site.shape, ops: [])])
        inner.stream = site.stream
        var bound: [any BoundOp] = []
        for entry in entries {
            (inner.mark, inner.label) = (entry.mark, "\(label), \(entry.label)")
            if let op = entry.op.bind(&inner) { bound.append(op) }
        }
        for difference in ShapeDifference.compare(inner.shape, site.shape) {
            if case .narrower = difference.kind {
                inner.isUnproved = true
                inner.opClass.insert(.partial)
            } else if !difference.kind.isWider {
                inner.note(
                    Rule.wrongKind, "ops under a guard keep the shape, and \(difference.pointer) would not: \(difference.words)",
                    fix: "dispatch by the member instead: rename-event: {from: …, by: …, to: {…}}")
            }
        }
        site.absorb(inner)
        return bound
    }
}

private final class BoundWhen: BoundOp {
    let test: Guard
    let ops, otherwise: [any BoundOp]

    init(test: Guard, ops: [any BoundOp], otherwise: [any BoundOp]) { (self.test, self.ops, self.otherwise) = (test, ops, otherwise) }

    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        let chosen = test.holds(&doc, at: object, &run, context) ? ops : otherwise
        for op in chosen { try op.up(&doc, at: object, &run, context) }
    }

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        let chosen = test.holds(&doc, at: object, &run, context) ? ops : otherwise
        for op in chosen.reversed() { try op.down(&doc, at: object, &run, context) }
    }
}
