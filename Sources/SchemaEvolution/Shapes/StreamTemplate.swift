package import Bytes
internal import EventModel
package import JSONText

/// A template for the names of a type's streams, composed of literals and members: `pkg-{/name}:{/architecture}`.
///
/// A member that is absent or null is omitted, together with the literal in front of it. Bytes that are not allowed in a stream name, and
/// `%` itself, are percent-encoded.
package typealias StreamTemplate = Template<JSONPointer>

extension StreamTemplate {
    package init(stream text: String) throws(ExpressionError) {
        try self.init(text, member: JSONPointer.init(inBraces:))
        guard !parts.isEmpty else { throw ExpressionError("it is empty") }
        for text in literals {
            if text.has("}") { throw ExpressionError("there is a } without a { before it") }
            for byte in text.utf8 where !StreamName.allows(byte) || byte == UInt8(ascii: "%") {
                throw ExpressionError("the literal \(quoted(text)) contains a character that is not allowed in a stream name")
            }
        }
    }

    /// A copy for another thread. It shares no object with this template: counting references to one object from several threads costs
    /// more than making the name.
    package func copy() -> StreamTemplate {
        StreamTemplate(
            parts: parts.map { part in
                switch part {
                case .literal(let text): .literal(String(decoding: Array(text.utf8), as: UTF8.self))
                case .member(let pointer): .member(JSONPointer(tokens: pointer.tokens.map { MemberName($0.text) }))
                }
            })
    }

    /// The stream name for a payload that `JSONScanner.validate` has accepted.
    package func name(for payload: RawSpan) throws(ShapeError) -> String {
        var name = ByteBuffer(capacity: 64)
        try appendName(for: payload, to: &name)
        return String(utf8: name.bytes) ?? ""
    }

    /// Writes the name to an empty buffer.
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

    /// Appends the text of a member. Returns false if it has none.
    private static func append(_ pointer: JSONPointer, of payload: RawSpan, to name: inout ByteBuffer) throws(ShapeError) -> Bool {
        var walk = JSONWalker(payload)
        walk.skipSpaces()
        for token in pointer.tokens { if !walk.enter(token) { return false } }
        let found = walk.skipValue()
        if walk.isMalformed { return false }
        let start = name.count
        switch appendText(of: payload.slice(found), into: &name) {
        case .text: name.encodeForStreamName(from: start)
        case .none: return false
        case .container:
            throw ShapeError(pointer: pointer.description, expected: "a value that names the stream", found: "an object or an array")
        }
        return true
    }
}

extension JSONWalker {
    /// Moves to the value of a member of the object that begins at the offset. Returns false if there is none.
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
