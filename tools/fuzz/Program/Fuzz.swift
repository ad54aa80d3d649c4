// Broken files and events, so many of them, against everything that reads them. `--help` says how.
import ArgumentParser
import EvstoreTesting
import Foundation
import Fuzzing

@main
struct Fuzz: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "evstore-fuzz",
        abstract:
            "Changes version files, projection files, locks and events, and asks for an answer to each: the right result or a clear error.",
        discussion:
            """
            A case depends on the seed and its index only. What a case did wrong is printed with both; `--show I` prints its input.
            With --stores each case is a store, or a backup of one, in which a number of a row, a block or a report is at its end while every \
            checksum is right; then everything is asked of it.
            """)

    @Flag(help: "Change the rows of stores and backups instead.") var stores = false
    @Option(help: "The directory that holds the examples.") var schemas = "Schemas"
    @Option(help: "What the cases are made from; a random one where none is given.") var seed: UInt64?
    @Option(help: "How many cases.") var count: UInt64 = 1_000
    @Option(help: "The index of the first case.") var first: UInt64 = 0
    @Option(help: "How long a case may take, in seconds.") var deadline = 20.0
    @Option(help: "Failures after which to stop.") var failures = 20
    @Option(help: "Print the input of the case with this index and try it here.") var show: UInt64?
    @Option(help: ArgumentHelp("Where the worker says which case it is at.", visibility: .hidden)) var worker: String?

    mutating func run() async throws {
        let seed = self.seed ?? UInt64.random(in: 0 ... .max)
        if let worker { return try await Worker(at: worker, await trial(seed)).run(first ..< first + count) }
        if let show { return try await Worker(at: nil, await trial(seed)).show(show) }
        // Stores of the cases are made and thrown away: memory is room enough for them.
        if FileManager.default.isWritableFile(atPath: "/dev/shm") { unsafe setenv("TMPDIR", "/dev/shm", 1) }
        var supervisor = Supervisor(schemas: schemas, stores: stores, seed: seed, deadline: deadline)
        if try supervisor.run(first ..< first + count, failuresMax: failures) { throw ExitCode(1) }
    }

    private func trial(_ seed: UInt64) async throws -> Worker.Trial {
        if stores {
            let fuzzer = try await StoreFuzzer(schemas, seed: seed)
            return { index in
                let (kind, what, verdict) = await fuzzer.verdict(on: index)
                return (kind.rawValue, Array(what.utf8), verdict)
            }
        }
        let fuzzer = Fuzzer(try Seeds(directory: schemas), seed: seed)
        return { index in
            let input = fuzzer.input(index)
            return (input.kind.rawValue, Array("\(input.file)\n".utf8) + input.text, await fuzzer.verdict(on: input))
        }
    }
}
