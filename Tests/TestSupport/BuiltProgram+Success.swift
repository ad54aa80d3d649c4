package import EvstoreTesting

extension BuiltProgram {
    /// A program that ended otherwise than it had to.
    private struct Unsuccessful: Error, CustomStringConvertible { let description: String }

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
