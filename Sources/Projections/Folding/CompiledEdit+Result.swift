internal import Bytes
internal import JSONText

extension DeclarativeFold.CompiledEdit {
    /// What a member becomes, as a piece of the scratch; nil where it stays as it is.
    ///
    /// - Parameter isPresent: whether the member is there; its text is then in `workspace.spare`.
    /// - Parameter value: the source's value, a piece of `workspace.scratch`.
    func result(isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice? {
        switch kind {
        case .unset: nil
        case .set: value
        case .initial: isPresent ? nil : value
        case .add: try sum(isPresent, value, &workspace)
        case .count: try increment(isPresent, &workspace)
        case .max, .min: try extreme(isPresent, value, &workspace)
        case .append: try appended(isPresent, value, &workspace)
        case .include, .exclude: try changedSet(isPresent, value, &workspace)
        }
    }

    private func sum(_ isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice {
        let added = workspace.scratch.slice(value.start, value.size).plainInteger
        let old = isPresent ? workspace.spare.bytes.plainInteger : 0
        let start = workspace.scratch.count
        if let added, let old {
            // Both have at most 18 digits, so their sum is an integer of this machine.
            workspace.scratch.append(integer: old + added)
        } else {
            let new = try Self.number(workspace.scratch.slice(value.start, value.size))
            let sum = isPresent ? try Self.number(workspace.spare.bytes) + new : new
            sum.append(to: &workspace.scratch)
        }
        return ByteSlice(start, workspace.scratch.count - start)
    }

    private func increment(_ isPresent: Bool, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice {
        let start = workspace.scratch.count
        if !isPresent {
            workspace.scratch.append(integer: 1)
        } else if let old = workspace.spare.bytes.plainInteger {
            workspace.scratch.append(integer: old + 1)
        } else {
            (try Self.number(workspace.spare.bytes) + DecimalNumber(1)).append(to: &workspace.scratch)
        }
        return ByteSlice(start, workspace.scratch.count - start)
    }

    private static func number(_ text: RawSpan) throws(FoldError) -> DecimalNumber {
        guard let number = DecimalNumber(json: text) else {
            let words = ValueOrder.Kind.words(text)
            throw FoldError(words == "a number" ? "the number is too large" : "should be a number, found \(words)")
        }
        return number
    }

    private func extreme(_ isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice? {
        // The first one is compared with itself, so that a value of the wrong kind never comes in.
        let order =
            isPresent
            ? try order.compare(workspace.spare.bytes, workspace.scratch.slice(value.start, value.size))
            : try order.compare(workspace.scratch.slice(value.start, value.size), workspace.scratch.slice(value.start, value.size))
        if !isPresent { return value }
        return (kind == .max ? order < 0 : order > 0) ? value : nil
    }

    private func appended(_ isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice {
        workspace.elements.removeAll(keepingCapacity: true)
        try listElements(isPresent, &workspace)
        let start = workspace.scratch.count
        workspace.scratch.append(UInt8(ascii: "["))
        for slice in workspace.elements.suffix(keep.map { $0 - 1 } ?? .max) {
            workspace.scratch.append(slice, of: workspace.spare)
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

    /// A list that is kept as a set: in canonical form, numbers first and in their order, then the rest by their bytes.
    private func changedSet(_ isPresent: Bool, _ value: ByteSlice, _ workspace: inout FoldWorkspace) throws(FoldError) -> ByteSlice? {
        let element = try Self.element(workspace.scratch.slice(value.start, value.size))
        try listElements(isPresent, &workspace)
        var elements: [[UInt8]] = []
        for slice in workspace.elements { elements.append([UInt8](copying: workspace.spare.slice(slice.start, slice.size))) }
        let place = elements.firstIndex { !Self.precedes($0, element) } ?? elements.count
        let isThere = place < elements.count && elements[place] == element
        if isThere == (kind == .include) { return nil }
        if isThere { elements.remove(at: place) } else { elements.insert(element, at: place) }
        let start = workspace.scratch.count
        workspace.scratch.append(UInt8(ascii: "["))
        for (index, element) in elements.enumerated() {
            if index > 0 { workspace.scratch.append(UInt8(ascii: ",")) }
            workspace.scratch.append(element)
        }
        workspace.scratch.append(UInt8(ascii: "]"))
        return ByteSlice(start, workspace.scratch.count - start)
    }

    private static func element(_ text: RawSpan) throws(FoldError) -> [UInt8] {
        let words = ValueOrder.Kind.words(text)
        if ["an object", "a list", "null"].contains(words) { throw FoldError("should be a text, a number or a flag, found \(words)") }
        do { return try Canonical.bytes(of: text) } catch { throw FoldError("malformed: \(error.reason)") }
    }

    private static func precedes(_ a: [UInt8], _ b: [UInt8]) -> Bool {
        switch (DecimalNumber(json: a.lent), DecimalNumber(json: b.lent)) {
        case (let left?, let right?): left < right
        case (_?, nil): true
        case (nil, _?): false
        case (nil, nil): a.lexicographicallyPrecedes(b)
        }
    }
}
