internal import Foundation

/// A program that is run as a real process: the `evstore` that was built beside the running tests, unless
/// another is named.
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

    package init(path: String? = nil, environment: [String: String] = [:]) {
        let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        self.path = path ?? products.appending(path: "evstore").path
        self.environment = environment
    }

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
    private let process = Process()
    private let scratch: URL

    fileprivate init(program: BuiltProgram, arguments: [String], input: String?) throws {
        scratch = FileManager.default.temporaryDirectory.appending(path: "evstore-run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        process.executableURL = URL(filePath: program.path)
        process.arguments = arguments
        process.environment = ProcessInfo.processInfo.environment
            .merging(["SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1"]) { $1 }.merging(program.environment) { $1 }
        process.standardOutput = try file("out")
        process.standardError = try file("err")
        let given = scratch.appending(path: "in")
        try Data((input ?? "").utf8).write(to: given)
        process.standardInput = try FileHandle(forReadingFrom: given)
        try process.run()
    }

    private func file(_ name: String) throws -> FileHandle {
        let url = scratch.appending(path: name)
        try Data().write(to: url)
        return try FileHandle(forWritingTo: url)
    }

    package var isRunning: Bool { process.isRunning }

    package func send(signal: Int32) { kill(process.processIdentifier, signal) }

    /// Waits for the end of the process and takes what it left.
    package func wait() throws -> BuiltProgram.Outcome {
        process.waitUntilExit()
        let bySignal = process.terminationReason == .uncaughtSignal
        let outcome = BuiltProgram.Outcome(
            exit: bySignal ? -1 : process.terminationStatus, signal: bySignal ? process.terminationStatus : nil,
            output: try String(contentsOf: scratch.appending(path: "out"), encoding: .utf8),
            errors: try String(contentsOf: scratch.appending(path: "err"), encoding: .utf8))
        try FileManager.default.removeItem(at: scratch)
        return outcome
    }
}
