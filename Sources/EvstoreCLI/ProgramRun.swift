internal import Evstore
internal import Foundation
internal import Platform

/// Finds the program that a command names.
enum ProgramPath {
    /// The path of a program: unchanged where it has a slash, else the first executable in PATH; nil where there is none.
    static func find(_ name: String) -> String? {
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        let paths = name.contains("/") ? [name] : directories.map { "\($0)/\(name)" }
        return paths.first { isFile($0) && FileManager.default.isExecutableFile(atPath: $0) }
    }

    private static func isFile(_ path: String) -> Bool {
        do { return try Directory.status(path)?.isFile ?? false } catch { return false }
    }
}

/// A program that handles the events of a consumer: it reads lines on its standard input, and answers with its exit code.
struct ProgramRun: Sendable {
    let path: String
    let arguments: [String]
    let lines: [UInt8]
    let context: ConsumerContext

    /// - Parameter limit: seconds after which the program and the processes that it has started are told to end; nil where it may run for
    ///   ever.
    /// - Throws: `Failed` where the program ended with another code than 0, by a signal, or at the limit; `EvstoreError.consumerStopped`
    ///   where it could not be started and a further attempt can't help.
    func run(limit: Double? = nil) async throws {
        try await StoreThreads.run { () async throws in
            let own = ["EVSTORE_CONSUMER": context.consumer, "EVSTORE_ATTEMPT": String(context.attempt)]
            let environment = ProcessInfo.processInfo.environment.merging(own) { _, own in own }.map { "\($0.key)=\($0.value)" }
            let child = try start(environment)
            if let limit, !child.ends(within: .seconds(limit)) {
                child.sendGroup(signal: SIGTERM)
                if !child.groupEnds(within: Self.grace) { child.sendGroup(signal: SIGKILL) }
                _ = child.wait()
                throw Failed(description: "\(path) ran longer than it may and was ended")
            }
            switch child.wait() {
            case .exit(0): return
            case .exit(let code): throw Failed(description: "\(path) ended with exit code \(code)")
            case .signal(let signal): throw Failed(description: "\(path) was ended by signal \(signal)")
            }
        }
    }

    /// How long a program and the processes that it has started may take to end once they are told to.
    private static let grace = Duration.seconds(5)

    /// Starts the program in a process group of its own, so that ^C lets it finish.
    private func start(_ environment: [String]) throws -> ChildProcess {
        do {
            return try MemoryFile.lend(lines) { input throws(SystemFailure) in
                try ChildProcess(
                    path, arguments, environment: environment, files: .init(input: input, output: nil, errors: nil), inOwnGroup: true)
            }
        } catch {
            // A temporary obstacle, such as a lack of memory or a program that is being written, may be gone at the next attempt.
            guard error.isNotExecutable else { throw Failed(description: "\(path) could not be started: \(error)") }
            let reason = "\(path) can't be started: \(error)"
            throw EvstoreError.consumerStopped(consumer: context.consumer, position: context.checkpoint.position, reason: reason)
        }
    }

    struct Failed: Error, CustomStringConvertible { let description: String }
}
