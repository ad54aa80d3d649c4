internal import EventModel
internal import SchemaEvolution

/// How a case came out.
package enum Verdict: Sendable, Hashable {
    /// Taken, and everything that was asked of the result held.
    case accepted
    /// Refused by an error that says what is wrong and where.
    case refused
    case wrong(String)
}

/// What an error has to be as an answer to a broken input.
enum Judge {
    /// - Parameter lines: of the file that was read; nil where errors have no line.
    static func verdict(_ error: any Error, lines: Int? = nil) -> Verdict {
        complaint(error, lines: lines).map { .wrong("\($0): \(error)") } ?? .refused
    }

    static func verdict(_ findings: [Finding], lines: Int? = nil) -> Verdict? {
        for finding in findings { if let complaint = complaint(finding, lines: lines) { return .wrong("\(complaint): \(finding)") } }
        return nil
    }

    private static func complaint(_ error: any Error, lines: Int?) -> String? {
        guard let error = error as? EvstoreError else { return "an error that is not the store's own" }
        let details = error.details
        if details.code == "internalFailure" { return "an unforeseen failure" }
        if isEmpty(details.message) { return "an error without words" }
        switch error {
        case .schemaInvalid(let findings):
            if findings.isEmpty { return "an error without a finding" }
            return findings.lazy.compactMap { complaint($0, lines: lines) }.first
        case .refusedLine(let line, _, let inner), .refusedElement(_, let line, _, let inner):
            return line == 0 ? "a line before the first" : complaint(inner, lines: nil)
        case .invalidJSON(_, let offset): return offset < 0 ? "an offset before the text" : nil
        case .misuse, .ioFailure, .storeDamaged, .corruptBlock, .verificationFailed: return "an error that no input may lead to"
        default: return nil
        }
    }

    private static func complaint(_ finding: Finding, lines: Int?) -> String? {
        if isEmpty(finding.message) || finding.id.isEmpty { return "a finding without words" }
        guard let lines else { return nil }
        if finding.file?.isEmpty ?? true { return "a finding without a file" }
        guard let line = finding.line, let column = finding.column else {
            // What is wrong with the files together lies in no line of one.
            return finding.id.hasPrefix("LOG") ? nil : "a finding without a place"
        }
        return line < 1 || column < 1 || line > lines + 1 ? "a place outside the file" : nil
    }

    private static func isEmpty(_ words: String) -> Bool { words.allSatisfy(\.isWhitespace) }
}

extension [UInt8] {
    /// How many lines a text has, by any of YAML's line breaks.
    var lineCount: Int {
        String(decoding: self, as: UTF8.self).unicodeScalars.count { "\n\r\u{85}\u{2028}\u{2029}".unicodeScalars.contains($0) } + 1
    }
}
