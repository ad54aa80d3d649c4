internal import EventModel
package import JSONText

/// `each {path, do}`: ops on every element of a list, or every value of a map.
package struct Each: Op {
    static let name = "each"

    package let path: JSONPointer
    package let entries: [OpEntry]

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("each", allowing: ["path", "do"])
        path = try arguments.required("path", of: "each").pointer("path")
        entries = try OpRegistry.nested(try arguments.required("do", of: "each"))
    }

    var writes: [JSONPointer] { [path] }

    var inner: [OpEntry] { entries }

    var summary: OpSummary { OpSummary(verb: "each", object: path.description) }

    var statement: OpStatement { .each(self) }

    func bind(_ site: inout OpSite) -> (any BoundOp)? {
        guard var holder = site.require(path) else { return nil }
        guard let element = holder.items ?? holder.additional else {
            site.note(Rule.wrongKind, "each is for a list or a map, and \(path) is \(holder.noun)")
            return nil
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

private final class BoundEach: BoundOp {
    let path: JSONPointer
    let parts: [BoundPart]
    let holder: OpSummary
    /// Whether the ops are for objects. Data from before versions existed may have other elements: these stay as they are, and the image
    /// then does not fit its shape.
    let isOfObjects: Bool

    init(path: JSONPointer, parts: [BoundPart], holder: OpSummary, isOfObjects: Bool) {
        (self.path, self.parts, self.holder, self.isOfObjects) = (path, parts, holder, isOfObjects)
    }

    var readsStream: Bool { parts.contains { $0.op.readsStream } }

    func parts(losing loss: OpLoss) -> [BoundPart] {
        parts.map { part in
            let op = BoundEach(path: path, parts: [part], holder: holder, isOfObjects: isOfObjects)
            return BoundPart(op: op, loss: part.loss.within(holder))
        }
    }

    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        guard let holder = doc.find(path, from: object) else { return }
        try forEach(of: holder, &doc) { node, doc throws(OpStop) in
            for part in parts { try part.op.up(&doc, at: node, &run, context) }
        }
    }

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        guard let holder = doc.find(path, from: object) else { return }
        try forEach(of: holder, &doc) { node, doc throws(OpStop) in
            for part in parts.reversed() { try part.op.down(&doc, at: node, &run, context) }
        }
    }

    private func forEach(
        of holder: Splice.Node, _ doc: inout Splice, _ body: (Splice.Node, inout Splice) throws(OpStop) -> Void
    ) throws(OpStop) {
        var index = 0
        var child = doc.firstChild(of: holder)
        while let node = child {
            child = doc.next(after: node)
            if takes(doc.kind(node)) {
                do { try body(node, &doc) } catch { throw located(error, node, index, &doc, holder) }
            }
            index += 1
        }
    }

    private func takes(_ kind: JSONKind) -> Bool { isOfObjects ? kind == .object : kind != .null }

    func fuse(_ draft: inout FusedDraft, _ direction: Direction) {
        guard let holder = draft.find(path) else { return }
        draft.each(holder, direction == .up ? parts.map(\.op) : parts.reversed().map(\.op), direction)
    }

    /// The failure with its pointer from the payload's root, instead of from the element.
    private func located(
        _ stop: OpStop, _ node: Splice.Node, _ index: Int, _ doc: inout Splice, _ holder: Splice.Node
    ) -> OpStop {
        guard case .failed(let pointer, let expected, let found, let byCodec) = stop else { return stop }
        let name = doc.kind(holder) == .array ? String(index) : doc.name(of: node)
        return .failed(pointer: path.appending(name).description + pointer, expected: expected, found: found, byCodec: byCodec)
    }
}
