import JSONText
import SchemaEvolution

/// What has to be said besides so that a schema of the suite is a shape.
///
/// A shape says its type and names its members, where JSON Schema leaves both open. A schema with keywords of one type gets
/// that type, and a member that it requires and does not describe may be anything. An instance of another type, or with
/// members beyond those, is what the shape leaves no room for: it is not tried.
struct SuiteDialect {
    /// The schema as a shape, as far as shapes go.
    let shape: JSONValue
    /// Keywords and values that shapes do not have, wherever a reader of shapes comes by.
    let outside: [String]

    private static let known: Set<String> = [
        "type", "properties", "required", "additionalProperties", "items", "minItems", "maxItems", "enum", "const", "minimum", "maximum",
        "minLength", "maxLength", "format", "$ref", "default", "deprecated", "description", "$defs",
    ]

    private static let families: [(type: String, keywords: Set<String>)] = [
        ("object", ["properties", "required", "additionalProperties"]), ("array", ["items", "minItems", "maxItems"]),
        ("string", ["minLength", "maxLength", "format"]), ("number", ["minimum", "maximum"]),
    ]

    init(_ schema: JSONValue) {
        var outside: [String] = []
        shape = Self.adapt(schema, isRoot: true, &outside)
        self.outside = outside
    }

    private static func adapt(_ schema: JSONValue, isRoot: Bool, _ outside: inout [String]) -> JSONValue {
        guard case .object(let members) = schema else {
            outside.append(schema.text)
            return schema
        }
        for member in members where !known.contains(member.name) || member.name == "$defs" && !isRoot { outside.append(member.name) }
        if let reference = schema["$ref"]?.string,
            !reference.hasPrefix("#/$defs/") || reference.dropFirst(8).contains(where: { "/%~".contains($0) })
        {
            outside.append("$ref")
        }
        if schema["$ref"] != nil {
            let beside: Set<String> = ["$ref", "$defs", "default", "deprecated", "description"]
            outside += members.map(\.name).filter { known.contains($0) && !beside.contains($0) }
        }
        if let type = schema["type"], case .array(let types) = type, types.count != 2 || !types.contains(.string("null")) {
            outside.append("type")
        }
        if let format = schema["format"]?.string, format != "date", format != "date-time" { outside.append(format) }
        var result = schema
        if isRoot { result = adapt(each: "$defs", of: result, &outside) }
        // A reader goes no further than a reference.
        if schema["$ref"] != nil { return result }
        result = adapt(each: "properties", of: result, &outside)
        if let items = schema["items"] { result = result.with("items", adapt(items, isRoot: false, &outside)) }
        switch schema["additionalProperties"] {
        case nil: break
        // Objects are closed: where members are named, this is what a shape says anyway.
        case .bool(false)? where schema["properties"] != nil: result = result.without("additionalProperties")
        case let values?:
            if schema["properties"] != nil { outside.append("additionalProperties") }
            result = result.with("additionalProperties", adapt(values, isRoot: false, &outside))
        }
        return typed(described(result), &outside)
    }

    private static func adapt(each name: String, of schema: JSONValue, _ outside: inout [String]) -> JSONValue {
        guard case .object(let shapes)? = schema[name] else { return schema }
        return schema.with(name, .object(shapes.map { .init(name: $0.name, value: adapt($0.value, isRoot: false, &outside)) }))
    }

    /// Each member that is required and not described may be anything.
    private static func described(_ schema: JSONValue) -> JSONValue {
        guard let required = schema["required"], schema["additionalProperties"] == nil else { return schema }
        let known = schema["properties"]?.members ?? []
        let more = required.elements.compactMap(\.string).filter { name in !known.contains { $0.name == name } }
        return schema.with(
            "properties", .object(known + more.map { .init(name: $0, value: .object([.init(name: "any", value: .bool(true))])) }))
    }

    private static func typed(_ schema: JSONValue, _ outside: inout [String]) -> JSONValue {
        if schema["type"] != nil || schema["$ref"] != nil { return schema }
        let values = schema["enum"]?.elements ?? schema["const"].map { [$0] } ?? []
        var types = Set(values.map(type(of:))).union(
            families.filter { family in family.keywords.contains { schema[$0] != nil } }.map(\.type))
        if types.isEmpty { return schema.with("any", .bool(true)) }
        let isNullable = types.count == 2 && types.remove("null") != nil
        guard types.count == 1, let type = types.first else {
            outside.append("type")
            return schema
        }
        return schema.with("type", isNullable ? .array([.string(type), .string("null")]) : .string(type))
    }

    private static func type(of value: JSONValue) -> String {
        switch value {
        case .null: "null"
        case .bool: "boolean"
        case .number: "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// Whether an instance lies where a shape and the schema it was made of mean the same.
    static func covers(
        _ data: JSONValue, _ schema: JSONValue, _ shape: JSONValue, _ definitions: (schema: JSONValue?, shape: JSONValue?)
    ) -> Bool {
        if let name = schema["$ref"]?.string?.dropFirst(8) {
            guard let target = definitions.schema?[String(name)], let made = definitions.shape?[String(name)] else { return true }
            return covers(data, target, made, definitions)
        }
        let said = shape["type"].map { $0.string.map { [$0] } ?? $0.elements.compactMap(\.string) }
        if schema["type"] == nil, let said, !said.contains(type(of: data)) { return false }
        switch data {
        case .object(let members):
            if let values = schema["additionalProperties"], let made = shape["additionalProperties"] {
                return members.allSatisfy { covers($0.value, values, made, definitions) }
            }
            return members.allSatisfy { member in
                guard let made = shape["properties"]?[member.name] else {
                    return schema["additionalProperties"] == .bool(false) || shape["any"] != nil
                }
                return schema["properties"]?[member.name].map { covers(member.value, $0, made, definitions) } ?? true
            }
        case .array(let values):
            guard let items = schema["items"], let made = shape["items"] else { return true }
            return values.allSatisfy { covers($0, items, made, definitions) }
        default: return true
        }
    }
}
