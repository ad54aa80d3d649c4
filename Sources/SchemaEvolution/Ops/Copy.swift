internal import Bytes
internal import EventModel
internal import JSONText

/// `copy {from, path, using}`: a copy of a member, optionally converted by a codec.
struct Copy: MemberOp {
    static let name = "copy"

    let from, path: JSONPointer
    let codec: (any Codec)?

    init(_ arguments: FileNode) throws(FileProblem) {
        try arguments.map("copy", allowing: ["from", "path", "using"])
        from = try arguments.required("from", of: "copy").pointer("from")
        path = try arguments.required("path", of: "copy").pointer("path")
        codec = try arguments.member("using").map { node throws(FileProblem) in try CodecRegistry.codec(node) }
        guard !path.hasPrefix(from) else {
            throw arguments.problem("copy can't write \(path), which is inside \(from)", rule: Rule.opArgument)
        }
    }

    var reads: [JSONPointer] { [from] }

    var isTotal: Bool { codec == nil }

    var summary: OpSummary { OpSummary(verb: "copy", object: from.description) }

    func effects(_ direction: Direction, in holder: JSONPointer) -> [OpEffect] {
        let (from, path) = (from.below(holder), path.below(holder))
        let form = codec.map { ", \($0.words(.up))" } ?? ""
        return direction == .up
            ? [OpEffect(.appears(path), "is added where \(from) is there: a copy of it\(form)")]
            : [OpEffect(.goes(path), "is left out: it was a copy of \(from)")]
    }

    func bind(_ site: inout BindingContext) -> (any BoundOp)? {
        guard var made = site.require(from) else { return nil }
        let (before, earlier) = (site.shape, site.opClass)
        let declared = site.declared(at: path)
        var bound: (any BoundCodec)?
        if let codec {
            guard let binding = codec.bind(made, to: declared?.kind, declared: declared, &site) else { return nil }
            (made, bound) = (binding.result, binding.codec)
            made.isNullable = site.shape.shape(at: from)?.isNullable ?? false
        }
        // Older versions do not see the copy, so its declared shape may be wider than that of the source.
        if let declared, ShapeDifference.compare(made, declared).allSatisfy({ $0.kind.isWider }) { made = declared }
        // The source remains, so the codec loses nothing; on the way down, only the copy is removed.
        site.opClass = earlier.union(.widen)
        let common = from.commonParents(with: path)
        let always = site.isAlwaysPresent(from, beyond: common)
        guard site.put(made, at: path, .derived(always: always), common: common),
            let place = MemberLocation(path, here: site.shape, there: before)
        else { return nil }
        return BoundCopy(from: from, place: place, codec: bound)
    }
}

private final class BoundCopy: StagedOp {
    let from: JSONPointer
    let place: MemberLocation
    let codec: (any BoundCodec)?

    init(from: JSONPointer, place: MemberLocation, codec: (any BoundCodec)?) { (self.from, self.place, self.codec) = (from, place, codec) }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        switch direction {
        case .up:
            let source = doc.value(at: from, from: object)
            let holder = place.holder(in: &doc, at: object, forValue: source != nil)
            guard let source, let holder else { return }
            if let made = try converted(source, &doc) {
                doc.set(place.name, of: holder, toValueOf: made)
            } else {
                let copied = doc.copy(source)
                doc.attach(copied, as: place.name, to: holder)
            }
        case .down:
            if let node = place.find(in: &doc, at: object), !isDerived(node, &doc, at: object) { doc.lose(1) }
            place.remove(from: &doc, at: object)
        }
    }

    /// The converted value; nil if there is no codec or if the source is null.
    private func converted<D: Document & ~Copyable>(_ source: D.Node, _ doc: inout D) throws(OpStop) -> D.Node? {
        guard let codec else { return nil }
        return try doc.convert(source, Conversion(codec: codec, direction: .up, pointer: from, counts: false))
    }

    /// Whether a value is what the way up would produce again from the source. If the codec can't convert the source, nothing would be
    /// produced.
    private func isDerived<D: Document & ~Copyable>(_ node: D.Node, _ doc: inout D, at object: D.Node) -> Bool {
        guard let source = doc.value(at: from, from: object) else { return false }
        do throws(OpStop) {
            let again = try converted(source, &doc) ?? source
            return doc.means(node, again)
        } catch { return false }
    }
}

extension ShapeDifference.Kind {
    var isWider: Bool {
        if case .wider = self { true } else { false }
    }
}
