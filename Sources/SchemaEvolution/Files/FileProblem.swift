package import EventModel

/// A problem with a file.
package struct FileProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package var finding: Finding

    package init(_ id: String, _ message: String, at mark: FileLocation, fix: String? = nil) {
        finding = Finding(id, at: mark, message, fix: fix)
    }

    package init(_ finding: Finding) { self.finding = finding }

    package var description: String { finding.message }
}

extension Finding {
    /// A finding at a location in a file.
    package init(
        _ id: String, _ severity: Severity = .error, at mark: FileLocation, _ message: String, fix: String? = nil, repairs: [Repair] = []
    ) {
        self.init(id: id, severity: severity, file: mark.file, line: mark.line, column: mark.column, message: message, fix: fix)
        self.repairs = repairs
    }
}

/// Collects the findings about files, so that one run reports all of them.
package struct FindingList: Sendable {
    package private(set) var findings: [Finding] = []

    package init() {}

    package mutating func add(_ finding: Finding) { findings.append(finding) }

    package mutating func add(_ problem: FileProblem) { findings.append(problem.finding) }

    package mutating func add(_ more: [Finding]) { findings += more }

    /// The body's result; if the body throws, adds a finding and returns nil.
    package mutating func attempt<Result>(_ body: () throws(FileProblem) -> Result) -> Result? {
        do { return try body() } catch {
            add(error)
            return nil
        }
    }

    package var hasErrors: Bool { findings.contains { $0.severity == .error } }
}

/// The ids of findings about a single file, independent of other files.
package enum FileRule {
    /// The file is not valid JSON or YAML, or uses refused YAML features: anchors, aliases, tags, merge keys, tabs …
    package static let syntax = "FILE001"
    /// A member is unknown or missing.
    package static let member = "FILE002"
    /// A value has the wrong kind or is out of range.
    package static let value = "FILE003"
    /// A shape uses an unsupported keyword, or contradicts itself.
    package static let shape = "FILE004"
    /// A reference has no target or is circular.
    package static let reference = "FILE005"
    /// A stream template is invalid or does not fit its shape.
    package static let stream = "FILE006"
    /// The format of the file is newer than this program.
    package static let format = [Finding].newerFormat
    /// A name looks like another one but has different bytes.
    package static let lookAlike = "FILE008"
}
