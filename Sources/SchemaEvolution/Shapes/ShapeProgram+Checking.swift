internal import Bytes
internal import EventModel
internal import JSONText

extension ShapeProgram {
    /// Checks a text that `JSONScanner.validate` accepted before.
    func check(_ text: RawSpan) throws(ShapeError) {
        var offset = 0
        try check(0, text, &offset)
    }

    /// Whether the value that begins at `start`, in text that `JSONScanner.validate` accepts, fits a node.
    func accepts(_ text: RawSpan, at start: Int, _ node: Int) -> Bool {
        var offset = start
        do { try check(node, text, &offset) } catch { return false }
        return true
    }

    /// Checks the value at `offset`, and moves past it.
    private func check(_ index: Int, _ text: RawSpan, _ offset: inout Int) throws(ShapeError) {
        let node = nodes[index]
        offset = text.afterSpace(offset)
        let start = offset
        let first = text.peek(offset)
        if first == UInt8(ascii: "n"), node.isNullable || node.kind == .null || node.kind == .any {
            offset = text.after(offset, 4)
        } else {
            switch node.kind {
            case .any: offset = text.afterValue(offset)
            case .object where first == UInt8(ascii: "{"):
                if node.inner >= 0 {
                    try checkValues(node, text, &offset)
                } else {
                    try checkMembers(node, text, &offset)
                }
            case .array where first == UInt8(ascii: "["): try checkElements(node, text, &offset)
            case .string where first == UInt8(ascii: "\""): try checkString(node, text, &offset)
            case .integer where isNumber(first), .number where isNumber(first): try checkNumber(node, text, &offset)
            case .boolean where first == UInt8(ascii: "t"): offset = text.after(offset, 4)
            case .boolean where first == UInt8(ascii: "f"): offset = text.after(offset, 5)
            default: throw failure(node, node.noun, text, start)
            }
        }
        if let range = node.choices { try checkChoice(node, range, text, start, offset) }
    }

    private func isNumber(_ byte: UInt8) -> Bool { byte == UInt8(ascii: "-") || (48 ... 57).contains(byte) }

    // MARK: Objects and arrays

    private func checkMembers(_ node: Node, _ text: RawSpan, _ offset: inout Int) throws(ShapeError) {
        let start = offset
        var (next, required) = (node.members.lowerBound, 0)
        offset = text.afterSpace(offset + 1)
        while text.peek(offset) == UInt8(ascii: "\"") {
            let name = offset
            offset = text.afterString(offset)
            let end = offset
            offset = text.afterSpace(offset) + 1
            guard let found = member(text, name, end, of: node, from: next) else {
                throw unknown(node, text, name, end, value: text.afterSpace(offset))
            }
            next = found + 1
            if members[found].isRequired { required += 1 }
            do throws(ShapeError) { try check(members[found].node, text, &offset) } catch { throw error.inside(self.name(found)) }
            offset = text.afterComma(offset)
        }
        offset = text.after(offset, 1)
        if required < node.requiredCount { throw missing(node, text, start) }
    }

    /// The index of a member by the name between two quotes; the one expected next is tried first.
    private func member(_ text: RawSpan, _ start: Int, _ end: Int, of node: Node, from next: Int) -> Int? {
        if next < node.members.upperBound, matches(text, start, end, next) { return next }
        for index in node.members where matches(text, start, end, index) { return index }
        guard text.holdsEscape(start, end), let name = decoded(text, start, end) else { return nil }
        return node.members.first { Array(names[members[$0].name]) == Array(name.utf8) }
    }

    @inline(__always)
    private func matches(_ text: RawSpan, _ start: Int, _ end: Int, _ index: Int) -> Bool {
        let range = members[index].name
        guard range.count == end - start - 2 else { return false }
        for offset in 0 ..< range.count where names[range.lowerBound + offset] != text.byte(at: start + 1 + offset) { return false }
        return true
    }

    private func checkValues(_ node: Node, _ text: RawSpan, _ offset: inout Int) throws(ShapeError) {
        offset = text.afterSpace(offset + 1)
        while text.peek(offset) == UInt8(ascii: "\"") {
            let (start, end) = (offset, text.afterString(offset))
            offset = text.afterSpace(end) + 1
            do throws(ShapeError) { try check(node.inner, text, &offset) } catch { throw error.inside(decoded(text, start, end) ?? "") }
            offset = text.afterComma(offset)
        }
        offset = text.after(offset, 1)
    }

    private func checkElements(_ node: Node, _ text: RawSpan, _ offset: inout Int) throws(ShapeError) {
        var count = 0
        offset = text.afterSpace(offset + 1)
        while offset < text.byteCount, text.peek(offset) != UInt8(ascii: "]") {
            if node.inner >= 0 {
                do throws(ShapeError) { try check(node.inner, text, &offset) } catch { throw error.inside(String(count)) }
            } else {
                offset = text.afterValue(offset)
            }
            count += 1
            offset = text.afterComma(offset)
        }
        offset = text.after(offset, 1)
        if count < node.least || count > node.most {
            throw ShapeError(pointer: "", expected: "an array with \(range(node)) elements", found: "\(count)")
        }
    }

