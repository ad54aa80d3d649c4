import EvstoreTesting
import Foundation
import TestSupport

/// Runs a worker over the cases, and another one behind each case that ends it.
struct Supervisor {
    private let schemas: String
    /// Whether cases are stores.
    private let stores: Bool
    private let seed: UInt64
    private let deadline: Double
    private var failures = 0
    private var counts: [String: Int] = [:]

    init(schemas: String, stores: Bool, seed: UInt64, deadline: Double) {
        (self.schemas, self.stores, self.seed, self.deadline) = (schemas, stores, seed, deadline)
    }

    /// Whether a case came out wrong, crashed or hung.
    mutating func run(_ cases: Range<UInt64>, failuresMax: Int) throws -> Bool {
        Output.line("seed \(seed), cases \(cases.lowerBound) to \(cases.upperBound - 1)")
        var next = cases.lowerBound
        while next < cases.upperBound, failures < failuresMax {
            guard let ended = try runWorker(next ..< cases.upperBound) else { break }
            next = ended + 1
        }
        for (name, count) in counts.sorted(by: { $0.key < $1.key }) { Output.line("\(count) \(name)") }
        Output.line(failures == 0 ? "every case was answered" : "\(failures) cases were not answered")
        return failures > 0
    }

    /// The case that ended the worker; nil where it tried all.
    private mutating func runWorker(_ cases: Range<UInt64>) throws -> UInt64? {
        let directory = try TemporaryDirectory()
        let place = try directory.write(String(repeating: "\0", count: 8), to: "case")
        var program = BuiltProgram(path: CommandLine.arguments[0])
        // What a worker that was killed leaves behind goes with the directory.
        program.environment["TMPDIR"] = directory.path
        let running = try program.start(
            [
                "--schemas", schemas, "--seed", "\(seed)", "--first", "\(cases.lowerBound)", "--count", "\(cases.count)", "--worker", place,
            ] + (stores ? ["--stores"] : []))
        var (last, since, hung) = (UInt64.max, Date(), false)
        while running.isRunning {
            Thread.sleep(forTimeInterval: 0.05)
            let now = try Self.index(at: place)
            if now != last { (last, since) = (now, Date()) }
            if Date().timeIntervalSince(since) > deadline {
                hung = true
                running.send(signal: SIGKILL)
            }
        }
        let outcome = try running.wait()
        for line in outcome.lines {
            let words = line.split(separator: " ", maxSplits: 2).map(String.init)
            guard words.count == 3 else { continue }
            if words[0] == "wrong" { note(words[1], words[2]) }
            if words[0] == "count" { counts[words[2], default: 0] += Int(words[1]) ?? 0 }
        }
        if outcome.exit == 0 { return nil }
        let index = try Self.index(at: place)
        let how = hung ? "hung for \(deadline) s" : outcome.signal.map { "crashed by signal \($0)" } ?? "ended with \(outcome.exit)"
        note("\(index)", "\(how) \(outcome.errors.split(separator: "\n").suffix(3).joined(separator: " "))")
        return index
    }

    private mutating func note(_ index: String, _ what: String) {
        failures += 1
        Output.line("FAILED  --seed \(seed) --show \(index)  \(what)")
    }

    private static func index(at place: String) throws -> UInt64 {
        try Data(contentsOf: URL(filePath: place)).prefix(8).reversed().reduce(0) { $0 << 8 | UInt64($1) }
    }
}
