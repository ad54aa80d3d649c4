package import EventModel
package import JSONText

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
    /// A copy of the problem with additional repairs.
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
