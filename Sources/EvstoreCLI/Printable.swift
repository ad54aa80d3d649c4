internal import EventModel

/// A value with one spelling as JSON text, so that all commands write it alike.
protocol Printable {
    func write(into json: inout [UInt8])
}

extension Printable {
    var json: [UInt8] {
        var json: [UInt8] = []
        write(into: &json)
        return json
    }
}

/// An object. It keeps the order of its members, which scripts may rely on.
struct Members: Printable, ExpressibleByDictionaryLiteral {
    private let list: [(name: String, value: any Printable)]

    init(_ list: [(name: String, value: any Printable)]) { self.list = list }
    init(dictionaryLiteral members: (String, any Printable)...) { list = members.map { (name: $0.0, value: $0.1) } }

    static func + (a: Members, b: Members) -> Members { Members(a.list + b.list) }

    func write(into json: inout [UInt8]) {
        json.append(UInt8(ascii: "{"))
        for (index, member) in list.enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            member.name.write(into: &json)
            json.append(UInt8(ascii: ":"))
            member.value.write(into: &json)
        }
        json.append(UInt8(ascii: "}"))
    }
}

protocol PrintableObject: Printable {
    var members: Members { get }
}

extension PrintableObject {
    func write(into json: inout [UInt8]) { members.write(into: &json) }
}

/// What is printed as an object for programs, or as lines for people.
protocol Report: PrintableObject {
    @TextLines var lines: [String] { get }
}

@resultBuilder
enum TextLines {
    static func buildExpression(_ line: String) -> [String] { [line] }
    static func buildExpression(_ lines: [String]) -> [String] { lines }
    static func buildBlock(_ parts: [String]...) -> [String] { parts.flatMap(\.self) }
    static func buildOptional(_ part: [String]?) -> [String] { part ?? [] }
    static func buildEither(first part: [String]) -> [String] { part }
    static func buildEither(second part: [String]) -> [String] { part }
    static func buildArray(_ parts: [[String]]) -> [String] { parts.flatMap(\.self) }
}

struct CheckedJSON: Printable {
    let text: [UInt8]

    func write(into json: inout [UInt8]) { json += text }
}

extension Bool: Printable {
    func write(into json: inout [UInt8]) { json += (self ? "true" : "false").utf8 }
}

extension BinaryInteger where Self: Printable {
    func write(into json: inout [UInt8]) { json += String(self).utf8 }
}

extension Int: Printable {}
extension Int32: Printable {}
extension Int64: Printable {}
extension UInt32: Printable {}
extension UInt64: Printable {}

extension Double: Printable {
    /// A measured number, rounded to three decimal places.
    func write(into json: inout [UInt8]) { json += (isFinite ? String((self * 1_000).rounded() / 1_000) : "null").utf8 }
}

extension Duration: Printable {
    func write(into json: inout [UInt8]) { inSeconds.write(into: &json) }
}

extension Optional: Printable where Wrapped: Printable {
    func write(into json: inout [UInt8]) { if let self { self.write(into: &json) } else { json += "null".utf8 } }
}

extension Array: Printable where Element: Printable {
    func write(into json: inout [UInt8]) {
        json.append(UInt8(ascii: "["))
        for (index, element) in enumerated() {
            if index > 0 { json.append(UInt8(ascii: ",")) }
            element.write(into: &json)
        }
        json.append(UInt8(ascii: "]"))
    }
}

extension Dictionary: Printable where Key == String, Value: Printable {
    /// An object whose members are in the order of their names.
    func write(into json: inout [UInt8]) { Members(sorted { $0.key < $1.key }.map { ($0.key, $0.value) }).write(into: &json) }
}

extension String: Printable {
    func write(into json: inout [UInt8]) { json += jsonString.utf8 }
}

extension RawRepresentable where Self: Printable, RawValue: Printable {
    func write(into json: inout [UInt8]) { rawValue.write(into: &json) }
}

extension Position: Printable {}
extension SchemaVersion: Printable {}
extension Epoch: Printable {}

extension StreamName: Printable {
    func write(into json: inout [UInt8]) { text.write(into: &json) }
}

extension Timestamp: Printable {
    func write(into json: inout [UInt8]) { description.write(into: &json) }
}

extension String {
    /// The text with every scalar escaped that a terminal might act on, so that a name or a payload can't move the cursor, change the title
    /// or hide other text.
    var shown: String { unicodeScalars.contains(where: \.isTerminalControl) ? escaped([:]) : self }

    /// One field of tab-separated values: backslash, tab and line ends are escaped as well.
    var field: String { escaped(Self.fieldEscapes) }

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

    func padded(to width: Int) -> String { self + String(repeating: " ", count: Swift.max(0, width - count)) }

    func aligned(to width: Int) -> String { String(repeating: " ", count: Swift.max(0, width - count)) + self }
}

/// What a check has found: one object, or lines whose places editors recognize, and the exit code that goes with them.
struct CheckReport: Report {
    let findings: [Finding]
    let checked: String
    /// How the command ends; nil where all is well. `ok` tells a script the same.
    let outcome: Exit?
    let extra: Members
    /// Lines for people above the first finding.
    let before: [String]

    init(_ findings: [Finding], checked: String, outcome: Exit?, extra: Members = [:], before: [String] = []) {
        (self.findings, self.checked, self.outcome, self.extra, self.before) = (findings, checked, outcome, extra, before)
    }

    /// - Parameter failing: how the command ends where a finding is an error.
    init(_ findings: [Finding], checked: String, failing: Exit, extra: Members = [:], before: [String] = []) {
        let outcome = findings.contains { $0.severity == .error } ? failing : nil
        self.init(findings, checked: checked, outcome: outcome, extra: extra, before: before)
    }

    /// Prints the report, and ends the command as it says.
    func end(_ output: Output, isAside: Bool = false) throws {
        try output.print(self, isAside: isAside)
        if let outcome { throw outcome }
    }

    var members: Members { ["ok": outcome == nil, "findings": findings] + extra }

    var lines: [String] {
        before
        for finding in findings {
            finding.diagnosticLine + (finding.position.map { " (position \(grouped($0.rawValue)))" } ?? "")
            if let fix = finding.advice?.command { "  -> \(fix)" }
            finding.editLines
        }
        let counts = [Finding.Severity.error, .warning, .note].compactMap { severity in
            let count = findings.count { $0.severity == severity }
            return count == 0 ? nil : counted(count, severity.rawValue)
        }
        let verdict = outcome == nil ? "ok" : outcome == .quarantined ? "ok but for quarantined events" : "NOT OK"
        "\(verdict): \(checked)" + (counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))")
    }
}

extension Finding: PrintableObject {
    /// The finding as `verify`, `schema check` and `snapshot verify` print it for programs.
    var members: Members {
        [
            "id": id, "severity": severity.rawValue, "file": file, "line": line, "column": column, "position": position,
            "message": message, "fix": advice?.command, "edits": edits,
        ]
    }

    /// The edits for people, as they stand below the finding.
    var editLines: [String] { edits.flatMap(\.lines).map { "     " + $0 } }
}

extension FileEdit: Report {
    var members: Members { ["file": file, "line": line, "remove": remove, "insert": insert, "renamed": renamed] }

    var lines: [String] {
        if !remove.isEmpty || !insert.isEmpty { "@ \(file):\(line)" }
        remove.map { "- " + $0 }
        insert.map { "+ " + $0 }
        if let renamed { "@ \(file) is renamed \(renamed)" }
    }
}
