package import EventModel

/// One thing that is wrong with a file.
package struct FileProblem: Error, Hashable, Sendable {
    package var finding: Finding

    package init(_ id: String, _ message: String, at mark: Mark, fix: String? = nil) {
        finding = Finding(id: id, file: mark.file, line: mark.line, column: mark.column, message: message, fix: fix)
    }

    package init(_ finding: Finding) { self.finding = finding }
}

/// Everything that is wrong with some files, gathered so that one run shows all of it.
package struct FindingList: Sendable {
    package private(set) var findings: [Finding] = []

    package init() {}

    package mutating func add(_ finding: Finding) { findings.append(finding) }

    package mutating func add(_ problem: FileProblem) { findings.append(problem.finding) }

    package mutating func add(_ more: [Finding]) { findings += more }

    /// The body's result; nil, and a finding, where it throws.
    package mutating func attempt<Result>(_ body: () throws(FileProblem) -> Result) -> Result? {
        do { return try body() } catch {
            add(error)
            return nil
        }
    }

    package var hasErrors: Bool { findings.contains { $0.severity == .error } }
}

/// The ids of findings on a file as such, before it is compared with others.
package enum FileRule {
    /// Not JSON, not YAML, or YAML that is refused: anchors, aliases, tags, merge keys, tabs …
    package static let syntax = "FILE001"
    /// A member that the format does not have, or one that is missing.
    package static let member = "FILE002"
    /// A value of the wrong kind, or out of its range.
    package static let value = "FILE003"
    /// A shape with a keyword that shapes do not have, or one that contradicts itself.
    package static let shape = "FILE004"
    /// A reference that leads nowhere or back to itself.
    package static let reference = "FILE005"
    /// A stream template that can't be read, or does not fit its shape.
    package static let stream = "FILE006"
    /// A file of a newer format than this program knows.
    package static let format = [Finding].newerFormat
    /// A name that looks like another and has other bytes.
    package static let lookAlike = "FILE008"
}
