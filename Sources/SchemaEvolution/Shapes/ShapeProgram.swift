internal import Bytes
internal import EventModel
internal import JSONText

/// A shape in flat form for checking bytes; checking a valid payload allocates nothing.
final class ShapeProgram: Sendable {
    struct Node: Sendable {
        var kind: Shape.Kind
        var isNullable: Bool
        /// Whether the value must not appear in messages: personal data, ciphertext, or anything inside them.
        var isSecret: Bool
        var format: Shape.Format?
        /// The range of its members in `members`.
        var members = 0 ..< 0
        var requiredCount = 0
        /// The node of every element or map value; -1 if there is none.
        var inner = -1
        /// The range of canonical texts in `choices`; nil if any value is allowed.
        var choices: Range<Int>?
        /// The bounds of a length or of a number of elements.
        var least = 0
        var most = Int.max
        /// Indexes into `bounds`; -1 if there is none.
        var minimum = -1
        var maximum = -1
    }

    struct Member: Sendable {
        var name: Range<Int>
        var node: Int
        var isRequired: Bool
    }

    let nodes: [Node]
    let members: [Member]
    /// The UTF-8 of all member names.
    let names: [UInt8]
    /// The indexes of each node's members in its range of `members`, by the length of their names, then by their bytes.
    let byName: [Int]
    let choices: [[UInt8]]
    let bounds: [(number: DecimalNumber, integer: Int?)]

    init(_ shape: Shape) {
        var layout = Layout()
        _ = layout.add(shape, isSecret: false)
        (nodes, members, names, byName) = (layout.nodes, layout.members, layout.names, layout.byName)
        (choices, bounds) = (layout.choices, layout.bounds)
    }

    private struct Layout {
        var nodes: [Node] = []
        var members: [Member] = []
        var names: [UInt8] = []
        var byName: [Int] = []
        var choices: [[UInt8]] = []
        var bounds: [(number: DecimalNumber, integer: Int?)] = []

        mutating func add(_ shape: Shape, isSecret: Bool) -> Int {
            let index = nodes.count
            let isSecret = isSecret || shape.isPersonal || shape.isSealed
            var node = Node(kind: shape.kind, isNullable: shape.isNullable, isSecret: isSecret, format: shape.format)
            nodes.append(node)

            // Order: the members of a node are consecutive, so they are laid out before their contents.
            let first = members.count
            for property in shape.properties {
                let start = names.count
                names += Array(property.name.utf8)
                members.append(Member(name: start ..< names.count, node: -1, isRequired: shape.required.contains(property.name)))
            }
            node.members = first ..< members.count
            byName += node.members.sorted { left, right in
                let (left, right) = (names[members[left].name], names[members[right].name])
                return left.count == right.count ? left.lexicographicallyPrecedes(right) : left.count < right.count
            }
            node.requiredCount = members[node.members].count { $0.isRequired }
            for (offset, property) in shape.properties.enumerated() {
                members[first + offset].node = add(property.shape, isSecret: isSecret)
            }
            if let inner = shape.items ?? shape.additional { node.inner = add(inner, isSecret: isSecret) }

            if let values = shape.constant.map({ [$0] }) ?? shape.enumeration {
                let allowed = Set((shape.enumeration ?? values).map { $0.canonical() })
                let start = choices.count
                choices += values.map { $0.canonical() }.filter(allowed.contains)
                node.choices = start ..< choices.count
            }
            node.least = shape.minLength ?? shape.minItems ?? 0
            node.most = shape.maxLength ?? shape.maxItems ?? .max
            node.minimum = bound(shape.minimum)
            node.maximum = bound(shape.maximum)
            nodes[index] = node
            return index
        }

        private mutating func bound(_ number: DecimalNumber?) -> Int {
            guard let number else { return -1 }
            bounds.append((number, number.integer))
            return bounds.count - 1
        }
    }
}

extension ShapeProgram {
    /// Checks a text that `JSONScanner.validate` has accepted.
    func check(_ text: RawSpan) throws(ShapeError) {
        var walk = JSONWalker(text)
        walk.skipSpaces()
        try check(0, &walk)
    }

