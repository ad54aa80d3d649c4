import ArgumentParser
import Foundation

struct Torture: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "tools/torture",
        abstract: "Hurts stores in every way that is known, and asks whether every promise was kept.",
        discussion: """
            Each case works on stores of its own, in memory where the machine has /dev/shm. A case is made of trials; \
            a trial follows from the seed and its number, and trials begin in the order of their numbers. A case of a tier goes on \
            until it comes to its goal or its seconds are over, and has failed with fewer runs than its floor. A failure prints the one line that repeats its trial, and \
            keeps its files. Processes and threads run as the machine lets them, so a trial that lets several of them \
            run does not repeat to the last call: the kept files show what was found.

            Cases that need root or something that this machine lacks are skipped, and named as skipped.

            CASES, each with its seconds, floor and goal in the short tier
            \(TortureCase.all.map { "  \($0.name) (\(Int($0.seconds)) \($0.floor) \($0.goal))  \($0.title)" }.joined(separator: "\n"))

            EXAMPLES
              tools/torture                                 the short tier, as in continuous integration
              tools/torture --tier night                    each case for forty times as long
              tools/torture --case R1 --seconds 3600        power cuts for an hour
              tools/torture --case R3 --seed 7 --trial 12   one trial again
            """)

    enum Tier: String, CaseIterable, ExpressibleByArgument {
        case ci, night

        /// What the seconds and the goal of each case are multiplied by.
        var factor: Int { self == .ci ? 1 : 40 }
        /// What the floors are: a night may have other work.
        var floorFactor: Int { self == .ci ? 1 : 10 }
    }

    @Option(help: "How much: ci, nine minutes; night, six hours.") var tier: Tier = .ci
    @Option(name: .customLong("case"), help: ArgumentHelp("Only these, as R1,R3.", valueName: "names")) var cases: String?
    @Option(help: "What everything is drawn from; a random one where none is given.") var seed: UInt64?
    @Option(help: "How many runs of each case, about, however long they take.") var count: Int?
    @Option(help: "How long each case goes on; a trial that has begun then is done.") var seconds: Double?
    @Option(help: "How many runs each case must have come to, or it has failed.") var floor: Int?
    @Option(help: "Only this trial.") var trial: Int?
    @Option(help: "How many trials at once.") var jobs = 2
    @Option(help: "Where the files of failures are kept.") var keep = "/tmp/evstore-torture-failures"
    @Flag(help: "Print the results as JSON, one object.") var json = false

    func validate() throws {
        if jobs < 1 { throw ValidationError("--jobs is 1 or more") }
        if count != nil, seconds != nil { throw ValidationError("--count or --seconds, not both") }
        if let seconds, !(0 ..< 1e9).contains(seconds) { throw ValidationError("--seconds is 0 or more") }
        if let floor, floor < 0 { throw ValidationError("--floor is 0 or more") }
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

    /// What the tier gives a case, where nothing else is asked for.
    private func effort(of item: TortureCase) -> Effort {
        if trial != nil { return Effort(runs: count ?? item.goal * tier.factor, seconds: nil, floor: floor ?? 0) }
        if count != nil || seconds != nil { return Effort(runs: count ?? .max, seconds: seconds, floor: floor ?? 0) }
        return Effort(
            runs: item.goal * tier.factor, seconds: item.seconds * Double(tier.factor), floor: floor ?? item.floor * tier.floorFactor)
    }

    func run() async throws {
        let stage = try Stage(keep: keep)
        defer { stage.remove() }
        let runner = Runner(stage: stage, seed: seed ?? UInt64.random(in: 0 ..< 1 << 32), jobs: jobs, isJSON: json)
        for item in try chosen() {
            try runner.run(item, effort(of: item), trial: trial)
        }
        if try runner.report() { throw ExitCode(1) }
    }
}
