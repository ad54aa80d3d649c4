/// Quotes a text for a message, shortened and with control characters escaped.
public func quoted(_ text: String) -> String {
    var result = "\""
    for scalar in text.unicodeScalars.prefix(80) {
        if scalar.isTerminalControl || scalar == "\t" {
            result += "\\u{\(String(scalar.value, radix: 16))}"
        } else {
            result.unicodeScalars.append(scalar)
        }
    }
    return result + (text.unicodeScalars.count > 80 ? "…\"" : "\"")
}

extension String {
    /// The text quoted as a single shell word.
    package var shellWord: String {
        let plain =
            !isEmpty
            && unicodeScalars.allSatisfy {
                $0.isASCII && ($0.properties.isAlphabetic || "0123456789-_./:=@%+,".unicodeScalars.contains($0))
            }
        return plain ? self : "'" + split(separator: "'", omittingEmptySubsequences: false).joined(separator: "'\\''") + "'"
    }
}

extension Unicode.Scalar {
    /// Whether a terminal might interpret the scalar: C0 and C1 controls except the tab, delete, and marks of the writing direction.
    package var isTerminalControl: Bool {
        value < 0x20 && self != "\t" || (0x7f ... 0x9f).contains(value) || properties.isBidiControl
    }

    /// The scalar as a JSON escape, such as `\u001b`; it must be below U+10000.
    package var jsonEscape: String {
        let digits = String(value, radix: 16)
        return "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
    }
}
