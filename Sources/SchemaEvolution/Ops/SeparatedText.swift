internal import Bytes
internal import JSONText

/// A text in one member, or its parts in several: both directions of `split` and of `join`.
final class SeparatedText: Sendable {
    let whole: Place
    let parts: [Place]
    let cutter: Cutter

    init(whole: Place, parts: [Place], rule: SeparatorRule) {
        (self.whole, self.parts) = (whole, parts)
        cutter = Cutter(rule)
    }

    func split(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun) throws(OpStop) {
        guard let node = whole.find(in: &doc, at: object) else {
            whole.prune(in: &doc, at: object, taken: false)
            for part in parts { _ = part.holder(in: &doc, at: object, forValue: false) }
            return
        }
        let kind = doc.kind(node)
        if case .null = kind {
            parts[0].put(whole.take(from: &doc, at: object), into: &doc, at: object)
            return
        }
        guard case .string = kind else {
            throw .failed(pointer: whole.pointer.description, expected: "a string", found: doc.words(node))
        }
        run.content.removeAll()
        doc.decode(node, into: &run.content)
        guard cutter.cut(run.content, into: &run.cuts) else {
            throw .failed(
                pointer: whole.pointer.description,
                expected: "a text with \(parts.count - 1) × \"\(String(decoding: cutter.separator, as: UTF8.self))\"",
                found: doc.words(node))
        }
        doc.detach(node)
        whole.prune(in: &doc, at: object, taken: true)
        for (index, part) in parts.enumerated() {
            let holder = part.holder(in: &doc, at: object, forValue: index < run.cuts.count)
            guard index < run.cuts.count, let holder else { continue }
            doc.setString(part.name, of: holder, to: run.content.slice(Int(run.cuts[index].start), Int(run.cuts[index].count)))
        }
    }

    func join(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun) throws(OpStop) {
        run.content.removeAll()
        var isPresent = false
        for index in parts.indices {
            guard let node = parts[index].find(in: &doc, at: object) else {
                guard index == 0 else { continue }
                for other in parts.dropFirst() {
                    guard let node = other.find(in: &doc, at: object) else { continue }
                    throw .failed(
                        pointer: parts[0].pointer.description, expected: "there beside \(other.pointer)", found: doc.words(node))
                }
                break
            }
            if index == 0, doc.kind(node) == .null {
                let null = parts[0].take(from: &doc, at: object)
                dropParts(&doc, at: object, &run)
                whole.put(null, into: &doc, at: object)
                return
            }
            guard doc.kind(node) == .string else {
                throw .failed(pointer: parts[index].pointer.description, expected: "a string", found: doc.words(node))
            }
            if isPresent { run.content.append(cutter.separator) }
            doc.decode(node, into: &run.content)
            isPresent = true
        }
        for part in parts { _ = part.take(from: &doc, at: object) }
        guard let holder = whole.holder(in: &doc, at: object, forValue: isPresent), isPresent else { return }
        doc.setString(whole.name, of: holder, to: run.content.bytes)
    }

    /// Parts beside a null have no place in the whole.
    private func dropParts(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun) {
        for part in parts.dropFirst() where part.take(from: &doc, at: object) != nil { run.counts.lost += 1 }
    }
}

extension Cutter {
    fileprivate func cut(_ text: borrowing ByteBuffer, into cuts: inout Slots<Cut>) -> Bool { cut(text.bytes, into: &cuts) }
}