    /// Whether the value at `start` fits a node; the text must be accepted by `JSONScanner.validate`.
    func accepts(_ text: RawSpan, at start: Int, _ node: Int) -> Bool {
        var walk = JSONWalker(text, at: start)
        do { try check(node, &walk) } catch { return false }
        return true
    }

    /// Checks the value at the walker's offset and moves behind it.
    private func check(_ index: Int, _ walk: inout JSONWalker) throws(ShapeError) {
        let node = nodes[index]
        let start = walk.offset
        let kind = JSONKind(firstByte: walk.byte) ?? .null
        switch node.kind {
        case _ where kind == .null && (node.isNullable || node.kind == .null): _ = walk.skipValue()
        case .any: _ = walk.skipValue()
        case .object where kind == .object:
            if node.inner >= 0 { try checkValues(node, &walk) } else { try checkMembers(node, &walk) }
        case .array where kind == .array: try checkElements(node, &walk)
        case .string where kind == .string: try checkString(node, &walk)
        case .integer where kind == .number, .number where kind == .number: try checkNumber(node, &walk)
        case .boolean where kind == .true || kind == .false: _ = walk.skipValue()
        default: throw failure(node, node.noun, walk.text, start)
        }
        if let range = node.choices { try checkChoice(node, range, walk.text, start, walk.end) }
    }

    // MARK: Objects and arrays

    private func checkMembers(_ node: Node, _ walk: inout JSONWalker) throws(ShapeError) {
        let start = walk.offset
        var (next, required) = (node.members.lowerBound, 0)
        _ = walk.enterObject()
        while let name = walk.nextName() {
            guard let found = member(walk.text, name, of: node, from: next) else {
                throw unknown(node, walk.text, name, value: walk.offset)
            }
            next = found + 1
            if members[found].isRequired { required += 1 }
            do throws(ShapeError) { try check(members[found].node, &walk) } catch { throw error.inside(self.name(found)) }
        }
        if required < node.requiredCount { throw missing(node, walk.text, start) }
    }

    /// The index of the member with a given name; the expected next member is tried first. O(log n) in the members where it is another one.
    private func member(_ text: RawSpan, _ name: JSONExtent, of node: Node, from next: Int) -> Int? {
        if name.hasEscapes {
            guard let decoded = decodedString(text.slice(name)) else { return nil }
            let bytes = Array(decoded.utf8)
            return search(node) { compare(bytes.lent, $0) }
        }
        let name = text.slice(name.start + 1, name.end - name.start - 2)
        if next < node.members.upperBound, compare(name, next) == 0 { return next }
        return search(node) { compare(name, $0) }
    }

    /// Searches a node's members by their names.
    /// - Parameter order: below 0 where the name comes before that of a member, 0 where it is that one.
    private func search(_ node: Node, _ order: (Int) -> Int) -> Int? {
        var range = node.members
        while !range.isEmpty {
            let middle = range.lowerBound + range.count / 2
            let found = order(byName[middle])
            if found == 0 { return byName[middle] }
            range = found < 0 ? range.lowerBound ..< middle : middle + 1 ..< range.upperBound
        }
        return nil
    }

    /// Compares a name without escapes with that of a member in the order of `byName`.
    @inline(__always)
    private func compare(_ name: RawSpan, _ index: Int) -> Int {
        let range = members[index].name
        if range.count != name.byteCount { return name.byteCount - range.count }
        for offset in 0 ..< range.count {
            let difference = Int(name.byte(at: offset)) - Int(names[range.lowerBound + offset])
            if difference != 0 { return difference }
        }
        return 0
    }

    private func checkValues(_ node: Node, _ walk: inout JSONWalker) throws(ShapeError) {
        _ = walk.enterObject()
        while let name = walk.nextName() {
            do throws(ShapeError) { try check(node.inner, &walk) } catch { throw error.inside(decodedString(walk.text.slice(name)) ?? "") }
        }
    }

