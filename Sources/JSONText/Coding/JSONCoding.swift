internal import Bytes

/// Decodes Swift values from JSON text and encodes them as JSON text, without a tree of boxes in between.
///
/// A member that is absent or null decodes as a nil optional; integers must fit; text must be valid UTF-8.
package struct JSONCoding: Sendable {
    let leaves: [JSONLeaf]
    private let sortsMembers: Bool

    /// - Parameters:
    ///   - leaves: types that are encoded as one string or number, whatever their own `Codable` conformance does.
    ///   - sortsMembers: sorts members by the UTF-8 of their names; otherwise they keep the order of encoding.
    package init(leaves: [JSONLeaf] = [], sortsMembers: Bool = false) {
        (self.leaves, self.sortsMembers) = (leaves, sortsMembers)
    }

    /// - Parameter hasUniqueNames: whether the text is known to have no duplicate names in an object; if false, that is checked.
    /// - Throws: `DecodingError`.
    package func decode<T: Decodable>(_ type: T.Type, from text: [UInt8], hasUniqueNames: Bool = false) throws -> T {
        let tape: JSONTape
        let limits = JSONLimits(members: .max, bytes: .max)
        do throws(JSONError) { tape = try JSONTape(text, limits, comparesNames: !hasUniqueNames, leaves) } catch {
            throw DecodingError.dataCorrupted(.init(codingPath: [], debugDescription: error.description, underlyingError: error))
        }
        return try tape.read(type, at: 0)
    }

    /// - Throws: `EncodingError`.
    package func encode<T: Encodable>(_ value: T) throws -> [UInt8] {
        let tree = JSONTree(leaves)
        try tree.write(value, at: tree.root)
        return tree.text(sortsMembers: sortsMembers)
    }
}

/// A type that is represented in JSON as one string or number.
package struct JSONLeaf: Sendable {
    package enum Scalar: Hashable, Sendable {
        case string(String)
        /// The number's exact text.
        case number(String)
    }

    let type: ObjectIdentifier
    let name: String
    /// Nil if the scalar does not represent a value of this type.
    let read: @Sendable (Scalar) -> Any?
    let write: @Sendable (Any) -> Scalar?

    package init<T>(_ type: T.Type, read: @escaping @Sendable (Scalar) -> T?, write: @escaping @Sendable (T) -> Scalar?) {
        (self.type, name, self.read) = (ObjectIdentifier(type), "\(type)", { read($0) })
        self.write = { ($0 as? T).flatMap(write) }
    }
}

/// A step of a coding path: a member's name or an element's index.
struct JSONKey: CodingKey {
    let stringValue: String
    let intValue: Int?

    init(stringValue: String) { (self.stringValue, intValue) = (stringValue, nil) }

    init(intValue: Int) { (stringValue, self.intValue) = ("Index \(intValue)", intValue) }

    static var `super`: JSONKey { JSONKey(stringValue: "super") }
}
