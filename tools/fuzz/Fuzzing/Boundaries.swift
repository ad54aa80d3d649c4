internal import JSONText
internal import SchemaEvolution

/// Values at which readers and steps go wrong.
enum Boundaries {
    static let numbers = [
        "0", "-0", "1", "-1", "2", "0.0", "0.1", "1e0", "1E+2", "1e-7", "1e400", "-1e400", "1e-400", "1e999999999", "1e-999999999",
        "1e9999999999", "2147483647", "2147483648", "4294967296", "-2147483649", "9007199254740993", "9223372036854775807",
        "9223372036854775808", "-9223372036854775808", "18446744073709551616", "123456789012345678901234567890.000000000000000000001",
        String(repeating: "9", count: 400),
    ]
    static let texts = [
        "", " ", "/", "//", "/a//b", "~", "/~", "/~2", "/-", "/0", "*", "/*", "$", "$time", "$stream", "$item", "{", "}", "{}", "{/}",
        "{/a}{/b}", "order-{/id}", "\u{0}", "\u{FEFF}", "\u{2028}", "e\u{301}", "🧭", "\"", "\\", "\n", "\t", "null", "true", "~/", "-",
        "1", "1.0.0", "2026-01-01", "2026-02-30", "2026-03-02T10:00:00Z", "9999-12-31T23:59:60Z", "0001-01-01T00:00:00+23:59",
        String(repeating: "x", count: 5_000), String(repeating: "/a", count: 200),
    ]
    /// Names that the formats know beside those in the examples.
    static let words =
        OpRegistry.names + CodecRegistry.names + [
            "on", "all", "do", "down", "block", "hide", "as", "because", "restore", "absent", "empty", "equals", "missing", "error",
            "separator", "at", "first", "last", "using", "to", "canonical", "type", "object", "array", "string", "integer", "number",
            "boolean", "null", "enum", "const", "required", "properties", "items", "additionalProperties", "$ref", "$defs", "format",
            "date-time", "uuid", "minimum", "maximum", "minLength", "maxLength", "pattern", "nullable", "default", "adopt", "forward",
            "released", "labels", "like", "previous", "since", "key", "set", "append", "delete", "only-existing", "value", "row", "initial",
            "case", "keep", "otherwise", "quarantine",
        ]
    static let tokens = [
        "&a ", "*a", "!!binary ", "!x ", "<<: ", "- ", "? ", ": ", "| ", "> ", "---\n", "...\n", "%YAML 1.2\n", "\t", "\u{FEFF}", "\u{0}",
        "\u{2028}", "\u{85}", "\r", "\r\n", "{", "}", "[", "]", ",", "\"", "'", "#", "\\u0000", "\\ud800", "{a: 1, a: 2}", "[[[[[[",
        "1e9999999999",
        "0x1F", "0o7", ".inf", ".nan", "yes", "~", "2026-01-01", "\\",
    ]
}
