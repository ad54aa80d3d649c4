package import EventModel
package import JSONText

extension Mark {
    /// A change of the value that stands here, or of what lies below it.
    package func mend(_ change: Repair.Change, at path: String...) -> Repair {
        Repair(file: file, line: line, column: column, path: path, change)
    }

    package func mend(_ change: Repair.Change, below path: [String]) -> Repair {
        Repair(file: file, line: line, column: column, path: path, change)
    }

    /// The op that stands here hides what it blocks.
    package var hiding: Repair { mend(.swap("block", "{\"hide\":\"\(unexplainedReason)\"}")) }

    /// A value for a member below the one that stands here.
    package func mend(_ path: String..., to value: JSONValue) -> Repair {
        Repair(file: file, line: line, column: column, path: path, .set(value.text))
    }
}

extension FileProblem {
    /// The same, with what mends it.
    package func mended(_ repairs: Repair?...) -> FileProblem {
        var problem = self
        problem.finding.repairs += repairs.compactMap(\.self)
        return problem
    }
}

extension FileNode {
    /// This value becomes another.
    package func becomes(_ value: JSONValue) -> Repair { mark.mend(.set(value.text)) }
}

extension JSONValue {
    /// An op or an item as a file writes it.
    static func op(_ name: String, _ arguments: [(name: String, value: JSONValue)]) -> JSONValue {
        .object([.init(name: name, value: .object(arguments.map { .init(name: $0.name, value: $0.value) }))])
    }
}

/// The placeholder where only the author can say why something is lost.
package let unexplainedReason = Finding.reasonMissing
