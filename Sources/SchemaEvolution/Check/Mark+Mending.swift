package import EventModel
package import JSONText

extension Mark {
    /// A repair of the value here, or of one below it.
    package func mend(_ change: Repair.Change, at path: String...) -> Repair {
        Repair(file: file, line: line, column: column, path: path, change)
    }

    package func mend(_ change: Repair.Change, below path: [String]) -> Repair {
        Repair(file: file, line: line, column: column, path: path, change)
    }

    /// The repair after which the op here hides the events that it blocks.
    package var hiding: Repair { mend(.swap("block", "{\"hide\":\"\(unexplainedReason)\"}")) }

    /// A repair that sets a member of the value here.
    package func mend(_ path: String..., to value: JSONValue) -> Repair {
        Repair(file: file, line: line, column: column, path: path, .set(value.text))
    }
}

extension FileProblem {
    /// The problem with repairs.
    package func mended(_ repairs: Repair?...) -> FileProblem {
        var problem = self
        problem.finding.repairs += repairs.compactMap(\.self)
        return problem
    }
}

extension FileNode {
    /// A repair that replaces this value.
    package func becomes(_ value: JSONValue) -> Repair { mark.mend(.set(value.text)) }
}

extension JSONValue {
    /// An op or an item as a file writes it.
    static func op(_ name: String, _ arguments: [(name: String, value: JSONValue)]) -> JSONValue {
        .object([.init(name: name, value: .object(arguments.map { .init(name: $0.name, value: $0.value) }))])
    }
}

/// The placeholder for a reason that only the author can give.
package let unexplainedReason = Finding.reasonMissing
