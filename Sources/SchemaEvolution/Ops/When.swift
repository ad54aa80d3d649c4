internal import EventModel
internal import JSONText

/// `when {guard, do, else}`: ops that keep the shape, applied to the events that a guard selects.
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

    var reads: [JSONPointer] { test.reads }

    var inner: [OpEntry] { entries + otherwise }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        func guarded(_ entries: [OpEntry], _ condition: String) -> [OpEffect] {
            (direction == .up ? entries : entries.reversed()).flatMap { $0.op.effects(direction, in: holder) }.map { effect in
                OpEffect(effect.kind, "\(condition) \(effect.words)")
            }
        }
        return guarded(entries, "where \(test.words(in: holder))") + guarded(otherwise, "elsewhere")
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        switch test.source {
        case .pointer(let pointer):
            guard let tested = site.require(pointer) else { return nil }
            site.check(test, in: tested)
            if let written = writes.first(where: { $0.hasPrefix(pointer) || pointer.hasPrefix($0) }) {
                return site.refuse(
                    Rule.noMember,
                    "the guard reads \(pointer), and the ops write \(written): on the way down the guard could decide differently",
                    fix: "guard something that the ops leave alone")
            }
        case .metadata: site.note(Rule.undecided, .note, "which events have such metadata is known from the data alone")
        default: break
        }
        let ups = branch(entries, &site)
        let others = branch(otherwise, &site)
        return BoundWhen(test: test, parts: ups, otherwise: others, holder: summary)
    }

    private func branch(_ entries: [OpEntry], _ site: inout BindingContext) -> [BoundPart] {
        let label = site.label
        var inner = site.nested(site.shape, shapeTargets: [ShapeTarget(declared: site.shape, ops: [])])
        // A guard may keep out the values that an op refuses.
        (inner.stream, inner.mayChange) = (site.stream, false)
        var bound: [BoundPart] = []
        for entry in entries {
            (inner.mark, inner.label) = (entry.mark, "\(label), \(entry.label)")
            if let op = entry.op.bind(&inner) { bound += op.parts(losing: entry.op.ownLoss) }
        }
        for difference in ShapeDifference.compare(inner.shape, site.shape) {
            if case .narrower = difference.kind {
                inner.mayFail()
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

extension Guard {
    /// The member of the payload that the guard tests; none if it tests something else.
    var reads: [JSONPointer] { if case .pointer(let pointer) = source { [pointer] } else { [] } }
}

private final class BoundWhen: StagedOp {
    let test: Guard
    let parts, otherwise: [BoundPart]
    let holder: OpSummary

    init(test: Guard, parts: [BoundPart], otherwise: [BoundPart], holder: OpSummary) {
        (self.test, self.parts, self.otherwise, self.holder) = (test, parts, otherwise, holder)
    }

    var readsStream: Bool { (parts + otherwise).contains { $0.op.readsStream } }

    func parts(losing loss: OpLoss) -> [BoundPart] {
        func alone(_ part: BoundPart, _ parts: [BoundPart], _ otherwise: [BoundPart]) -> BoundPart {
            let op = BoundWhen(test: test, parts: parts, otherwise: otherwise, holder: holder)
            return BoundPart(op: op, loss: part.loss.within(holder))
        }
        return parts.map { alone($0, [$0], []) } + otherwise.map { alone($0, [], [$0]) }
    }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        let chosen = test.holds(&doc, at: object) ? parts : otherwise
        for part in direction == .up ? chosen : chosen.reversed() { try doc.run(part.op, at: object, direction) }
    }
}
