package import Bytes

/// A JSON value as a tree, for code that is not performance-critical: files, constants, the command line.
///
/// Equality is structural and bytewise: the order of members and the spelling of numbers count. Compare `canonical()` to compare meaning.
package indirect enum JSONValue: Sendable {
    case null
    case bool(Bool)
    /// The number's text, exact.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    package struct Member: Hashable, Sendable {
        package var name: String
        package var value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }

        package static func == (left: Member, right: Member) -> Bool {
            left.name.utf8.elementsEqual(right.name.utf8) && left.value == right.value
        }

        package func hash(into hasher: inout Hasher) {
            JSONValue.string(name).hash(into: &hasher)
            value.hash(into: &hasher)
        }
    }

    /// The value of a member; nil if the object lacks it or this value is no object.
    package func member(_ name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { $0.name.utf8.elementsEqual(name.utf8) }?.value
    }

    package subscript(_ name: String) -> JSONValue? { member(name) }

    package var kind: JSONKind {
        switch self {
        case .null: .null
        case .bool(let value): value ? .true : .false
        case .number: .number
        case .string: .string
        case .array: .array
        case .object: .object
        }
    }
}

// Compares texts bytewise: `String` would treat canonically equivalent texts as equal.
extension JSONValue: Hashable {
    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let a), .bool(let b)): a == b
        case (.number(let a), .number(let b)), (.string(let a), .string(let b)): a.utf8.elementsEqual(b.utf8)
        case (.array(let a), .array(let b)): a == b
        case (.object(let a), .object(let b)): a == b
        default: false
        }
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(kind)
        switch self {
        case .null, .bool: break
        case .number(let text), .string(let text): for byte in text.utf8 { hasher.combine(byte) }
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

extension JSONValue {
    /// The tree of a text. O(bytes).
    package init(parsing text: RawSpan, limits: JSONLimits = .none) throws(JSONError) {
        let record = try TapeRecord.of(text, limits)
        self.init(0, of: record.nodes, in: text)
    }

    private init(_ index: Int, of nodes: borrowing UniqueArray<JSONNode>, in text: RawSpan) {
        let node = nodes[index]
        let value = node.content(in: text)
        switch node.kind {
        case .null: self = .null
        case .true: self = .bool(true)
        case .false: self = .bool(false)
        case .number: self = .number(String(utf8: value) ?? "0")
        case .string: self = .string(unescaped(value))
        case .array:
            var elements: [JSONValue] = []
            var child = index + 1
            while child < node.next {
                elements.append(JSONValue(child, of: nodes, in: text))
                child = Int(nodes[child].next)
            }
            self = .array(elements)
        case .object:
            var members: [Member] = []
            var child = index + 1
            while child < node.next {
                let name = unescaped(nodes[child].content(in: text))
                members.append(Member(name: name, value: JSONValue(child + 1, of: nodes, in: text)))
                child = Int(nodes[child + 1].next)
            }
            self = .object(members)
        }
    }

    /// Compact JSON text, with members in the order of the tree.
    package var text: String {
        var output = ByteBuffer()
        append(to: &output)
        return String(utf8: output.bytes) ?? ""
    }

    package func append(to output: inout ByteBuffer) {
        switch self {
        case .null: output.append("null")
        case .bool(let value): output.append(value ? "true" : "false")
        case .number(let text): output.append(text)
        case .string(let text): appendQuoted(Array(text.utf8).lent, into: &output)
        case .array(let elements):
            output.append(UInt8(ascii: "["))
            for (index, element) in elements.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                element.append(to: &output)
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                appendQuoted(Array(member.name.utf8).lent, into: &output)
                output.append(UInt8(ascii: ":"))
                member.value.append(to: &output)
            }
            output.append(UInt8(ascii: "}"))
        }
    }

    /// The text that all spellings of this value share.
    ///
    /// A tree that was built by hand must hold numbers in JSON's form and no duplicate names in an object.
    package func canonical() -> [UInt8] {
        var output = ByteBuffer()
        append(to: &output)
        do throws(JSONError) {
            return try Canonical.bytes(of: output.bytes)
        } catch {
            preconditionFailure("a tree that is no JSON: \(error)")
        }
    }

    /// An equal tree whose text is the canonical text.
    package var normal: JSONValue {
        switch self {
        case .null, .bool, .string: return self
        case .number(let text):
            guard let number = NumberText(Array(text.utf8).lent) else { return self }
            var output = ByteBuffer()
            number.appendCanonical(to: &output)
            return .number(String(decoding: output.array(), as: UTF8.self))
        case .array(let elements): return .array(elements.map(\.normal))
        case .object(let members):
            return .object(
                members.map { .init(name: $0.name, value: $0.value.normal) }
                    .sorted { Canonical.precedes(Array($0.name.utf8), Array($1.name.utf8)) })
        }
    }
}

/// The text that the content of a valid string literal denotes.
private func unescaped(_ literal: RawSpan) -> String {
    var text = ByteBuffer(capacity: literal.byteCount)
    appendUnescaped(literal, into: &text)
    return String(utf8: text.bytes) ?? ""
}
