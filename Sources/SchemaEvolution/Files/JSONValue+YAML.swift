package import JSONText

extension JSONValue {
    /// YAML that parses back to this value: short lists and maps on one line, others in block style.
    package var yaml: String { lines(width: 0).joined(separator: "\n") + "\n" }

    private static let width = 110

    /// YAML on one line, in flow style.
    package var flow: String {
        switch self {
        case .null: "null"
        case .bool(let value): String(value)
        case .number(let text): text
        case .string(let text): text.yamlScalar
        case .array(let values): "[" + values.map(\.flow).joined(separator: ", ") + "]"
        case .object(let members): "{" + members.map { "\($0.name.yamlScalar): \($0.value.flow)" }.joined(separator: ", ") + "}"
        }
    }

    /// Whether the value is readable on one line: its members and elements are scalars or lists of scalars.
    private var isShort: Bool {
        switch self {
        case .array(let values): values.allSatisfy(\.isScalarOrEmpty)
        case .object(let members):
            members.allSatisfy { member in
                if case .array(let values) = member.value { values.allSatisfy(\.isScalarOrEmpty) } else { member.value.isScalarOrEmpty }
            }
        default: true
        }
    }

    private var isScalarOrEmpty: Bool {
        switch self {
        case .array(let values): values.isEmpty
        case .object(let members): members.isEmpty
        default: true
        }
    }

    /// One line if the value is a scalar, empty, or short and not wider than `width`; otherwise a block.
    private func lines(width: Int) -> [String] {
        let flow = flow
        if isScalarOrEmpty || isShort && flow.count <= width { return [flow] }
        switch self {
        case .array(let values):
            return values.flatMap { value in
                let inner = value.lines(width: Self.width)
                return ["- " + inner[0]] + inner.dropFirst().map { "  " + $0 }
            }
        case .object(let members):
            return members.flatMap { member in
                let inner = member.value.lines(width: Self.width - member.name.count)
                let name = member.name.yamlScalar + ":"
                if inner.count == 1, member.value.isScalarOrEmpty || inner[0] == member.value.flow { return [name + " " + inner[0]] }
                return [name] + inner.map { "  " + $0 }
            }
        default: return [flow]
        }
    }
}

extension String {
    /// The text without quotes if it parses back unchanged, otherwise in double quotes.
    package var yamlScalar: String {
        let isPlain =
            utf8.first.map { ($0 | 0x20 >= 97 && $0 | 0x20 <= 122) || $0 == UInt8(ascii: "/") || $0 == UInt8(ascii: "$") } == true
            && utf8.last != UInt8(ascii: " ") && utf8.count <= 80
            && utf8.allSatisfy { byte in
                (48 ... 57).contains(byte) || (byte | 0x20 >= 97 && byte | 0x20 <= 122) || "_-./$ ".utf8.contains(byte)
            } && !["true", "false", "null"].contains(self)
        return isPlain ? self : yamlQuoted
    }

    package var yamlQuoted: String {
        var text = ""
        for scalar in JSONValue.string(self).text.unicodeScalars {
            // Characters that JSON allows unescaped and YAML does not.
            if (0x7f ... 0x9f).contains(scalar.value) || [0x2028, 0x2029, 0xfeff].contains(scalar.value) {
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            } else {
                text.unicodeScalars.append(scalar)
            }
        }
        return text
    }
}
