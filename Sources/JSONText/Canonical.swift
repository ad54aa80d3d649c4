package import Bytes

/// The canonical form of a JSON value, over which digests and comparisons are computed: RFC 8785.
///
/// - Members are sorted by the UTF-16 code units of their names; strings have the fewest escapes; there are no spaces.
/// - Numbers are laid out as ECMAScript does, so `1.0`, `1` and `1e0` all become `1`. The form deviates from RFC 8785 on purpose in one
///   point: it keeps the exact digits of the text, where RFC 8785 rounds to the nearest double. Both agree on every number that was printed
///   from a double, every integer up to 2^53 and every decimal of at most 15 digits; a longer number keeps its digits instead of becoming
///   another number.
package enum Canonical {
    /// Appends the canonical form of any text that `JSONScanner.validate` accepts; applies no limit on size.
    package static func write(_ text: RawSpan, into output: inout ByteBuffer) throws(JSONError) {
        let limits = JSONLimits(depth: JSONLimits.deepest, members: .max, bytes: .max)
        _ = try JSONScanner.validate(text, limits: limits)
        var splice = JSONEditor()
        try splice.load(text)
        var scratch = ByteBuffer()
        write(splice.root, of: &splice, &scratch, into: &output)
        if let fault = splice.fault { throw fault }
    }

    package static func bytes(of text: RawSpan) throws(JSONError) -> [UInt8] {
        var output = ByteBuffer(capacity: text.byteCount)
        try write(text, into: &output)
        return output.array()
    }

    private static func write(
        _ node: JSONEditor.Node, of splice: inout JSONEditor, _ scratch: inout ByteBuffer, into output: inout ByteBuffer
    ) {
        switch splice.kind(node) {
        case .null, .true, .false: output.append(splice.text(of: node))
        case .number: appendCanonical(number: splice.text(of: node), into: &output)
        case .string:
            scratch.removeAll()
            splice.decode(node, into: &scratch)
            appendQuoted(scratch.bytes, into: &output)
        case .array:
            output.append(UInt8(ascii: "["))
            var child = splice.firstChild(of: node)
            while let element = child {
                write(element, of: &splice, &scratch, into: &output)
                child = splice.next(after: element)
                if child != nil { output.append(UInt8(ascii: ",")) }
            }
            output.append(UInt8(ascii: "]"))
        case .object:
            output.append(UInt8(ascii: "{"))
            var isFirst = true
            for (name, member) in sortedMembers(of: node, in: &splice) {
                if !isFirst { output.append(UInt8(ascii: ",")) }
                isFirst = false
                appendQuoted(name.lent, into: &output)
                output.append(UInt8(ascii: ":"))
                write(member, of: &splice, &scratch, into: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    private static func sortedMembers(of object: JSONEditor.Node, in splice: inout JSONEditor) -> [(name: [UInt8], node: JSONEditor.Node)] {
        var members: [(name: [UInt8], node: JSONEditor.Node)] = []
        var name = ByteBuffer(capacity: 64)
        var child = splice.firstChild(of: object)
        while let member = child {
            name.removeAll()
            splice.decodeName(of: member, into: &name)
            members.append((name.array(), member))
            child = splice.next(after: member)
        }
        members.sort { precedes($0.name, $1.name) }
        return members
    }

    /// Whether the UTF-16 code units of `left` sort before those of `right`. UTF-8 sorts by scalars; UTF-16 differs only in that scalars
    /// beyond U+FFFF (lead bytes F0 to F4) sort before U+E000 to U+FFFF (lead bytes EE and EF).
    static func precedes(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        for index in 0 ..< min(left.count, right.count) where left[index] != right[index] {
            let (a, b) = (left[index], right[index])
            if a >= 0xEE, b >= 0xEE, (a >= 0xF0) != (b >= 0xF0) { return a >= 0xF0 }
            return a < b
        }
        return left.count < right.count
    }
}
