import Foundation
import Platform
import Synchronization
import Torturing

/// Runs the trials of cases, several at once, and says at the end what came of them.
final class Runner: Sendable {
    private struct Row: Codable {
        var name: String
        var runs = 0
        /// States that were drawn twice are judged once; as many as runs where nothing is drawn.
        var judged = 0
        var goal: Int
        /// With fewer runs the case has failed.
        var floor: Int
        var trials = 0
        var seed: UInt64
        var seconds = 0.0
        /// After how many seconds no other trial was begun; nil where there was no end.
        var budget: Double?
        var failures = 0
        var skipped: String?

        enum CodingKeys: String, CodingKey {
            case name = "case", runs, judged, goal, floor, trials, seed, seconds, budget, failures, skipped
        }
    }

    /// A case that fails and fails is not tried to its end.
    private static let failuresMax = 20

    let stage: Stage
    private let seed: UInt64
    private let jobs: Int
    private let isJSON: Bool
    private let rows = Mutex<[Row]>([])

    init(stage: Stage, seed: UInt64, jobs: Int, isJSON: Bool) {
        (self.stage, self.seed, self.jobs, self.isJSON) = (stage, seed, jobs, isJSON)
        Self.say("seed \(seed)")
    }

    /// - Parameter only: the number of the only trial, where there is to be but one.
    func run(_ item: TortureCase, _ effort: Effort, trial only: Int?) throws {
        let blank = Row(name: item.name, goal: item.goal, floor: effort.floor, seed: seed, budget: effort.seconds)
        if let obstacle = item.obstacle() {
            Self.say("SKIPPED  \(item.name)  \(item.title): \(obstacle)")
            return rows.withLock { rows in
                rows.append(blank)
                rows[rows.count - 1].skipped = obstacle
            }
        }
        let begin = Instant.now
        let deadline = effort.seconds.map { begin + .seconds($0) }
        let all = (try item.all?(stage)).map { ($0 + item.runsPerTrial - 1) / item.runsPerTrial }
        // A trial may come to fewer runs than it is meant to, so that the number of trials has no end but that of all that there are.
        let trials = only.map { $0 ..< $0 + 1 } ?? 0 ..< (all ?? .max)
        let next = Atomic(trials.lowerBound)
        let row = Mutex(blank)
        let begun = Mutex(0)
        // A trial that runs counts as what it is meant to come to, and one that has ended as one run at least.
        let isWanted: @Sendable () -> Bool = {
            begun.withLock { begun in
                let wanted = row.withLock { effort.runs - max($0.runs, $0.trials) - (begun - $0.trials) * item.runsPerTrial }
                if begun > 0, wanted <= 0 { return false }
                begun += 1
                return true
            }
        }
        DispatchQueue.concurrentPerform(iterations: min(jobs, trials.count)) { _ in
            while row.withLock({ $0.failures }) < Self.failuresMax, isWanted() {
                let index = next.add(1, ordering: .relaxed).oldValue
                // The first one is done, however little time there is.
                let isLate = index > trials.lowerBound && deadline.map { .now >= $0 } ?? false
                guard trials.contains(index), !isLate else { return }
                let trial = self.run(item, index, of: effort.runs, until: deadline)
                row.withLock {
                    $0.trials += 1
                    $0.runs += trial.runs
                    $0.judged += trial.judged == 0 ? trial.runs : trial.judged
                    $0.failures += trial.failures.count
                    $0.skipped = $0.skipped ?? trial.skipped
                }
            }
        }
        var done = row.withLock { $0 }
        let elapsed = begin.duration(to: .now).components
        done.seconds = Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18
        // What this machine can't do leaves fewer runs, but never none.
        let floor = done.skipped == nil ? effort.floor : min(effort.floor, 1)
        if done.runs < floor {
            done.failures += 1
            Self.say("FAILED  \(item.name) came to \(done.runs) runs, and \(floor) are the fewest that it may")
        }
        Self.say("\(item.name)  \(done.runs) runs, \(done.failures) failures, \(Int(done.seconds)) s  \(item.title)")
        if let skipped = done.skipped { Self.say("SKIPPED  a part of \(item.name): \(skipped)") }
        rows.withLock { $0.append(done) }
    }

    private func run(_ item: TortureCase, _ index: Int, of runs: Int, until deadline: Instant?) -> Trial {
        var trial = Trial(item.name, stage, seed: seed, index: index, wanted: runs, deadline: deadline)
        do {
            do { try item.trial(&trial) } catch { try trial.fail("the trial came to no end: \(error)") }
        } catch { Self.say("FAILED  what was found can't be kept: \(error)") }
        for failure in trial.failures {
            Self.say("FAILED  tools/torture --case \(item.name) --seed \(seed) --trial \(index)   \(failure)")
        }
        return trial
    }

    /// Prints the table; whether something failed.
    func report() throws -> Bool {
        let rows = rows.withLock { $0 }
        let failures = rows.reduce(0) { $0 + $1.failures }
        if isJSON {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            FileHandle.standardOutput.write(try encoder.encode(["cases": rows]) + Data([10]))
        } else {
            let heads = ["case", "runs", "judged", "floor", "goal", "trials", "seconds", "of", "failures", "seed"]
            Self.put(Self.line(heads))
            for row in rows {
                let seconds = String(format: "%.1f", row.seconds)
                let failures = row.skipped == nil ? "\(row.failures)" : row.trials == 0 ? "SKIPPED" : "\(row.failures) PARTLY"
                let budget = row.budget.map { String(format: "%.0f", $0) } ?? "-"
                Self.put(
                    Self.line(
                        [row.name, "\(row.runs)", "\(row.judged)", "\(row.floor)", "\(row.goal)", "\(row.trials)", seconds, budget]
                            + [failures, "\(row.seed)"]))
            }
        }
        let skipped = rows.filter { $0.skipped != nil }.map(\.name)
        if !skipped.isEmpty { Self.say("\(skipped.count) skipped: \(skipped.joined(separator: ", "))") }
        Self.say(failures == 0 ? "every promise was kept" : "\(failures) FAILED")
        return failures > 0
    }

    private static func line(_ cells: [String]) -> String {
        cells.map { $0.padding(toLength: 12, withPad: " ", startingAt: 0) }.joined()
    }

    private static func put(_ line: String) { FileHandle.standardOutput.write(Data("\(line)\n".utf8)) }

    /// What is not a result goes to standard error.
    static func say(_ line: String) { FileHandle.standardError.write(Data("\(line)\n".utf8)) }
}
