internal import EventModel

/// What a check has found: one object, or lines whose places editors recognize.
struct CheckReport: Report {
    let findings: [Finding]
    /// What was checked, in words.
    let checked: String
    let ok: Bool
    /// Further members for programs.
    let extra: Members
    /// Lines for people above the first finding.
    let before: [String]

    /// - Parameter ok: whether all is well; where it is not given, whether no finding is an error.
    init(_ findings: [Finding], checked: String, ok: Bool? = nil, extra: Members = [:], before: [String] = []) {
        (self.findings, self.checked, self.extra, self.before) = (findings, checked, extra, before)
        self.ok = ok ?? !findings.contains { $0.severity == .error }
    }

    var members: Members { ["ok": ok, "findings": findings] + extra }

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
        (ok ? "ok: " : "NOT OK: ") + checked + (counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))")
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
