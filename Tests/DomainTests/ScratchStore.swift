import EvstoreTesting
import Foundation
import Testing

/// A store in a directory of its own that real processes work on.
struct ScratchStore {
    let directory: URL
    private let program: BuiltProgram
    private let schemas: String

    init(schemas: String) throws {
        directory = FileManager.default.temporaryDirectory.appending(path: "evstore-domain-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        program = BuiltProgram(environment: ["EVSTORE_STORE": directory.appending(path: "store").path])
        self.schemas = schemas
    }

    func remove() throws { try FileManager.default.removeItem(at: directory) }

    /// Runs a command that has to succeed.
    @discardableResult
    func run(_ arguments: String..., input: String? = nil) throws -> BuiltProgram.Outcome {
        let outcome = try program.run(arguments + ["--schemas", schemas], input: input)
        try #require(outcome.exit == 0, "\(arguments): \(outcome.errors)\(outcome.output)")
        return outcome
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
