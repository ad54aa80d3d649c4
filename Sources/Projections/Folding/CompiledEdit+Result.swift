internal import Bytes
internal import JSONText

extension DeclarativeFold.CompiledEdit {
    /// The new value of a member, as a slice of the scratch buffer; nil if it is unchanged.
    ///
    /// - Parameters:
    ///   - isPresent: whether the member is present; its text is then in `workspace.spare`.
    ///   - value: the source's value, a slice of `workspace.scratch`.
    func result(isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice? {
        switch kind {
        case .unset: nil
        case .set: value
        case .initial: isPresent ? nil : value
        case .add: try sum(isPresent, value, &workspace)
        case .count: try sum(isPresent, nil, &workspace)
        case .max, .min: try extreme(isPresent, value, &workspace)
        case .append: try appended(isPresent, value, &workspace)
        case .include, .exclude: try changedSet(isPresent, value, &workspace)
        }
    }

    /// - Parameter value: what is added; nil for 1.
    private func sum(_ isPresent: Bool, _ value: ByteSlice?, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice {
        let added: Int? = if let value { workspace.scratch.slice(value.start, value.size).plainInteger } else { 1 }
        let old = isPresent ? workspace.spare.bytes.plainInteger : 0
        let start = workspace.scratch.count
        if let added, let old {
            // Both have at most 18 digits, so their sum fits an `Int`.
            workspace.scratch.append(integer: old + added)
        } else {
            let new = if let value { try Self.number(workspace.scratch.slice(value.start, value.size)) } else { DecimalNumber(1) }
            let sum = isPresent ? try Self.number(workspace.spare.bytes) + new : new
            sum.append(to: &workspace.scratch)
        }
        return ByteSlice(start, workspace.scratch.count - start)
    }

    private static func number(_ text: RawSpan) throws(FoldError) -> DecimalNumber {
        guard let number = DecimalNumber(json: text) else {
            let words = ValueOrder.Kind.words(text)
            throw FoldError("should be a number" + (words == "a number" ? " with \(DecimalNumber.exponents)" : ", found \(words)"))
        }
        return number
    }

    private func extreme(_ isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice? {
        // The first value is compared with itself, so that a value of the wrong kind is never accepted.
        let order =
            isPresent
            ? try order.compare(workspace.spare.bytes, workspace.scratch.slice(value.start, value.size))
            : try order.compare(workspace.scratch.slice(value.start, value.size), workspace.scratch.slice(value.start, value.size))
        if !isPresent { return value }
        return (kind == .max ? order < 0 : order > 0) ? value : nil
    }

    /// The list with one more element, of which only the last `keep` are kept.
    private func appended(_ isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice {
        // Lists in rows contain no spaces, so the kept elements are contiguous.
        var kept = 1 ..< 1
        if isPresent {
            // A damaged row may contain a truncated list.
            let end = workspace.spare.count - 1
            guard end > 0, workspace.spare.bytes.byte(at: 0) == UInt8(ascii: "["), workspace.spare.bytes.byte(at: end) == UInt8(ascii: "]")
            else {
                throw FoldError("should be a list, found \(ValueOrder.Kind.words(workspace.spare.bytes))")
            }
            kept = 1 ..< end
            if let keep {
                try listElements(isPresent, &workspace)
                let rest = workspace.elements.suffix(keep - 1)
                kept = (rest.first?.start ?? kept.upperBound) ..< kept.upperBound
            }
        }
        let start = workspace.scratch.count
        workspace.scratch.append(UInt8(ascii: "["))
        if !kept.isEmpty {
            workspace.scratch.append(ByteSlice(kept.lowerBound, kept.count), of: workspace.spare)
            workspace.scratch.append(UInt8(ascii: ","))
        }
        workspace.scratch.append(copyOf: value.start, value.size)
        workspace.scratch.append(UInt8(ascii: "]"))
        return ByteSlice(start, workspace.scratch.count - start)
    }

    private func listElements(_ isPresent: Bool, _ workspace: inout FoldWorkspace) throws(FoldError) {
        workspace.elements.removeAll(keepingCapacity: true)
        guard isPresent else { return }
        guard findElements(of: workspace.spare, into: &workspace.elements) else {
            throw FoldError("should be a list, found \(ValueOrder.Kind.words(workspace.spare.bytes))")
        }
    }

    /// Changes a list that is kept as a set: elements in canonical form, numbers first in numeric order, then the rest in bytewise order.
    private func changedSet(_ isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice? {
        let element = try Self.element(workspace.scratch.slice(value.start, value.size))
        try listElements(isPresent, &workspace)
        let elements = workspace.elements
        let place = elements.firstIndex { !Self.precedes(workspace.spare.slice($0.start, $0.size), element.lent) } ?? elements.count
        let isThere = place < elements.count && workspace.spare.slice(elements[place].start, elements[place].size).equals(element.lent)
        if isThere == (kind == .include) { return nil }
        let start = workspace.scratch.count
        workspace.scratch.append(UInt8(ascii: "["))
        func separate() { if workspace.scratch.count > start + 1 { workspace.scratch.append(UInt8(ascii: ",")) } }
        func keep(_ range: Range<Int>) {
            guard let first = range.first, let last = range.last else { return }
            separate()
            let end = elements[last].start + elements[last].size
            workspace.scratch.append(ByteSlice(elements[first].start, end - elements[first].start), of: workspace.spare)
        }
        keep(0 ..< place)
        if !isThere {
            separate()
            workspace.scratch.append(element)
        }
        keep((isThere ? place + 1 : place) ..< elements.count)
        workspace.scratch.append(UInt8(ascii: "]"))
        return ByteSlice(start, workspace.scratch.count - start)
    }

    private static func element(_ text: RawSpan) throws(FoldError) -> [UInt8] {
        let words = ValueOrder.Kind.words(text)
        if ["an object", "a list", "null"].contains(words) { throw FoldError("should be a text, a number or a flag, found \(words)") }
        let canonical: [UInt8]
        do { canonical = try Canonical.bytes(of: text) } catch { throw FoldError("malformed: \(error.reason)") }
        // The list holds canonical numbers, and one that can't be compared has no place in their order.
        if isNumber(canonical.lent) { _ = try number(canonical.lent) }
        return canonical
    }

    private static func precedes(_ a: RawSpan, _ b: RawSpan) -> Bool {
        if !isNumber(a), !isNumber(b) { return a.compare(b) < 0 }
        if let left = a.plainInteger, let right = b.plainInteger { return left < right }
        switch (DecimalNumber(json: a), DecimalNumber(json: b)) {
        case (let left?, let right?): return left < right
        case (_?, nil): return true
        case (nil, _?): return false
        case (nil, nil): return a.compare(b) < 0
        }
    }

    private static func isNumber(_ json: RawSpan) -> Bool { JSONKind(firstByte: json.peek(at: 0)) == .number }
}
