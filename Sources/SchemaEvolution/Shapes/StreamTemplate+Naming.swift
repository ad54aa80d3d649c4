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
        var offset = payload.afterSpace(0)
        for token in pointer.tokens {
            guard let value = payload.value(of: token, in: offset) else { return false }
            offset = value
        }
        let end = payload.afterValue(offset)
        switch payload.peek(offset) {
        case UInt8(ascii: "n"): return false
        case UInt8(ascii: "\"") where !payload.holdsEscape(offset, end):
            for place in payload.unquoted(offset, end) { append(payload.byte(at: place), to: &name) }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            throw ShapeError(pointer: pointer.description, expected: "a value that names the stream", found: "an object or an array")
        default:
            let value = payload.slice(offset, end - offset)
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

extension RawSpan {
    /// Where the value of a member begins, in the object that begins at `offset`.
    func value(of name: MemberName, in offset: Int) -> Int? {
        guard peek(offset) == UInt8(ascii: "{") else { return nil }
        var offset = afterSpace(offset + 1)
        while peek(offset) == UInt8(ascii: "\"") {
            let end = afterString(offset)
            let value = afterSpace(afterSpace(end) + 1)
            if isName(name, offset, end) { return value }
            offset = afterComma(afterValue(value))
        }
        return nil
    }

    private func isName(_ name: MemberName, _ start: Int, _ end: Int) -> Bool {
        let literal = slice(start, end - start)
        if literal.equals(name.quoted.lent) { return true }
        guard holdsEscape(start, end) else { return false }
        do { return try JSONValue(parsing: literal) == .string(name.text) } catch { return false }
    }
}
