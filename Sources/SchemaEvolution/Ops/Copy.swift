internal import Bytes
internal import EventModel
package import JSONText

/// `copy {from, path, using}`: a copy of a member, which a codec may convert.
package struct Copy: Op {
    static let name = "copy"

    package let from, path: JSONPointer
    let codec: (any Codec)?
    package var codecStatement: CodecStatement? { codec?.statement }

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("copy", allowing: ["from", "path", "using"])
        from = try arguments.required("from", of: "copy").pointer("from")
        path = try arguments.required("path", of: "copy").pointer("path")
        codec = try arguments.member("using").map { node throws(FileProblem) in try CodecRegistry.codec(node) }
        guard !path.hasPrefix(from) else {
            throw arguments.problem("copy can't write \(path), which lies in \(from)", rule: Rule.opArgument)
        }
    }

    var writes: [JSONPointer] { [path] }

    var summary: OpSummary { OpSummary(verb: "copy", object: from.description) }

    var statement: OpStatement { .copy(self) }

    func bind(_ site: inout OpSite) -> (any BoundOp)? {
        guard var made = site.require(from) else { return nil }
        let before = site.shape
        let declared = site.declared(at: path)
        var bound: (any BoundCodec)?
        if let codec {
            guard let binding = codec.bind(made, to: declared?.kind, declared: declared, &site) else { return nil }
            (made, bound) = (binding.result, binding.codec)
            made.isNullable = site.shape.shape(at: from)?.isNullable ?? false
        }
        // The declared shape may be wider than the source's, since older versions do not see the copy.
        if let declared, ShapeDifference.compare(made, declared).allSatisfy({ $0.kind.isWider }) { made = declared }
        // The source stays, so that the codec loses nothing: only the copy is gone on the way down.
        site.opClass = [.widen]
        let common = from.commonParents(with: path)
        let always = site.isAlwaysPresent(from, beyond: common)
        guard site.put(made, at: path, .derived(always: always), common: common),
            let place = Place(path, here: site.shape, there: before)
        else { return nil }
        return BoundCopy(from: from, place: place, codec: bound)
    }
}

private final class BoundCopy: BoundOp {
    let from: JSONPointer
    let place: Place
    let codec: (any BoundCodec)?

    init(from: JSONPointer, place: Place, codec: (any BoundCodec)?) { (self.from, self.place, self.codec) = (from, place, codec) }

    func up(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) throws(OpStop) {
        let source = doc.find(from, from: object)
        let holder = place.holder(in: &doc, at: object, forValue: source != nil)
        guard let source, let holder else { return }
        var isConverted = false
        if let codec {
            isConverted = try doc.convert(source, Conversion(codec: codec, direction: .up, pointer: from, counts: false), &run)
        }
        if isConverted {
            doc.set(place.name, of: holder, to: run.output.bytes)
        } else {
            doc.copy(source, as: place.name, to: holder)
        }
    }

    func down(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun, _ context: borrowing EventContext) {
        if let node = place.find(in: &doc, at: object), !isDerived(node, &doc, at: object, &run) { run.counts.lost += 1 }
        _ = place.take(from: &doc, at: object)
    }

    func fuse(_ draft: inout FusedDraft, _ direction: Direction) {
        switch direction {
        case .up:
            let source = draft.value(at: from, from: draft.root)
            let holder = place.holder(in: &draft, at: draft.root, forValue: source != nil)
            guard let source, let holder else { return }
            if let codec, let made = draft.convert(source, codec, .up, counts: false, makes: nil) {
                draft.set(place.name, of: holder, toValueOf: made)
            } else {
                let copied = draft.copy(source)
                draft.attach(copied, as: place.name, to: holder)
            }
        case .down:
            // The draft is given up on a source that the codec can't convert.
            if let node = place.find(in: &draft, at: draft.root) {
                let again = draft.value(at: from, from: draft.root).map { source in
                    codec.flatMap { draft.convert(source, $0, .up, counts: false, makes: nil) } ?? source
                }
                let isSame = again.map { draft.means(node, $0) } ?? false
                if !isSame { draft.lose() }
            }
            _ = draft.take(place)
        }
    }

    /// Whether the value is the copy that the way up would make again.
    private func isDerived(_ node: Splice.Node, _ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun) -> Bool {
        guard let source = doc.find(from, from: object) else { return false }
        var isConverted = false
        if let codec {
            // Of a source that the codec can't convert, the way up makes nothing.
            let conversion = Conversion(codec: codec, direction: .up, pointer: from, counts: false)
            do { isConverted = try doc.convert(source, conversion, &run) } catch { return false }
        }
        if !isConverted {
            run.output.removeAll()
            doc.write(source, into: &run.output)
        }
        return doc.means(node, run.output.bytes)
    }
}

extension Splice {
    /// Whether a value equals a JSON text, in whatever form both are written.
    func means(_ node: Node, _ text: RawSpan) -> Bool {
        let canonical: [UInt8]
        do { canonical = try Canonical.bytes(of: text) } catch { return false }
        return equals(node, canonical.lent)
    }
}

extension ShapeDifference.Kind {
    var isWider: Bool {
        if case .wider = self { true } else { false }
    }
}
