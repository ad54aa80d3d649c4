internal import Bytes

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
