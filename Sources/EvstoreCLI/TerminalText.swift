internal import EventModel

extension String {
    /// The text with every scalar escaped that a terminal might act on, so that a name or a payload can't move the cursor, change the title
    /// or hide other text.
    var shown: String {
        if !unicodeScalars.contains(where: \.isTerminalControl) { return self }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar.isTerminalControl {
                result.append(contentsOf: scalar.jsonEscape.unicodeScalars)
            } else {
                result.append(scalar)
            }
        }
        return String(result)
    }

    /// One field of tab-separated values: backslash, tab and line ends are escaped as well.
    var field: String {
        var result = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\\": result += "\\\\"
            case "\t": result += "\\t"
            case "\n": result += "\\n"
            case "\r": result += "\\r"
            case _ where scalar.isTerminalControl: result += scalar.jsonEscape
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The text padded with spaces on the right.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }

    /// The text padded with spaces on the left.
    func aligned(to width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
}
