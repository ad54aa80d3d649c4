internal import Evstore
internal import Foundation
internal import Platform

/// Where a program lies that a command was given.
enum ProgramPath {
    /// The path of a program: as it is where it has a slash, else the first in PATH that may be run; nil where there is none.
    static func find(_ name: String) -> String? {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let paths = name.contains("/") ? [name] : directories.map { "\($0)/\(name)" }
        return paths.first { isFile($0) && FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static func isFile(_ path: String) -> Bool {
        do { return try Directory.status(path)?.isFile ?? false } catch { return false }
    }
}

/// A program that handles the events of a consumer: lines on its standard input, its exit code is the answer.
struct ProgramRun: Sendable {
    private let path: String
    private let arguments: [String]
    private let lines: [UInt8]
    private let context: ConsumerContext

    init(_ path: String, _ arguments: [String], _ lines: [UInt8], _ context: ConsumerContext) {
        (self.path, self.arguments, self.lines, self.context) = (path, arguments, lines, context)
    }

    /// - Throws: `Failed` where the program ended with another code than 0, or by a signal; `EvstoreError.consumerStopped` where it could
    ///   not be started, which no further attempt mends.
    func run() async throws {
        try await StoreThreads.run { () async throws in
            let own = ["EVSTORE_CONSUMER": context.consumer, "EVSTORE_ATTEMPT": String(context.attempt)]
            let environment = ProcessInfo.processInfo.environment.merging(own) { _, own in own }.map { "\($0.key)=\($0.value)" }
            switch try start(environment).wait() {
            case .exit(0): return
            case .exit(let code): throw Failed(description: "\(path) ended with exit code \(code)")
            case .signal(let signal): throw Failed(description: "\(path) was ended by signal \(signal)")
            }
        }
    }

    /// In a process group of its own, so that a ^C lets it come to its end.
    private func start(_ environment: [String]) throws -> ChildProcess {
        do {
            return try MemoryFile.lend(lines) { input throws(SystemFailure) in
                try ChildProcess(
                    path, arguments, environment: environment, files: .init(input: input, output: nil, errors: nil), inOwnGroup: true)
            }
        } catch {
            // What is missing for a moment, such as memory, or while the program is being written, may be there at the next attempt.
            guard error.isOfProgram else { throw Failed(description: "\(path) could not be started: \(error)") }
            let reason = "\(path) can't be started: \(error)"
            throw EvstoreError.consumerStopped(consumer: context.consumer, position: context.checkpoint.position, reason: reason)
        }
    }

    struct Failed: Error, CustomStringConvertible { let description: String }
}
