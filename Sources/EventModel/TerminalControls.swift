extension Unicode.Scalar {
    /// Whether a terminal might interpret the scalar instead of showing it: C0 and C1 controls except the tab, delete, and marks that
    /// change the direction of writing.
    package var isTerminalControl: Bool {
        value < 0x20 && self != "\t" || (0x7f ... 0x9f).contains(value) || properties.isBidiControl
    }

    /// The scalar as a JSON escape, such as `\u001b`; it must be below U+10000.
    package var jsonEscape: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
