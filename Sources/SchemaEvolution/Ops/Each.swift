internal import EventModel
internal import JSONText

/// `each {path, do}`: ops on every element of a list or every value of a map.
struct Each: MemberOp {
    static let name = "each"

    let path: JSONPointer
    let entries: [OpEntry]

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("each", allowing: ["path", "do"])
        path = try arguments.required("path", of: "each").pointer("path")
        entries = try OpRegistry.nested(try arguments.required("do", of: "each"))
    }

    var inner: [OpEntry] { entries }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let element = path.below(holder).appending("*")
        return (direction == .up ? entries : entries.reversed()).flatMap { $0.op.effects(direction, in: element) }
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        guard var holder = site.require(path) else { return nil }
        guard let element = holder.items ?? holder.additional else {
            return site.refuse(Rule.wrongKind, "each is for a list or a map, and \(path) is \(holder.noun)")
        }
        let label = site.label
        let declared = site.declared(at: path).flatMap { $0.items ?? $0.additional }
        var inner = site.nested(element, shapeTargets: [])
        var bound: [BoundPart] = []
        let moving = MovingOps(entries.map(\.op))
        for (index, entry) in entries.enumerated() {
            (inner.mark, inner.label) = (entry.mark, "\(label), \(entry.label)")
            let shapeTargets = declared.map { [ShapeTarget(declared: $0, ops: moving, from: index + 1)] } ?? []
            let here = inner.nested(inner.shape, shapeTargets: shapeTargets)
            var at = here
            if let op = entry.op.bind(&at) { bound += op.parts(losing: entry.op.ownLoss) }
            inner.shape = at.shape
            inner.absorb(at)
        }
        site.absorb(inner)
        if holder.kind == .array { holder.items = inner.shape } else { holder.additional = inner.shape }
        _ = site.shape.replace(at: path, with: holder)
        return BoundEach(path: path, parts: bound, holder: summary, isOfObjects: element.kind == .object)
    }
}

private final class BoundEach: StagedOp {
    let parts: [BoundPart]
    let holder: OpSummary
    let up, down: ElementRun

    init(path: JSONPointer, parts: [BoundPart], holder: OpSummary, isOfObjects: Bool) {
        (self.parts, self.holder) = (parts, holder)
        let ops = parts.map(\.op)
        up = ElementRun(ops: ops, direction: .up, path: path, isOfObjects: isOfObjects)
        down = ElementRun(ops: ops.reversed(), direction: .down, path: path, isOfObjects: isOfObjects)
    }

    var readsStream: Bool { parts.contains { $0.op.readsStream } }

    func parts(losing loss: OpLoss) -> [BoundPart] {
        parts.map { part in
            let op = BoundEach(path: up.path, parts: [part], holder: holder, isOfObjects: up.isOfObjects)
            return BoundPart(op: op, loss: part.loss.within(holder))
        }
    }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        let run = direction == .up ? up : down
        if let elements = doc.find(run.path, from: object) { try doc.each(elements, run) }
    }
}
