internal import Foundation
internal import System

/// A program that is run as a real process.
package struct BuiltProgram: Sendable {
    package let path: String
    /// What every run gets beside the environment of the tests.
    package var environment: [String: String]

    /// What a run left behind.
    package struct Outcome: Sendable {
        package let exit: Int32
        /// The signal that ended it, if one did.
        package let signal: Int32?
        package let output: String
        package let errors: String

        package var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    /// - Parameter name: of a program that was built beside the running tests.
    package init(_ name: String = "evstore", environment: [String: String] = [:]) {
        let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        self.init(path: products.appending(path: name).path, environment: environment)
    }

    package init(path: String, environment: [String: String] = [:]) { (self.path, self.environment) = (path, environment) }

    /// Starts the program without waiting for it; both of its outputs go to files.
    package func start(_ arguments: [String], input: String? = nil) throws -> Running {
        try Running(program: self, arguments: arguments, input: input)
    }

    /// Runs the program to its end.
    package func run(_ arguments: [String], input: String? = nil) throws -> Outcome {
        try start(arguments, input: input).wait()
    }

    package func run(_ arguments: String..., input: String? = nil) throws -> Outcome {
        try run(arguments, input: input)
    }
}

/// A run of the program that has begun.
package final class Running {
    // Not Foundation's: that reads past a buffer where it looks for open files.
    private let process: ChildProcess
    private let scratch: URL

    fileprivate init(program: BuiltProgram, arguments: [String], input: String?) throws {
        let scratch = FileManager.default.temporaryDirectory.appending(path: "evstore-run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        try Data((input ?? "").utf8).write(to: scratch.appending(path: "in"))
        let environment = ProcessInfo.processInfo.environment
            .merging(["SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1"]) { $1 }.merging(program.environment) { $1 }
        process = try ChildProcess(
            program.path, arguments, environment: environment.map { "\($0)=\($1)" },
            files: .init(
                input: scratch.appending(path: "in").path, output: scratch.appending(path: "out").path,
                errors: scratch.appending(path: "err").path))
        self.scratch = scratch
    }

    package var isRunning: Bool { process.isRunning }

    package var id: Int32 { process.id }

    package func send(signal: Int32) { process.send(signal: signal) }

    /// Waits for the end of the process and takes what it left.
    package func wait() throws -> BuiltProgram.Outcome {
        var (exit, signal): (Int32, Int32?) = (-1, nil)
        switch process.wait() {
        case .exit(let code): exit = code
        case .signal(let number): signal = number
        }
        let outcome = BuiltProgram.Outcome(
            exit: exit, signal: signal, output: try String(contentsOf: scratch.appending(path: "out"), encoding: .utf8),
            errors: try String(contentsOf: scratch.appending(path: "err"), encoding: .utf8))
        try FileManager.default.removeItem(at: scratch)
        return outcome
    }
}
