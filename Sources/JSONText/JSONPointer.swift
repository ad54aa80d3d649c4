package import Bytes

/// A member's name with the precomputed forms that comparing and writing need. Make it once and reuse it for every event.
package struct MemberName: Hashable, Sendable, CustomStringConvertible {
    // A single reference, so that a copy costs no more than that.
    let forms: Forms

    package init(_ text: String) { forms = Forms(text) }

    package var text: String { forms.text }
    package var utf8: [UInt8] { forms.utf8 }
    /// The name as a JSON string literal, with its quotes.
    package var quoted: [UInt8] { forms.quoted }

    package var description: String { text }

    // Names are compared bytewise: JSON does not know canonical equivalence.
    package static func == (left: MemberName, right: MemberName) -> Bool { left.utf8 == right.utf8 }
    package func hash(into hasher: inout Hasher) { hasher.combine(utf8) }

    final class Forms: Sendable {
        let text: String
        let utf8: [UInt8]
        let quoted: [UInt8]
        /// `quoted` followed by a colon, as it is written before a value.
        let label: [UInt8]
        /// The name's `firstWord`, the mask of the bits that belong to the name, and its `nameKey`.
        let word: UInt64
        let mask: UInt64
        let key: UInt32
        let count: Int
        let literalCount: Int
        let hasEscapes: Bool

        init(_ text: String) {
            let bytes = Array(text.utf8)
            var literal = ByteBuffer(capacity: bytes.count + 16)
            appendQuoted(bytes.lent, into: &literal)
            self.text = text
            utf8 = bytes
            quoted = literal.array()
            label = quoted + [UInt8(ascii: ":")]
            word = firstWord(of: bytes.lent)
            mask = bytes.count < 7 ? 1 << UInt64(8 * (bytes.count + 1)) - 1 : .max
            key = nameKey(word)
            count = bytes.count
            literalCount = quoted.count
            hasEscapes = literalCount != count + 2
        }
    }
}

/// A location in a JSON text, as in RFC 6901, such as `/address/city`; the empty pointer denotes the whole text.
package struct JSONPointer: Hashable, Sendable, CustomStringConvertible {
    package var tokens: [MemberName]

    /// How many members a written pointer may name: texts are by default not read beyond that depth.
    package static let membersMax = 64

    package init(tokens: [MemberName] = []) { self.tokens = tokens }

    package init(_ text: String) throws(JSONError) {
        tokens = []
        let bytes = Array(text.utf8)
        guard !bytes.isEmpty else { return }
        guard bytes[0] == UInt8(ascii: "/") else { throw JSONError("a pointer is empty or begins with /", at: 0) }
        var token: [UInt8] = []
        var offset = 1
        while offset < bytes.count {
            switch bytes[offset] {
            case UInt8(ascii: "/"):
                tokens.append(MemberName(String(decoding: token, as: UTF8.self)))
                token.removeAll()
            case UInt8(ascii: "~"):
                offset += 1
                guard offset < bytes.count, let plain = JSONPointer.unescaped(bytes[offset]) else {
                    throw JSONError("~ is written ~0 and / is written ~1 in a pointer", at: offset - 1)
                }
                token.append(plain)
            case let byte:
                token.append(byte)
            }
            offset += 1
        }
        tokens.append(MemberName(String(decoding: token, as: UTF8.self)))
        guard tokens.count <= Self.membersMax else {
            throw JSONError("a pointer names at most \(Self.membersMax) members, and this one \(tokens.count)", at: 0)
        }
    }

    package var isRoot: Bool { tokens.isEmpty }

    /// The pointer to the object or array that contains this location; nil for the whole text.
    package var parent: JSONPointer? { tokens.isEmpty ? nil : JSONPointer(tokens: Array(tokens.dropLast())) }

    package var last: MemberName? { tokens.last }

    package func appending(_ name: MemberName) -> JSONPointer { JSONPointer(tokens: tokens + [name]) }

    package func appending(_ name: String) -> JSONPointer { appending(MemberName(name)) }

    /// Whether this location equals `other` or lies within it.
    package func hasPrefix(_ other: JSONPointer) -> Bool { tokens.starts(with: other.tokens) }

    /// The locations that contain this one, from the whole text on, and this one.
    package var prefixes: [JSONPointer] { (0 ... tokens.count).map { JSONPointer(tokens: Array(tokens.prefix($0))) } }

    package var description: String {
        var text = ""
        for token in tokens {
            text += "/"
            for scalar in token.text.unicodeScalars {
                switch scalar {
                case "~": text += "~0"
                case "/": text += "~1"
                default: text.unicodeScalars.append(scalar)
                }
            }
        }
        return text
    }

    private static func unescaped(_ byte: UInt8) -> UInt8? {
        switch byte {
        case UInt8(ascii: "0"): UInt8(ascii: "~")
        case UInt8(ascii: "1"): UInt8(ascii: "/")
        default: nil
        }
    }
}

