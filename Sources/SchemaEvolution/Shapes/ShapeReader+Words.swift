extension ShapeReader {
    /// The names of the types in other languages.
    static let elsewhere = [
        "int": "integer", "int32": "integer", "int64": "integer", "long": "integer", "float": "number", "double": "number",
        "decimal": "number", "bool": "boolean", "str": "string", "text": "string", "list": "array", "map": "object", "dict": "object",
        "struct": "object",
    ]

    /// What to use instead of keywords that shapes do not support.
    static let advice = [
        "pattern": "shapes hold no regular expressions: use enum, format, or check it in the program",
        "oneOf": "make an event type of each alternative", "anyOf": "make an event type of each alternative",
        "allOf": "write the members out in one shape", "not": "say what is allowed",
        "if": "make an event type of each alternative", "patternProperties": "additionalProperties: SHAPE is a map with any names",
        "nullable": "type: [string, \"null\"]", "optional": "leave the name out of required", "examples": "put fixtures into fixtures/vN",
        "exclusiveMinimum": "use minimum", "exclusiveMaximum": "use maximum", "uniqueItems": "check it in the program",
        "$id": "references are local: \"#/$defs/Name\"", "$defs": "$defs belongs at the top level of the file",
    ]
}
