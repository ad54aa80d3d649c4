internal import Foundation
package import System

/// A process of the torture, which is ended when it says nothing for too long.
package final class Child {
    package struct Outcome: Sendable {
        package let ending: ChildProcess.Ending
        /// Whether it was ended because it took too long.
        package let hung: Bool
        package let output: String
        package let errors: String

        package var lines: [Substring] { output.split(separator: "\n") }
    }

    private let process: ChildProcess
    private let files: String
    private let patience: Duration

    /// - Parameter files: a path; what it says goes to files whose names begin so.
    /// - Parameter seconds: how long it may say nothing.
    package init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], files: String, seconds: Double = 300
    ) throws {
        var values = ProcessInfo.processInfo.environment.merging(["SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1"]) { $1 }
        values.merge(environment) { $1 }
        process = try ChildProcess(
            program, arguments, environment: values.map { "\($0)=\($1)" },
            files: .init(output: files + ".out", errors: files + ".err"))
        self.files = files
        patience = .seconds(seconds)
    }

    package var isRunning: Bool { process.isRunning }

    /// Whether it was stopped by a signal, and not yet told to go on.
    package var isStopped: Bool { process.isStopped }

    package func send(signal: Int32) { process.send(signal: signal) }

    /// Waits so many milliseconds for its end; whether it is still running then.
    package func isRunning(after milliseconds: Int32) -> Bool { process.isRunning(after: milliseconds) }

    /// Returns when it has said so, when it has ended, or another one has.
    package func waitUntil(said words: String, while other: Child) throws {
        while isRunning(after: 5), other.isRunning {
            if try text(".out").contains(words) { return }
        }
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: files + name)), as: UTF8.self)
    }

    package func wait() throws -> Outcome {
        var (hung, pause) = (false, Int32(1))
        var (said, since) = (0, ContinuousClock.now)
        while process.isRunning(after: pause) {
            pause = min(pause * 2, 20)
            let now = try FileManager.default.attributesOfItem(atPath: files + ".out")[.size] as? Int ?? 0
            if now != said { (said, since) = (now, .now) }
            if .now > since + patience {
                hung = true
                process.send(signal: SIGKILL)
            }
        }
        return Outcome(ending: process.wait(), hung: hung, output: try text(".out"), errors: try text(".err"))
    }
}