/// Finds the values at several pointers of an object in one pass over its text.
package struct PointerPicker: Sendable {
    /// A member to look for. The members of one object are consecutive in `nodes`.
    private struct Node: BitwiseCopyable {
        /// The offset of its name in `names`.
        var name = 0
        var nameCount = 0
        /// The index of the pointer that ends here; -1 if none does.
        var pick = -1
        var children = 0
        var childCount = 0
    }

    private var nodes = [Node()]
    private var names: [UInt8] = []
    package let count: Int

    /// - Parameter pointers: without duplicates.
    package init(_ pointers: [JSONPointer]) {
        count = pointers.count
        place(pointers.enumerated().map { ($0, $1.tokens[...]) }, under: 0)
    }

    private mutating func place(_ pointers: [(pick: Int, tokens: ArraySlice<MemberName>)], under parent: Int) {
        var members: [MemberName] = []
        for (pick, tokens) in pointers {
            guard let first = tokens.first else {
                nodes[parent].pick = pick
                continue
            }
            if !members.contains(first) { members.append(first) }
        }
        let start = nodes.count
        (nodes[parent].children, nodes[parent].childCount) = (start, members.count)
        for member in members {
            nodes.append(Node(name: names.count, nameCount: member.utf8.count))
            names += member.utf8
        }
        for (index, member) in members.enumerated() {
            place(pointers.filter { $0.tokens.first == member }.map { ($0.pick, $0.tokens.dropFirst()) }, under: start + index)
        }
    }

    /// Stores the range of each pointer's value in `found`, or `absent` if there is none.
    package func pick(_ text: RawSpan, into found: inout UniqueArray<ByteSlice>) {
        found.removeAll()
        for _ in 0 ..< count { found.append(.absent) }
        if count == 0 { return }
        if nodes[0].pick >= 0 { found[nodes[0].pick] = ByteSlice(0, text.byteCount) }
        var walk = JSONWalker(text)
        walk.skipSpaces()
        pickMembers(of: nodes[0], &walk, into: &found)
    }

    /// Looks for the members of the object that begins at the offset until all are found, and moves behind the last of them. The walker is
    /// lost if there is no object or if the object ends first.
    private func pickMembers(of node: Node, _ walk: inout JSONWalker, into found: inout UniqueArray<ByteSlice>) {
        var wanted = node.childCount
        guard wanted > 0, walk.enterObject() else { return walk.markMalformed() }
        while let name = walk.nextName() {
            let child = child(of: node, named: walk.text.slice(name.start &+ 1, name.end &- name.start &- 2), isPlain: !name.hasEscapes)
            let start = walk.offset
            if child < 0 {
                _ = walk.skipValue()
                continue
            }
            wanted -= 1
            var isPassed = false
            if nodes[child].childCount > 0 {
                pickMembers(of: nodes[child], &walk, into: &found)
                isPassed = !walk.isMalformed
                if !isPassed { walk.offset = start }
            }
            // The end of the last value matters only if that value itself is wanted.
            if wanted == 0, nodes[child].pick < 0 { return walk.markMalformed() }
            // The part of the value that was already scanned is not scanned again.
            if isPassed {
                walk.offset = JSONWalker.endOfContainer(walk.text, walk.offset, depth: 1)
            } else {
                _ = walk.skipValue()
            }
            if walk.isMalformed { return }
            if nodes[child].pick >= 0 { found[nodes[child].pick] = ByteSlice(start, walk.offset &- start) }
            if wanted == 0 { return }
        }
        walk.markMalformed()
    }

    private func child(of node: Node, named name: RawSpan, isPlain: Bool) -> Int {
        guard isPlain else {
            var plain = ByteBuffer(capacity: name.byteCount)
            appendUnescaped(name, into: &plain)
            return child(of: node, named: plain.bytes, isPlain: true)
        }
        for index in node.children ..< node.children + node.childCount where nodes[index].nameCount == name.byteCount {
            if name.equals(names.lent.slice(nodes[index].name, name.byteCount)) { return index }
        }
        return -1
    }
}
