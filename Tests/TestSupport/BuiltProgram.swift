internal import Foundation

/// A program that is run as a real process.
package struct BuiltProgram: Sendable {
    package typealias Outcome = Running.Outcome

    package let path: String
    /// What every run gets beside the environment of the tests.
    package var environment: [String: String]

    /// A program that ended otherwise than it had to.
    private struct Unsuccessful: Error, CustomStringConvertible { let description: String }

    /// - Parameter name: of a program that was built beside the running tests.
    package init(_ name: String = "evstore", environment: [String: String] = [:]) {
        let products = URL(filePath: CommandLine.arguments[0]).deletingLastPathComponent()
        self.init(path: products.appending(path: name).path, environment: environment)
    }

    package init(path: String, environment: [String: String] = [:]) { (self.path, self.environment) = (path, environment) }

    /// Starts the program without waiting for it; it may run for any time.
    package func start(_ arguments: [String], input: String? = nil) throws -> Running {
        try Running(path, arguments, environment: environment, input: input ?? "")
    }

    /// Runs the program to its end.
    package func run(_ arguments: [String], input: String? = nil) throws -> Outcome {
        try start(arguments, input: input).wait()
    }

    package func run(_ arguments: String..., input: String? = nil) throws -> Outcome {
        try run(arguments, input: input)
    }

    /// Runs the program to its end, which must be a success.
    @discardableResult
    package func must(_ arguments: [String], input: String? = nil) throws -> Outcome {
        let outcome = try run(arguments, input: input)
        guard outcome.exit == 0 else {
            let words = arguments.joined(separator: " ")
            throw Unsuccessful(description: "\(words): exit \(outcome.exit): \(outcome.errors)\(outcome.output)")
        }
        return outcome
    }

    @discardableResult
    package func must(_ arguments: String..., input: String? = nil) throws -> Outcome { try must(arguments, input: input) }

    /// A line of shell that must succeed.
    @discardableResult
    package static func shell(_ line: String) throws -> Outcome { try BuiltProgram(path: "/bin/sh").must("-ec", line) }
}
