internal import JSONText

/// Values at which steps go wrong.
enum BoundaryValues {
    static let texts = ["", " ", "a b", "ü \"q\"", "\u{0}\u{1F}", "x/y~z", "日本語", "e\u{301}", "🧭", "\\", "null", "a  b ", "%"]
    /// What codecs read.
    static let codecTexts = [
        "0", "42", "-7", "007", "9007199254740993", "12.50", "0.00", "-3.07", "1e3", "true", "false", "2026-03-02T10:00:00Z",
        "2026-03-02T10:00:00", "2026-03-02 10:00:00", "2026-03-02", "1970-01-01 00:00:00",
    ]
    /// By the name of a codec.
    static let read = [
        "integer-text": ["0", "42", "-7"], "number-text": ["12.5", "0", "-7"], "boolean-text": ["true", "false"],
        "decimal": ["12.50", "0.00", "-3.07"], "local-time": ["2026-03-02 10:00:00", "1970-01-01 00:00:00"],
    ]
    static let integers = ["0", "1", "-1", "2", "1700000000", "9007199254740991", "9007199254740993", "-9007199254740993"]
    static let fractions = ["0.5", "-0.25", "12.50", "1e3", "0.1"]
    static let times = [
        "2026-03-02T10:00:00Z", "1970-01-01T00:00:00Z", "1969-12-31T23:59:59Z", "2024-02-29T12:00:00.5Z", "2026-03-02T10:00:00.123456Z",
        "2026-03-02T00:30:00+02:00", "2026-03-02T23:30:00-05:30", "9999-12-31T23:59:59Z",
    ]
    static let dates = ["2026-03-02", "1970-01-01", "2024-02-29", "9999-12-31"]
    static let names = ["a", "", "x/y~z", "ü"]
    static let anything: [JSONValue] = [
        .null, .bool(true), .number("9007199254740993"), .string(""), .string("a"), .array([.null, .number("1")]),
        .object([.init(name: "a", value: .object([.init(name: "", value: .array([]))]))]),
    ]
}
