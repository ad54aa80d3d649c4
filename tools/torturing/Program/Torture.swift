import ArgumentParser
import Foundation

struct Torture: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tools/torture",
        abstract: "Hurts stores in every way that is known, and asks whether every promise was kept.",
        discussion: """
            Each case works on stores of its own, in memory where the machine has /dev/shm. A case is made of trials; \
            a trial follows from the seed and its number. A failure prints the one line that repeats its trial, and \
            keeps its files. Processes and threads run as the machine lets them, so a trial that lets several of them \
            run does not repeat to the last call: the kept files show what was found.

            Cases that need root or something that this machine lacks are skipped, and named as skipped.

            CASES
            \(TortureCase.all.map { "  \($0.name.padding(toLength: 4, withPad: " ", startingAt: 0))\($0.title)" }.joined(separator: "\n"))

            EXAMPLES
              tools/torture                              the short tier, as in continuous integration
              tools/torture --tier long --case R1        five million power cuts
              tools/torture --case R3 --seed 7 --trial 12   one trial again
            """)

    enum Tier: String, CaseIterable, ExpressibleByArgument { case ci, long }

    @Option(help: "How much: ci, some minutes; long, hours.") var tier: Tier = .ci
    @Option(name: .customLong("case"), help: ArgumentHelp("Only these, as R1,R3.", valueName: "names")) var cases: String?
    @Option(help: "What everything is drawn from; a random one where none is given.") var seed: UInt64?
    @Option(help: "How many runs of each case, about; those of the tier where it is not given.") var count: Int?
    @Option(help: "Only this trial.") var trial: Int?
    @Option(help: "How many trials at once.") var jobs = 2
    @Option(help: "Where the files of failures are kept.") var keep = "/tmp/evstore-torture-failures"
    @Flag(help: "Print the results as JSON, one object.") var json = false

    func validate() throws {
        if jobs < 1 { throw ValidationError("--jobs is 1 or more") }
        if let count, count < 1 { throw ValidationError("--count is 1 or more") }
        if let trial, trial < 0 { throw ValidationError("--trial is 0 or more") }
        if trial != nil && (seed == nil || cases?.contains(",") != false) {
            throw ValidationError("--trial goes with --seed and one --case")
        }
        _ = try chosen()
    }

    private func chosen() throws -> [TortureCase] {
        guard let cases else { return TortureCase.all }
        return try cases.split(separator: ",", omittingEmptySubsequences: false).map { name in
            guard let known = TortureCase.all.first(where: { $0.name.lowercased() == name.lowercased() }) else {
                throw ValidationError("there is no case \(name); there are \(TortureCase.all.map(\.name).joined(separator: ", "))")
            }
            return known
        }
    }

    func run() async throws {
        let stage = try Stage(keep: keep)
        defer { stage.remove() }
        let runner = Runner(stage: stage, seed: seed ?? UInt64.random(in: 0 ..< 1 << 32), jobs: jobs, isJSON: json)
        for item in try chosen() {
            let runs = count ?? (tier == .ci ? item.counts.short : item.counts.long)
            try runner.run(item, trials: trial.map { $0 ..< $0 + 1 } ?? 0 ..< max(1, runs / item.runsPerTrial), of: runs)
        }
        if try runner.report() { throw ExitCode(1) }
    }
}
