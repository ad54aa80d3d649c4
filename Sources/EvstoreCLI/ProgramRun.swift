internal import Evstore
internal import Foundation
internal import System

/// Where a program lies that a command was given.
enum ProgramPath {
    /// The path of a program: as it is where it has a slash, else the first in PATH that may be run; nil where there is none.
    static func find(_ name: String) -> String? {
        let manager = FileManager.default
        if name.contains("/") { return manager.isExecutableFile(atPath: name) ? name : nil }
        let directories = (ProcessInfo.processInfo.environment["PATH"] ?? "/usr/bin:/bin").split(separator: ":")
        return directories.map { "\($0)/\(name)" }.first { path in
            var isDirectory: ObjCBool = false
            return manager.fileExists(atPath: path, isDirectory: &isDirectory) && !isDirectory.boolValue
                && manager.isExecutableFile(atPath: path)
        }
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

    /// - Throws: `Failed` where the program ended with another code than 0, or by a signal.
    func run() async throws {
        try await StoreThreads.run { () async throws in
            let own = ["EVSTORE_CONSUMER": context.consumer, "EVSTORE_ATTEMPT": String(context.attempt)]
            let environment = ProcessInfo.processInfo.environment.merging(own) { _, own in own }.map { "\($0.key)=\($0.value)" }
            let input = try MemoryFile(lines)
            let child = try ChildProcess(
                path, arguments, environment: environment, files: .init(input: input.path, output: nil, errors: nil))
            switch child.wait() {
            case .exit(0): return
            case .exit(let code): throw Failed(description: "\(path) ended with exit code \(code)")
            case .signal(let signal): throw Failed(description: "\(path) was ended by signal \(signal)")
            }
        }
    }

    struct Failed: Error, CustomStringConvertible { let description: String }
}