    private func checkElements(_ node: Node, _ walk: inout JSONWalker) throws(ShapeError) {
        var count = 0
        _ = walk.enterArray()
        while walk.nextElement() {
            if node.inner >= 0 {
                do throws(ShapeError) { try check(node.inner, &walk) } catch { throw error.inside(String(count)) }
            } else {
                _ = walk.skipValue()
            }
            count += 1
        }
        if count < node.least || count > node.most {
            throw ShapeError(pointer: "", expected: "an array with \(range(node)) elements", found: "\(count)")
        }
    }

    // MARK: Scalars

    private func checkString(_ node: Node, _ walk: inout JSONWalker) throws(ShapeError) {
        let start = walk.offset
        let hasEscapes = walk.skipString()
        let content = walk.text.slice(start + 1, max(walk.end - start - 2, 0))
        if node.least > 0 || node.most < .max {
            let count = codePoints(content)
            if count < node.least || count > node.most {
                throw ShapeError(pointer: "", expected: "a string of \(range(node)) characters", found: "\(count)")
            }
        }
        guard let format = node.format else { return }
        let isValid: Bool
        if hasEscapes {
            var plain = ByteBuffer(capacity: content.byteCount)
            appendUnescaped(content, into: &plain)
            isValid = Self.isValid(plain.bytes, format)
        } else {
            isValid = Self.isValid(content, format)
        }
        if !isValid { throw failure(node, format.words, walk.text, start) }
    }

    private static func isValid(_ text: RawSpan, _ format: Shape.Format) -> Bool {
        switch format {
        case .dateTime: DateTime(text) != nil
        case .date: isDate(text)
        }
    }

    /// The number of code points in a string's content; an escape counts as one, and so does a pair of escaped surrogates.
    private func codePoints(_ text: RawSpan) -> Int {
        var (offset, count) = (0, 0)
        while offset < text.byteCount {
            let byte = text.byte(at: offset)
            if byte == UInt8(ascii: "\\") {
                let isUnicode = text.peek(at: offset + 1) == UInt8(ascii: "u")
                // The second half of a pair is \uDC00 … \uDFFF and is counted with the first half.
                let (first, second) = (text.peek(at: offset + 2) | 0x20, text.peek(at: offset + 3) | 0x20)
                if !isUnicode || first != UInt8(ascii: "d") || second < UInt8(ascii: "c") { count += 1 }
                offset += isUnicode ? 6 : 2
            } else {
                if byte & 0xc0 != 0x80 { count += 1 }
                offset += 1
            }
        }
        return count
    }

    private func checkNumber(_ node: Node, _ walk: inout JSONWalker) throws(ShapeError) {
        let number = walk.skipValue()
        let small = walk.text.slice(number).plainInteger
        if small == nil && node.kind == .integer || node.minimum >= 0 || node.maximum >= 0 {
            try checkNumber(node, small, walk.text, number.start, number.end)
        }
    }

    private func checkNumber(_ node: Node, _ small: Int?, _ text: RawSpan, _ start: Int, _ end: Int) throws(ShapeError) {
        if let small, node.minimum < 0 || bounds[node.minimum].integer.map({ small >= $0 }) == true,
            node.maximum < 0 || bounds[node.maximum].integer.map({ small <= $0 }) == true
        {
            return
        }
        guard let number = DecimalNumber(json: text.slice(start, end - start)) else {
            throw failure(node, "a number with \(DecimalNumber.exponents)", text, start)
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
        for index in range {
            let choice = choices[index]
            if choice.lent.equals(value) { return }
        }
        // A string without escapes is already canonical.
        if !isPlainString(value) {
            let canonical: [UInt8]
            do { canonical = try Canonical.bytes(of: value) } catch { throw failure(node, "valid JSON", text, start) }
            for index in range where choices[index] == canonical { return }
        }
        let words = choices[range].map { String(decoding: $0, as: UTF8.self) }
        throw failure(node, words.count == 1 ? words[0] : "one of \(words.joined(separator: ", "))", text, start)
    }
}

/// Whether a text is a valid calendar date, `YYYY-MM-DD`.
func isDate(_ text: RawSpan) -> Bool {
    guard text.byteCount == 10, text.byte(at: 4) == UInt8(ascii: "-"), text.byte(at: 7) == UInt8(ascii: "-"),
        let year = text.number(at: 0, digits: 4), let month = text.number(at: 5, digits: 2), let day = text.number(at: 8, digits: 2)
    else { return false }
    return CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0).exists
}

