internal import EventModel

extension String {
    /// The text with every scalar escaped that a terminal might act on, so that a name or a payload can't move the cursor, change the title
    /// or hide other text.
    var shown: String { unicodeScalars.contains(where: \.isTerminalControl) ? escaped([:]) : self }

    /// One field of tab-separated values: backslash, tab and line ends are escaped as well.
    var field: String { escaped(Self.fieldEscapes) }

    /// A JSON string.
    var jsonString: String { "\"" + escaped(Self.jsonEscapes) + "\"" }

    private static let fieldEscapes: [Unicode.Scalar: String] = ["\\": "\\\\", "\t": "\\t", "\n": "\\n", "\r": "\\r"]
    private static let jsonEscapes = fieldEscapes.merging(["\"": "\\\""]) { $1 }

    private func escaped(_ escapes: [Unicode.Scalar: String]) -> String {
        var result = ""
        for scalar in unicodeScalars {
            if let escape = escapes[scalar] ?? (scalar.isTerminalControl ? scalar.jsonEscape : nil) {
                result += escape
            } else {
                result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The text padded with spaces on the right.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }

    /// The text padded with spaces on the left.
    func aligned(to width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
}
