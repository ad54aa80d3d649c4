internal import Bytes
package import JSONText

extension EventShape {
    /// Whether a member is personal.
    package var hasPersons: Bool { shape.hasPersons }

    /// The payloads that may remain of a valid one when its personal members are forgotten, the best first: with null in their
    /// places where the shape allows it, else an empty text, else the simplest value that fits; then with simple values only. Empty
    /// where the payload has no personal members.
    /// - Throws: `JSONError` where the payload is not JSON.
    package func forgetting(_ payload: RawSpan) throws -> [[UInt8]] {
        let value = try JSONValue(parsing: payload)
        let rests = [shape.replacingPersons(in: value, with: \.nothing), shape.replacingPersons(in: value, with: \.sample)]
        return rests[0] == value ? [] : rests.map { Array($0.text.utf8) }
    }
}

extension Shape {
    fileprivate var hasPersons: Bool {
        isPersonal || properties.contains { $0.shape.hasPersons } || items?.hasPersons == true || additional?.hasPersons == true
    }

    /// The emptiest value that fits.
    fileprivate var nothing: JSONValue { isNullable ? .null : rejection(of: .string("")) == nil ? .string("") : sample }

    /// The value with each personal member replaced.
    /// - Parameter substitute: gives the new value from the member's shape.
    package func replacingPersons(in value: JSONValue, with substitute: KeyPath<Shape, JSONValue>) -> JSONValue {
        if isPersonal, value != .null { return self[keyPath: substitute] }
        switch value {
        case .object(let members):
            return .object(
                members.map { member in
                    let shape = additional ?? property(member.name)
                    return .init(name: member.name, value: shape?.replacingPersons(in: member.value, with: substitute) ?? member.value)
                })
        case .array(let values): return .array(values.map { items?.replacingPersons(in: $0, with: substitute) ?? $0 })
        default: return value
        }
    }
}

extension Shape {
    /// Whether the member at a pointer, or one that holds it, is personal.
    package func isPersonal(at pointer: JSONPointer) -> Bool {
        (0 ... pointer.tokens.count).contains { count in
            shape(at: JSONPointer(tokens: Array(pointer.tokens.prefix(count))))?.isPersonal == true
        }
    }
}
