package import EventModel
package import JSONText

package struct FileProblem: Error, Hashable, Sendable, CustomStringConvertible {
    package var finding: Finding

    package init(_ id: String, _ message: String, at mark: FileLocation, fix: String? = nil, repairs: [Repair] = []) {
        finding = Finding(id, at: mark, message, fix: fix, repairs: repairs)
    }

    package init(_ finding: Finding) { self.finding = finding }

    package var description: String { finding.message }
}

extension Finding {
    package init(
        _ id: String, _ severity: Severity = .error, at mark: FileLocation, _ message: String, fix: String? = nil, repairs: [Repair] = [],
        subject: String? = nil
    ) {
        self.init(id: id, severity: severity, file: mark.file, line: mark.line, column: mark.column, message: message, fix: fix)
        (self.repairs, self.subject) = (repairs, subject)
    }
}

/// Findings about files are collected, so that one run reports all of them.
extension [Finding] {
    package mutating func add(_ problem: FileProblem) { append(problem.finding) }

    /// The body's result; if the body throws, adds a finding and returns nil.
    package mutating func attempt<Result>(_ body: () throws(FileProblem) -> Result) -> Result? {
        do { return try body() } catch {
            add(error)
            return nil
        }
    }

    package var hasErrors: Bool { contains { $0.severity == .error } }
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
    /// A tag is invalid or does not fit its shape.
    package static let tag = "FILE009"
}

extension FileLocation {
    /// A repair of the value at this location, or of one below it.
    package func repair(_ change: Repair.Change, at path: String...) -> Repair {
        Repair(file: file, line: line, column: column, path: path, change)
    }

    package func repair(_ change: Repair.Change, below path: [String]) -> Repair {
        Repair(file: file, line: line, column: column, path: path, change)
    }

    /// The repair after which the op at this location hides the events that it now blocks.
    package var hiding: Repair { repair(.swap("block", "{\"hide\":\"\(unexplainedReason)\"}")) }

    /// A repair that sets a member of the value at this location.
    package func repair(_ path: String..., to value: JSONValue) -> Repair {
        Repair(file: file, line: line, column: column, path: path, .set(value.text))
    }
}

extension FileProblem {
    package func withRepairs(_ repairs: Repair?...) -> FileProblem {
        var problem = self
        problem.finding.repairs += repairs.compactMap(\.self)
        return problem
    }
}

extension FileNode {
    /// A repair that replaces this value.
    package func becomes(_ value: JSONValue) -> Repair { mark.repair(.set(value.text)) }
}

extension JSONValue {
    /// An op or item in the form of a version file.
    static func op(_ name: String, _ arguments: [(name: String, value: JSONValue)]) -> JSONValue {
        .object([.init(name: name, value: .object(arguments.map { .init(name: $0.name, value: $0.value) }))])
    }
}

/// The placeholder for a reason that only the author can give.
package let unexplainedReason = Finding.reasonMissing

extension [Finding] {
    private struct Cause: Hashable {
        var finding: Finding
        var rest: Substring
    }

    /// The maximum number of types that a message names.
    private static let namesMax = 20

    /// Merges findings that differ only in their type into one that names all types, at the location of the first.
    /// - Parameter ignoringPlaces: whether findings at different locations are merged too.
    package func merged(ignoringPlaces: Bool = false) -> [Finding] {
        var order: [Cause] = []
        var types: [Cause: [String]] = [:]
        var firsts: [Cause: Finding] = [:]
        for (index, finding) in enumerated() {
            var cause = Cause(finding: finding, rest: finding.message.dropFirst(finding.subject?.count ?? 0))
            (cause.finding.message, cause.finding.subject) = (finding.subject == nil ? "\(index)" : "", nil)
            if ignoringPlaces { (cause.finding.file, cause.finding.line, cause.finding.column) = (nil, nil, nil) }
            if firsts[cause] == nil {
                order.append(cause)
                firsts[cause] = finding
            }
            if let type = finding.subject { types[cause, default: []].append(type) }
        }
        return order.compactMap { cause in
            guard var finding = firsts[cause] else { return nil }
            if let names = types[cause], names.count > 1 {
                let subject = Self.list(names)
                (finding.message, finding.subject) = (subject + cause.rest, subject)
            }
            return finding
        }
    }

    private static func list(_ names: [String]) -> String {
        let shown = names.count > namesMax ? names.prefix(namesMax) + ["\(names.count - namesMax) other types"] : names[...]
        return shown.dropLast().joined(separator: ", ") + " and " + (shown.last ?? "")
    }
}
