internal import Bytes
internal import JSONText

/// A text in one member, or its parts in several: both directions of `split` and of `join`.
final class SeparatedText: Sendable {
    let whole: Place
    let parts: [Place]
    let separator: [UInt8]
    let isAtLast: Bool
    let refusesMissing: Bool

    init(whole: Place, parts: [Place], rule: SeparatorRule) {
        (self.whole, self.parts) = (whole, parts)
        (separator, isAtLast, refusesMissing) = (Array(rule.separator.utf8), rule.isAtLast, rule.refusesMissing)
    }

    func split(_ doc: inout Splice, at object: Splice.Node, _ run: inout OpRun) throws(OpStop) {
        guard let node = whole.find(in: &doc, at: object) else {
            whole.prune(in: &doc, at: object)
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
        let wanted = parts.count - 1
        let found = refusesMissing || isAtLast ? count(in: run.content.bytes) : wanted
        if refusesMissing, found < wanted {
            throw .failed(
                pointer: whole.pointer.description, expected: "a text with \(wanted) × \"\(String(decoding: separator, as: UTF8.self))\"",
                found: doc.words(node))
        }
        doc.detach(node)
        whole.prune(in: &doc, at: object)
        // Too many separators: the first ones count, or the last, and the rest belong to the part on the other side.
        var skipped = isAtLast ? max(found - wanted, 0) : 0
        var start: Int? = 0
        for (index, part) in parts.enumerated() {
            guard let first = start else {
                _ = part.holder(in: &doc, at: object, forValue: false)
                continue
            }
            var end = index < wanted ? next(in: run.content.bytes, from: first) : nil
            while skipped > 0, let passed = end {
                end = next(in: run.content.bytes, from: passed + separator.count)
                skipped -= 1
            }
            if let holder = part.holder(in: &doc, at: object, forValue: true) {
                doc.setString(part.name, of: holder, to: run.content.slice(first, (end ?? run.content.count) - first))
            }
            start = end.map { $0 + separator.count }
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
            if isPresent { run.content.append(separator) }
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

    /// How many separators there are, as far as that matters.
    private func count(in text: RawSpan) -> Int {
        var count = 0
        var offset = 0
        while isAtLast || count < parts.count - 1, let found = next(in: text, from: offset) {
            count += 1
            offset = found + separator.count
        }
        return count
    }

    /// Where the separator stands next.
    private func next(in text: RawSpan, from start: Int) -> Int? {
        let separator = separator
        let count = separator.count
        let first = separator[0]
        var offset = start
        while offset + count <= text.byteCount {
            if text.byte(at: offset) == first, count == 1 || text.slice(offset, count).equals(separator.lent) { return offset }
            offset += 1
        }
        return nil
    }
}