    // MARK: Scalars

    private func checkString(_ node: Node, _ text: RawSpan, _ offset: inout Int) throws(ShapeError) {
        let start = offset
        offset = text.afterString(offset)
        if node.least > 0 || node.most < .max {
            let count = codePoints(text, start, offset)
            if count < node.least || count > node.most {
                throw ShapeError(pointer: "", expected: "a string of \(range(node)) characters", found: "\(count)")
            }
        }
        guard let format = node.format else { return }
        let isValid: Bool
        if text.holdsEscape(start, offset) {
            let plain = Array((decoded(text, start, offset) ?? "").utf8)
            isValid = Self.isValid(plain.lent, format)
        } else {
            isValid = Self.isValid(text.extracting(text.unquoted(start, offset)), format)
        }
        if !isValid { throw failure(node, format.words, text, start) }
    }

    private static func isValid(_ text: RawSpan, _ format: Shape.Format) -> Bool {
        switch format {
        case .dateTime: DateTime(text) != nil
        case .date: isDate(text)
        }
    }

    /// Code points between two quotes: an escape is one, and so is a pair of escaped surrogates.
    private func codePoints(_ text: RawSpan, _ start: Int, _ end: Int) -> Int {
        var (offset, count) = (start + 1, 0)
        while offset < end - 1 {
            let byte = text.byte(at: offset)
            if byte == UInt8(ascii: "\\") {
                let isUnicode = text.peek(offset + 1) == UInt8(ascii: "u")
                // The second half of a pair is \uDC00 … \uDFFF: it belongs to the one before.
                let isLow =
                    isUnicode && text.peek(offset + 2) | 0x20 == UInt8(ascii: "d") && text.peek(offset + 3) | 0x20 >= UInt8(ascii: "c")
                if !isLow { count += 1 }
                offset += isUnicode ? 6 : 2
            } else {
                if byte & 0xc0 != 0x80 { count += 1 }
                offset += 1
            }
        }
        return count
    }

    private func checkNumber(_ node: Node, _ text: RawSpan, _ offset: inout Int) throws(ShapeError) {
        let start = offset
        offset = text.afterWord(offset)
        let small = text.slice(start, offset - start).plainInteger
        if small == nil && node.kind == .integer || node.minimum >= 0 || node.maximum >= 0 {
            try checkNumber(node, small, text, start, offset)
        }
    }

    private func checkNumber(_ node: Node, _ small: Int?, _ text: RawSpan, _ start: Int, _ end: Int) throws(ShapeError) {
        if let small, node.minimum < 0 || bounds[node.minimum].integer.map({ small >= $0 }) == true,
            node.maximum < 0 || bounds[node.maximum].integer.map({ small <= $0 }) == true
        {
            return
        }
        guard let number = DecimalNumber(json: text.slice(start, end - start)) else {
            throw failure(node, "a number with a smaller exponent", text, start)
        }
        if node.kind == .integer, !number.isInteger { throw failure(node, node.noun, text, start) }
        if node.minimum >= 0, number < bounds[node.minimum].number {
            throw failure(node, "at least \(bounds[node.minimum].number)", text, start)
        }
        if node.maximum >= 0, number > bounds[node.maximum].number {
            throw failure(node, "at most \(bounds[node.maximum].number)", text, start)
        }
    }

    private func checkChoice(_ node: Node, _ range: Range<Int>, _ text: RawSpan, _ start: Int, _ end: Int) throws(ShapeError) {
        let value = text.slice(start, end - start)
        for index in range where isChoice(index, value) { return }
        // A text without escapes is canonical already.
        if text.peek(start) != UInt8(ascii: "\"") || text.holdsEscape(start, end) {
            let canonical: [UInt8]
            do { canonical = try Canonical.bytes(of: value) } catch { throw failure(node, "valid JSON", text, start) }
            for index in range where choices[index] == canonical { return }
        }
        let words = choices[range].map { String(decoding: $0, as: UTF8.self) }
        throw failure(node, words.count == 1 ? words[0] : "one of \(words.joined(separator: ", "))", text, start)
    }
}

extension ShapeProgram {
    private func isChoice(_ index: Int, _ value: RawSpan) -> Bool {
        let choice = choices[index]
        return choice.lent.equals(value)
    }
}

/// Whether a text is a day of the calendar, `YYYY-MM-DD`.
func isDate(_ text: RawSpan) -> Bool {
    guard text.byteCount == 10, text.byte(at: 4) == UInt8(ascii: "-"), text.byte(at: 7) == UInt8(ascii: "-"),
        let year = text.number(at: 0, digits: 4), let month = text.number(at: 5, digits: 2), let day = text.number(at: 8, digits: 2)
    else { return false }
    return CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0).exists
}
