internal import EventModel

/// What a check has found: one object, or lines whose places editors recognize, and the exit code that goes with them.
struct CheckReport: Report {
    let findings: [Finding]
    /// What was checked, in words.
    let checked: String
    /// How the command ends; nil where all is well. `ok` tells a script the same.
    let outcome: Exit?
    /// Further members for programs.
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

    /// Its place, the lines that are removed, and those that are added.
    var lines: [String] {
        if !remove.isEmpty || !insert.isEmpty { "@ \(file):\(line)" }
        remove.map { "- " + $0 }
        insert.map { "+ " + $0 }
        if let renamed { "@ \(file) is renamed \(renamed)" }
    }
}
