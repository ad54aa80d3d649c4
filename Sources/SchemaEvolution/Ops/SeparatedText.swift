internal import Bytes
internal import JSONText

/// Splits the text of one member into several, and joins them: both directions of `split` and of `join`.
final class SeparatedText: Sendable {
    let whole: Place
    let parts: [Place]
    let splitter: TextSplitter

    init(whole: Place, parts: [Place], rule: SeparatorRule) {
        (self.whole, self.parts) = (whole, parts)
        splitter = TextSplitter(rule)
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
        guard splitter.split(run.content, into: &run.slices) else {
            throw .failed(
                pointer: whole.pointer.description,
                expected: "a text with \(parts.count - 1) × \"\(String(decoding: splitter.separator, as: UTF8.self))\"",
                found: doc.words(node))
        }
        doc.detach(node)
        whole.prune(in: &doc, at: object, taken: true)
        for (index, part) in parts.enumerated() {
            let holder = part.holder(in: &doc, at: object, forValue: index < run.slices.count)
            guard index < run.slices.count, let holder else { continue }
            doc.setString(part.name, of: holder, to: run.content.slice(Int(run.slices[index].start), Int(run.slices[index].count)))
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
            if isPresent { run.content.append(splitter.separator) }
            doc.decode(node, into: &run.content)
            isPresent = true
        }
        for part in parts { _ = part.take(from: &doc, at: object) }
        guard let holder = whole.holder(in: &doc, at: object, forValue: isPresent), isPresent else { return }
        doc.setString(whole.name, of: holder, to: run.content.bytes)
    }

    /// Removes the parts beside a null, which the whole can't hold.
    private func dropParts(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun) {
        for part in parts.dropFirst() where part.take(from: &doc, at: object) != nil { run.counts.lost += 1 }
    }
}

extension TextSplitter {
    fileprivate func split(_ text: borrowing ByteBuffer, into slices: inout Slots<TextPart>) -> Bool { split(text.bytes, into: &slices) }
}
