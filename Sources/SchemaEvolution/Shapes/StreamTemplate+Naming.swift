package import Bytes
internal import EventModel
internal import JSONText

extension StreamTemplate {
    /// The name for a payload that `JSONScanner.validate` accepted before.
    package func name(for payload: RawSpan) throws(ShapeError) -> String {
        var name = ByteBuffer(capacity: 64)
        try appendName(for: payload, to: &name)
        return String(utf8: name.bytes) ?? ""
    }

    /// Puts the name into an empty buffer.
    package func appendName(for payload: RawSpan, to name: inout ByteBuffer) throws(ShapeError) {
        var beforeLiteral = 0
        for part in parts {
            switch part {
            case .literal(let text): name.append(text)
            case .member(let pointer):
                if try !Self.append(pointer, of: payload, to: &name) { name.truncate(to: beforeLiteral) }
                beforeLiteral = name.count
            }
        }
        guard name.count > 0 else {
            throw ShapeError(pointer: members.first?.description ?? "", expected: "a value that names the stream", found: "nothing")
        }
        guard name.count <= StreamName.longestBytes else {
            throw ShapeError(
                pointer: members.first?.description ?? "",
                expected: "short enough for a stream name of \(StreamName.longestBytes) bytes", found: "\(name.count) bytes")
        }
    }

    private static func append(_ byte: UInt8, to name: inout ByteBuffer) {
        if StreamName.allows(byte), byte != UInt8(ascii: "%") { return name.append(byte) }
        func digit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 55 + value }
        name.append(UInt8(ascii: "%"))
        name.append(digit(byte >> 4))
        name.append(digit(byte & 15))
    }

    /// Appends a member as text: a string as it is, a number in its canonical form; false where it is absent or null.
    private static func append(_ pointer: JSONPointer, of payload: RawSpan, to name: inout ByteBuffer) throws(ShapeError) -> Bool {
        var walk = JSONWalker(payload)
        walk.skipSpaces()
        for token in pointer.tokens { if !walk.enter(token) { return false } }
        let found = walk.skipValue()
        if walk.isLost { return false }
        switch found.kind {
        case .null: return false
        case .string where !found.hasEscapes:
            for offset in found.start + 1 ..< found.end - 1 { append(payload.byte(at: offset), to: &name) }
        case .object, .array:
            throw ShapeError(pointer: pointer.description, expected: "a value that names the stream", found: "an object or an array")
        default:
            let value = payload.slice(found)
            do throws(JSONError) {
                if case .string(let text) = try JSONValue(parsing: value) {
                    for byte in text.utf8 { append(byte, to: &name) }
                } else {
                    for byte in try Canonical.bytes(of: value) { append(byte, to: &name) }
                }
            } catch {
                throw ShapeError(pointer: pointer.description, expected: "valid JSON", found: error.reason)
            }
        }
        return true
    }
}

extension JSONWalker {
    /// Goes to the value of a member of the object that begins here; false where there is none.
    @_lifetime(self: copy self)
    fileprivate mutating func enter(_ member: MemberName) -> Bool {
        guard enterObject() else { return false }
        while let name = nextName() {
            if text.slice(name).equals(member.quoted.lent) { return true }
            if name.hasEscapes, decodedString(text.slice(name))?.isSame(as: member.text) ?? false { return true }
            _ = skipValue()
        }
        return false
    }
}
