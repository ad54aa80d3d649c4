extension Unicode.Scalar {
    /// Whether a terminal might act on the scalar rather than show it: C0 and C1 controls but for the tab,
    /// delete, and the marks that turn the direction of writing.
    package var commandsTerminals: Bool {
        value < 0x20 && self != "\t" || (0x7f ... 0x9f).contains(value) || properties.isBidiControl
    }

    /// The scalar, which is below U+10000, as JSON spells it: `\u001b`.
    package var jsonEscape: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
