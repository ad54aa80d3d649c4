import Bytes
import Foundation
import JSONText
import TestSupport
import Testing

/// A JSON Schema as editors use it, with the keywords that `Schemas/evstore` needs; a keyword that it does not know is refused.
struct EditorSchema {
    let root: JSONValue

    struct Unknown: Error { let keyword: String }

    init(_ root: JSONValue) { self.root = root }

    /// One of `Schemas/evstore`.
    init(named name: String) throws {
        let file = Self.schemas.appending(path: "evstore/\(name).json")
        root = try JSONValue(parsing: [UInt8](try Data(contentsOf: file)).lent)
    }

    static let schemas = Checkout.url("Schemas")

    /// Where and why a value does not fit, as `/pointer: keyword`; nil where it does.
    func refusal(of value: JSONValue) throws -> String? { try refusal(of: value, by: root, at: "") }

    private func refusal(of value: JSONValue, by schema: JSONValue, at place: String) throws -> String? {
        guard case .object(let members) = schema else { return schema == .bool(true) ? nil : "\(place): false" }
        if let odd = members.first(where: { !Self.known.contains($0.name) }) { throw Unknown(keyword: odd.name) }
        for member in members {
            if let refusal = try refusal(of: value, by: member, in: schema, at: place) { return refusal }
        }
        return nil
    }

    private func refusal(of value: JSONValue, by keyword: JSONValue.Member, in schema: JSONValue, at place: String) throws -> String? {
        let (name, said) = (keyword.name, keyword.value)
        func check(_ holds: Bool) -> String? { holds ? nil : "\(place): \(name)" }
        switch name {
        case "$schema", "$defs", "title", "description", "default": return nil
        case "$ref":
            guard let text = said.string, text.hasPrefix("#/$defs/"), let target = root["$defs"]?[String(text.dropFirst(8))] else {
                throw Unknown(keyword: "$ref \(said.text)")
            }
            return try refusal(of: value, by: target, at: place)
        case "type": return check((said.string.map { [$0] } ?? said.elements.compactMap(\.string)).contains { value.isA($0) })
        case "const": return check(value.canonical() == said.canonical())
        case "enum": return check(said.elements.contains { $0.canonical() == value.canonical() })
        case "allOf":
            for one in said.elements { if let refusal = try refusal(of: value, by: one, at: place) { return refusal } }
            return nil
        case "anyOf", "oneOf":
            let refusals = try said.elements.map { try refusal(of: value, by: $0, at: place) }
            let fitting = refusals.count { $0 == nil }
            if name == "oneOf" ? fitting == 1 : fitting > 0 { return nil }
            return "\(place): \(name) (\(refusals.compactMap(\.self).joined(separator: "; ")))"
        default: break
        }
        switch value {
        case .object(let members): return try refusal(of: members, by: keyword, in: schema, at: place)
        case .array(let values): return try refusal(of: values, by: keyword, at: place)
        case .number(let text):
            let number = try #require(Double(text))
            if name == "minimum" || name == "maximum", case .number(let bound) = said, let bound = Double(bound) {
                return check(name == "minimum" ? number >= bound : number <= bound)
            }
        case .string(let text):
            if name == "minLength" || name == "maxLength", let count = said.whole {
                return check(name == "minLength" ? text.unicodeScalars.count >= count : text.unicodeScalars.count <= count)
            }
            if name == "pattern", let pattern = said.string { return check(try text.firstMatch(of: Regex(pattern)) != nil) }
        default: break
        }
        return nil
    }

    private static let known: Set<String> = [
        "$schema", "$defs", "title", "description", "default", "$ref", "type", "const", "enum", "allOf", "anyOf", "oneOf",
        "properties", "required", "additionalProperties", "propertyNames", "minProperties", "maxProperties", "items", "minItems",
        "maxItems",
        "minimum", "maximum", "minLength", "maxLength", "pattern",
    ]

    private func refusal(
        of members: [JSONValue.Member], by keyword: JSONValue.Member, in schema: JSONValue, at place: String
    ) throws -> String? {
        let (name, said) = (keyword.name, keyword.value)
        switch name {
        case "required":
            let missing = said.elements.compactMap(\.string).filter { name in !members.contains { $0.name == name } }
            return missing.isEmpty ? nil : "\(place): required \(missing.joined(separator: ", "))"
        case "minProperties", "maxProperties":
            let count = said.whole ?? 0
            return (name == "minProperties" ? members.count >= count : members.count <= count) ? nil : "\(place): \(name)"
        default: break
        }
        for member in members {
            let inner: JSONValue? =
                switch name {
                case "properties": said[member.name]
                case "additionalProperties": schema["properties"]?[member.name] == nil ? said : nil
                case "propertyNames": said
                default: nil
                }
            guard let inner else { continue }
            let value = name == "propertyNames" ? .string(member.name) : member.value
            if let refusal = try refusal(of: value, by: inner, at: "\(place)/\(member.name)") { return refusal }
        }
        return nil
    }

    private func refusal(of values: [JSONValue], by keyword: JSONValue.Member, at place: String) throws -> String? {
        let (name, said) = (keyword.name, keyword.value)
        if name == "minItems", let count = said.whole { return values.count >= count ? nil : "\(place): minItems" }
        if name == "maxItems", let count = said.whole { return values.count <= count ? nil : "\(place): maxItems" }
        if name == "items" {
            for (index, value) in values.enumerated() {
                if let refusal = try refusal(of: value, by: said, at: "\(place)/\(index)") { return refusal }
            }
        }
        return nil
    }
}

extension JSONValue {
    fileprivate var whole: Int? {
        guard case .number(let text) = self, let number = Double(text), number.rounded() == number else { return nil }
        return Int(exactly: number)
    }

    fileprivate func isA(_ type: String) -> Bool {
        switch self {
        case .null: type == "null"
        case .bool: type == "boolean"
        case .number(let text): type == "number" || type == "integer" && Double(text).map { $0.rounded() == $0 } ?? false
        case .string: type == "string"
        case .array: type == "array"
        case .object: type == "object"
        }
    }
}
