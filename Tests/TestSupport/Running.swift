internal import Foundation
package import Platform

/// A program that was started as a real process; both of its outputs go to files.
package final class Running {
    /// What a run left behind.
    package struct Outcome: Sendable {
        package let ending: ChildProcess.Ending
        /// Whether it was ended because it wrote nothing for too long.
        package let hung: Bool
        package let output: String
        package let errors: String

        /// -1 where a signal ended it.
        package var exit: Int32 { if case .exit(let code) = ending { code } else { -1 } }

        /// The signal that ended it, if one did.
        package var signal: Int32? { if case .signal(let number) = ending { number } else { nil } }

        package var lines: [String] { output.split(separator: "\n").map(String.init) }
    }

    // Not Foundation's: that reads past a buffer where it looks for open files.
    private let process: ChildProcess
    /// Its outputs are the files whose names begin so.
    private let files: String
    /// How long it may write nothing; nil for any time.
    private let patience: Duration?
    /// Removed with the outputs when the process has ended.
    private let scratch: String?

    /// Starts a program whose outputs stay.
    /// - Parameter files: a path; the outputs go to files whose names begin so.
    /// - Parameter seconds: how long it may write nothing before it is killed.
    package convenience init(
        _ program: String, _ arguments: [String], environment: [String: String] = [:], files: String, seconds: Double = 300
    ) throws {
        let process = try Self.start(program, arguments, environment, input: "/dev/null", files: files)
        self.init(process, files: files, patience: .seconds(seconds), scratch: nil)
    }

    /// Starts a program that reads a text and may write nothing for any time; `wait` removes its outputs.
    convenience init(_ program: String, _ arguments: [String], environment: [String: String], input: String) throws {
        let scratch = FileManager.default.temporaryDirectory.appending(path: "evstore-run-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        let (text, files) = (scratch.appending(path: "in"), scratch.appending(path: "run").path)
        try Data(input.utf8).write(to: text)
        let process = try Self.start(program, arguments, environment, input: text.path, files: files)
        self.init(process, files: files, patience: nil, scratch: scratch.path)
    }

    private init(_ process: ChildProcess, files: String, patience: Duration?, scratch: String?) {
        (self.process, self.files, self.patience, self.scratch) = (process, files, patience, scratch)
    }

    private static func start(
        _ program: String, _ arguments: [String], _ environment: [String: String], input: String, files: String
    ) throws -> ChildProcess {
        let values = ProcessInfo.processInfo.environment
            .merging(["SWIFT_BACKTRACE": "enable=no", "NO_COLOR": "1"]) { $1 }.merging(environment) { $1 }
        return try ChildProcess(
            program, arguments, environment: values.map { "\($0)=\($1)" },
            files: .init(input: input, output: files + ".out", errors: files + ".err"))
    }

    package var isRunning: Bool { process.isRunning }

    package var id: Int32 { process.id }

    /// Whether a signal stopped it, and none has continued it since.
    package var isStopped: Bool { process.isRunning && LockHolder(process: process.id, isShared: false).isStopped }

    package func send(signal: Int32) { process.send(signal: signal) }

    /// Waits so many milliseconds for its end; whether it is still running then.
    package func isRunning(after milliseconds: Int32) -> Bool { process.isRunning(after: milliseconds) }

    /// Returns when it has written these words, or when it or the other one has ended.
    package func waitUntil(said words: String, while other: Running) throws {
        while isRunning(after: 5), other.isRunning {
            if try text(".out").contains(words) { return }
        }
    }

    private func text(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: files + name)), as: UTF8.self)
    }

    /// Waits for the end of the process and takes what it left.
    package func wait() throws -> Outcome {
        let hung = try patience.map(killIfSilent) ?? false
        let outcome = Outcome(ending: process.wait(), hung: hung, output: try text(".out"), errors: try text(".err"))
        if let scratch { try FileManager.default.removeItem(atPath: scratch) }
        return outcome
    }

    /// Waits for the end of the process, and kills it where it writes nothing for too long; whether that was so.
    private func killIfSilent(for patience: Duration) throws -> Bool {
        var (hung, pause) = (false, Int32(1))
        var (written, since) = (0, Instant.now)
        while process.isRunning(after: pause) {
            pause = min(pause * 2, 20)
            let now = try FileManager.default.attributesOfItem(atPath: files + ".out")[.size] as? Int ?? 0
            if now != written { (written, since) = (now, .now) }
            if .now > since + patience {
                hung = true
                process.send(signal: SIGKILL)
            }
        }
        return hung
    }
}
