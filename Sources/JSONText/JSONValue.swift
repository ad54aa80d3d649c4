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
