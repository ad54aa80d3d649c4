extension Unicode.Scalar {
    /// Whether a terminal might act on the scalar rather than show it: C0 and C1 controls but for the tab,
    /// delete, and the marks that turn the direction of writing.
    var commandsTerminals: Bool {
        value < 0x20 && self != "\t" || (0x7f ... 0x9f).contains(value) || properties.isBidiControl
    }

    /// The scalar, which is below U+10000, as JSON spells it: `\u001b`.
    var jsonEscape: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}

extension String {
    /// The text with every scalar escaped that a terminal might act on, so that a name or a payload can't move the cursor, change the title
    /// or hide other text.
    var shown: String {
        if !unicodeScalars.contains(where: \.commandsTerminals) { return self }
        var result = String.UnicodeScalarView()
        for scalar in unicodeScalars {
            if scalar.commandsTerminals {
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
            case _ where scalar.commandsTerminals: result += scalar.jsonEscape
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    /// The text with spaces up to a width, on the right.
    func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }

    /// The text with spaces up to a width, on the left.
    func aligned(to width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
}
