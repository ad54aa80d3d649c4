internal import JSONText

/// Splits the text of one member into several members in one direction, and joins them in the other.
final class SeparatedText: StagedOp {
    let whole: MemberLocation
    let parts: [MemberLocation]
    let splitter: TextSplitter
    /// The direction in which the op splits.
    private let splits: Direction

    init(whole: MemberLocation, parts: [MemberLocation], rule: SeparatorRule, splits: Direction) {
        (self.whole, self.parts, self.splits) = (whole, parts, splits)
        splitter = TextSplitter(rule)
    }

    func change<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node, _ direction: Direction) throws(OpStop) {
        if direction == splits { try split(&doc, at: object) } else { try join(&doc, at: object) }
    }

    private func split<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) throws(OpStop) {
        guard let node = whole.find(in: &doc, at: object) else {
            whole.prune(in: &doc, at: object, taken: false)
            for part in parts { _ = part.holder(in: &doc, at: object, forValue: false) }
            return
        }
        switch doc.kind(node) {
        case .null:
            let null = whole.take(from: &doc, at: object)
            parts[0].put(null, into: &doc, at: object)
        case .string:
            let made = try doc.split(node, self)
            doc.detach(node)
            whole.prune(in: &doc, at: object, taken: true)
            for (index, part) in parts.enumerated() {
                let holder = part.holder(in: &doc, at: object, forValue: index < made.count)
                if index < made.count, let holder { doc.set(part.name, of: holder, toValueOf: made[index]) }
            }
        case .object, .array, .number, .true, .false:
            throw doc.refusal(at: whole.pointer, expected: "a string", found: .node(node))
        }
    }

    private func join<D: Document & ~Copyable>(_ doc: inout D, at object: D.Node) throws(OpStop) {
        var texts: [TextPiece<D.Node>] = []
        for (index, part) in parts.enumerated() {
            guard let node = part.find(in: &doc, at: object) else {
                guard index == 0 else { continue }
                for other in parts.dropFirst() {
                    guard let node = other.find(in: &doc, at: object) else { continue }
                    throw doc.refusal(at: part.pointer, expected: "there beside \(other.pointer)", found: .node(node))
                }
                break
            }
            let kind = doc.kind(node)
            if index == 0, kind == .null {
                let null = part.take(from: &doc, at: object)
                // The joined member is null and can't hold the other parts.
                for other in parts.dropFirst() where other.take(from: &doc, at: object) != nil { doc.lose(1) }
                whole.put(null, into: &doc, at: object)
                return
            }
            guard kind == .string else { throw doc.refusal(at: part.pointer, expected: "a string", found: .node(node)) }
            if !texts.isEmpty { texts.append(.literal(splitter.separator)) }
            texts.append(.text(node))
        }
        let made = texts.isEmpty ? nil : doc.concatenate(texts)
        for part in parts { _ = part.take(from: &doc, at: object) }
        guard let holder = whole.holder(in: &doc, at: object, forValue: made != nil), let made else { return }
        doc.set(whole.name, of: holder, toValueOf: made)
    }
}
