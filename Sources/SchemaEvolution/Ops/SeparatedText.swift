internal import Bytes
internal import JSONText

/// A part of a text.
struct Cut: BitwiseCopyable {
    let start, count: Int32
}

/// A text in one member, or its parts in several: both directions of `split` and of `join`.
final class SeparatedText: Sendable {
    let whole: Place
    let parts: [Place]
    let rule: SeparatorRule
    let separator: [UInt8]
    let isAtLast: Bool
    let refusesMissing: Bool

    init(whole: Place, parts: [Place], rule: SeparatorRule) {
        (self.whole, self.parts, self.rule) = (whole, parts, rule)
        (separator, isAtLast, refusesMissing) = (Array(rule.separator.utf8), rule.isAtLast, rule.refusesMissing)
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
        guard cut(run.content, into: &run.cuts) else {
            throw .failed(
                pointer: whole.pointer.description,
                expected: "a text with \(parts.count - 1) × \"\(String(decoding: separator, as: UTF8.self))\"", found: doc.words(node))
        }
        doc.detach(node)
        whole.prune(in: &doc, at: object, taken: true)
        for (index, part) in parts.enumerated() {
            let holder = part.holder(in: &doc, at: object, forValue: index < run.cuts.count)
            guard index < run.cuts.count, let holder else { continue }
            doc.setString(part.name, of: holder, to: run.content.slice(Int(run.cuts[index].start), Int(run.cuts[index].count)))
        }
    }

    private func cut(_ text: borrowing ByteBuffer, into cuts: inout Slots<Cut>) -> Bool { cut(text.bytes, into: &cuts) }

    /// Finds the parts of a text; false where there are too few and that is refused.
    func cut(_ text: RawSpan, into cuts: inout Slots<Cut>) -> Bool {
        cuts.removeAll()
        let wanted = parts.count - 1
        let found = refusesMissing || isAtLast ? count(in: text) : wanted
        if refusesMissing, found < wanted { return false }
        // Too many separators: the first ones count, or the last, and the rest belong to the part on the other side.
        var skipped = isAtLast ? max(found - wanted, 0) : 0
        var start = 0
        while true {
            var end = cuts.count < wanted ? next(in: text, from: start) : nil
            while skipped > 0, let passed = end {
                end = next(in: text, from: passed + separator.count)
                skipped -= 1
            }
            cuts.append(Cut(start: Int32(truncatingIfNeeded: start), count: Int32(truncatingIfNeeded: (end ?? text.byteCount) - start)))
            guard let end else { return true }
            start = end + separator.count
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
