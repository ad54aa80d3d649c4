internal import JSONText

/// Values that are likely to reveal errors in a step.
enum BoundaryValues {
    static let texts = ["", " ", "a b", "ü \"q\"", "\u{0}\u{1F}", "x/y~z", "日本語", "e\u{301}", "🧭", "\\", "null", "a  b ", "%"]
    /// Texts that codecs can parse.
    static let codecTexts = [
        "0", "42", "-7", "007", "9007199254740993", "12.50", "0.00", "-3.07", "1e3", "true", "false", "2026-03-02T10:00:00Z",
        "2026-03-02T10:00:00", "2026-03-02 10:00:00", "2026-03-02", "1970-01-01 00:00:00",
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

    /// The values with which the codecs of a scalar are tried.
    static func candidates(_ shape: Shape, _ constants: StepConstants) -> [JSONValue] {
        if let values = shape.enumeration { return values }
        if let constant = shape.constant { return [constant] }
        return switch shape.kind {
        case .string: (texts + codecTexts + constants.texts + times + dates + pairs(constants.separators)).map { .string($0) }
        case .integer: integers.map { .number($0) }
        case .number: (integers + fractions).map { .number($0) }
        case .boolean: [.bool(true), .bool(false)]
        case .object, .array, .null, .any: []
        }
    }

    private static func pairs(_ separators: [String]) -> [String] {
        let parts = ["0", "42", "-7", "007", "2026-03-02", "a", "ü"]
        return separators.flatMap { separator in parts.flatMap { first in parts.map { first + separator + $0 } } }
    }
}
