internal import EventModel

extension Output {
    /// Prints findings as one object, or as lines whose places editors recognize.
    /// - Parameters:
    ///   - isAside: whether the findings go to standard error, as notes beside the results.
    ///   - before: lines for people above the first finding.
    func findings(
        _ findings: [Finding], ok: Bool, extra: Members = [:], checked: String, isAside: Bool = false,
        before: [String] = []
    ) throws {
        func line(_ text: String) throws { if isAside { note(text) } else { try self.line(text) } }
        if json {
            try object(["ok": ok, "findings": findings] + extra)
            return
        }
        for text in before { try line(text) }
        for finding in findings {
            try line(finding.diagnosticLine + (finding.position.map { " (position \(grouped($0.rawValue)))" } ?? ""))
            if let fix = finding.advice?.command { try line("  -> \(fix)") }
            for edit in finding.edits { for text in edit.lines { try line("     " + text) } }
        }
        let counts = [(Finding.Severity.error, "error"), (.warning, "warning"), (.note, "note")].compactMap { severity, noun in
            let count = findings.count { $0.severity == severity }
            return count == 0 ? nil : counted(count, noun)
        }
        let all = counts.isEmpty ? "" : " (\(counts.joined(separator: ", ")))"
        try line((ok ? "ok: " : "NOT OK: ") + checked + all)
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
}

extension FileEdit: PrintableObject {
    /// The edit for people: its place, the lines that are removed, and those that are added.
    var lines: [String] {
        let isChange = !remove.isEmpty || !insert.isEmpty
        return (isChange ? ["@ \(file):\(line)"] : []) + remove.map { "- " + $0 } + insert.map { "+ " + $0 }
            + (renamed.map { ["@ \(file) is renamed \($0)"] } ?? [])
    }

    var members: Members { ["file": file, "line": line, "remove": remove, "insert": insert, "renamed": renamed] }
}
