internal import Bytes
package import JSONText

extension EventShape {
    /// Whether events may hold data of a person.
    package var hasPersons: Bool { shape.hasPersons }

    /// What may stay of a payload that fits when its personal members are forgotten, the best first: null in their places where
    /// that may stand there, else an empty text, else the plainest value that fits. Nothing where it holds none.
    /// - Throws: `JSONError` where the payload is none.
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
    fileprivate var nothing: JSONValue { isNullable ? .null : accepts(.string("")) == nil ? .string("") : sample }

    /// The value with another in the place of each that is personal.
    package func replacingPersons(in value: JSONValue, with stand: KeyPath<Shape, JSONValue>) -> JSONValue {
        if isPersonal, value != .null { return self[keyPath: stand] }
        switch value {
        case .object(let members):
            return .object(
                members.map { member in
                    let shape = additional ?? property(member.name)
                    return .init(name: member.name, value: shape?.replacingPersons(in: member.value, with: stand) ?? member.value)
                })
        case .array(let values): return .array(values.map { items?.replacingPersons(in: $0, with: stand) ?? $0 })
        default: return value
        }
    }
}

extension Shape {
    /// Whether what a pointer leads to is data of a person, by itself or as a part of what is.
    package func isPersonal(at pointer: JSONPointer) -> Bool {
        (0 ... pointer.tokens.count).contains { count in
            shape(at: JSONPointer(tokens: Array(pointer.tokens.prefix(count))))?.isPersonal == true
        }
    }
}
