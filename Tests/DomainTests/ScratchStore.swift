import EvstoreTesting
import TestSupport

/// A store in a directory of its own that real processes work on.
struct ScratchStore {
    let directory: TemporaryDirectory
    private let program: BuiltProgram
    private let schemas: String

    init(schemas: String) throws {
        directory = try TemporaryDirectory()
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.store])
        self.schemas = schemas
    }

    /// Runs a command that has to succeed.
    @discardableResult
    func run(_ arguments: String..., input: String? = nil) throws -> BuiltProgram.Outcome {
        try program.must(arguments + ["--schemas", schemas], input: input)
    }

    /// Runs a command whose exit code is the question.
    func attempt(_ arguments: String..., input: String? = nil) throws -> BuiltProgram.Outcome {
        try program.run(arguments + ["--schemas", schemas], input: input)
    }

    /// Starts a command, to kill it.
    func start(_ arguments: String..., input: String? = nil) throws -> Running {
        try program.start(arguments + ["--schemas", schemas], input: input)
    }
}