/// Describes what does not fit. Only failed checks reach this code, so it may allocate.
extension ShapeProgram {
    func failure(_ node: Node, _ expected: String, _ text: RawSpan, _ start: Int) -> ShapeError {
        ShapeError(pointer: "", expected: expected, found: found(text, start, isSecret: node.isSecret))
    }

    func missing(_ node: Node, _ text: RawSpan, _ start: Int) -> ShapeError {
        var present: Set<Name> = []
        var walk = JSONWalker(text, at: start)
        _ = walk.enterObject()
        while let name = walk.nextName() {
            if let name = decodedString(text.slice(name)) { present.insert(name) }
            _ = walk.skipValue()
        }
        // Reports the bytewise first member, so that the message does not depend on the order of properties, which differs between a file
        // and the store.
        let absent = node.members.filter { members[$0].isRequired && !present.contains(name($0)) }
            .min { name($0).utf8.lexicographicallyPrecedes(name($1).utf8) }
        let expected = absent.map { nodes[members[$0].node].noun } ?? "there"
        return ShapeError(pointer: "", expected: expected, found: "nothing").inside(absent.map(name) ?? "")
    }

    func unknown(_ node: Node, _ text: RawSpan, _ name: JSONExtent, value: Int) -> ShapeError {
        let name = decodedString(text.slice(name)) ?? ""
        let hint = nearest(to: name, among: node.members.map(self.name)).map { " (did you mean \($0)?)" } ?? ""
        return ShapeError(
            pointer: "", expected: "absent: the shape has no such member\(hint)", found: found(text, value, isSecret: node.isSecret)
        ).inside(name)
    }

    func name(_ member: Int) -> String { String(decoding: names[members[member].name], as: UTF8.self) }

    func range(_ node: Node) -> String {
        if node.least == node.most { return "\(node.least)" }
        if node.most == .max { return "at least \(node.least)" }
        return node.least == 0 ? "at most \(node.most)" : "\(node.least) to \(node.most)"
    }

    private func found(_ text: RawSpan, _ start: Int, isSecret: Bool) -> String {
        switch text.peek(at: start) {
        case UInt8(ascii: "{"): return "an object"
        case UInt8(ascii: "["): return "an array"
        case UInt8(ascii: "\"") where isSecret: return "a string that is not shown"
        case _ where isSecret: return "a value that is not shown"
        default:
            var walk = JSONWalker(text, at: start)
            _ = walk.skipValue()
            let count = max(walk.end - start, 0)
            let shown = String(decoding: [UInt8](copying: text.slice(walk.end - count, min(count, 60))), as: UTF8.self)
            return count > 60 ? shown + "…" : shown
        }
    }
}

extension ShapeProgram.Node {
    var noun: String {
        let noun =
            switch kind {
            case .object where inner >= 0: "an object (a map)"
            case .string: format?.words ?? kind.noun
            case .any: "any value"
            default: kind.noun
            }
        return isNullable ? noun + " or null" : noun
    }
}

extension Shape.Format {
    package var words: String {
        switch self {
        case .dateTime: "a date and time such as 2026-01-31T12:00:00Z"
        case .date: "a date such as 2026-01-31"
        }
    }
}

extension ShapeError {
    /// The problem with its pointer extended by the object or array that contains the value.
    func inside(_ name: String) -> ShapeError {
        var outer = self
        outer.pointer = JSONPointer(tokens: [MemberName(name)]).description + pointer
        return outer
    }
}
