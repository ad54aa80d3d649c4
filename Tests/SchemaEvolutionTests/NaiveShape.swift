import JSONText

/// JSON Schema of a shape.
extension JSONValue {
    var isObject: Bool {
        switch self["type"] {
        case .string("object")?: true
        case .array(let types)?: types.contains(.string("object"))
        default: false
        }
    }

    func shape(at path: [String]) -> JSONValue? {
        path.reduce(self) { (shape: JSONValue?, name) in shape?["properties"]?.member(name) }
    }

    /// Whether the value is one that a schema of the random shapes takes.
    func fits(_ schema: JSONValue) -> Bool {
        let types: [JSONValue] = if case .array(let list)? = schema["type"] { list } else { schema["type"].map { [$0] } ?? [] }
        func isOne(_ type: String) -> Bool { types.isEmpty || types.contains(.string(type)) }
        if case .array(let values)? = schema["enum"], !values.contains(where: isSame) { return false }
        switch self {
        case .null: return isOne("null")
        case .bool: return isOne("boolean")
        case .string(let text):
            // The times of the test are all of one form.
            let isTime = text.count >= 20 && text.hasSuffix("Z") && text.dropFirst(10).hasPrefix("T")
            return isOne("string") && (schema["format"] == nil || isTime)
        case .number(let text): return isOne("number") || isOne("integer") && NaiveNumber(text).integer != nil
        case .array(let elements):
            let least = schema["minItems"].flatMap { Int($0.word) } ?? 0
            return isOne("array") && elements.count >= least && elements.allSatisfy { schema["items"].map($0.fits) ?? true }
        case .object(let members):
            guard isOne("object") else { return false }
            if case .array(let names)? = schema["required"] {
                guard names.allSatisfy({ name in members.contains { $0.name == name.word } }) else { return false }
            }
            return members.allSatisfy { member in
                if let inner = schema["properties"]?.member(member.name) { return member.value.fits(inner) }
                if case .object? = schema["additionalProperties"] { return schema["additionalProperties"].map(member.value.fits) ?? true }
                return schema["additionalProperties"] != .bool(false) && types.isEmpty
            }
        }
    }

    func isObject(at path: [String]) -> Bool { shape(at: path)?.isObject ?? false }

    func requires(_ path: [String]) -> Bool {
        if case .array(let names)? = shape(at: path.dropLast())?["required"] {
            names.contains(.string(path[path.count - 1]))
        } else {
            false
        }
    }

    /// The type of a member that is no object: `string`, `integer` …
    func type(at path: [String]) -> String {
        switch shape(at: path)?["type"] {
        case .array(let types)?: types.first { $0 != .string("null") }?.word ?? ""
        case let type: type?.word ?? ""
        }
    }

    /// Whether it is the text, or what that spells in JSON.
    func isSpelled(_ text: String) -> Bool {
        switch self {
        case .string(let own): own == text
        case .null: text == "null"
        case .bool(let flag): text == "\(flag)"
        case .number(let number): text.first?.isNumber == true && NaiveNumber(number) == NaiveNumber(text)
        case .array, .object: false
        }
    }
}
