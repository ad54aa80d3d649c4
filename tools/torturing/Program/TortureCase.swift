import Foundation
import Platform
import TestSupport
import Torturing

/// One row of the table of goals: what is done, how often, and what makes a trial.
struct TortureCase: Sendable {
    let name: String
    let title: String
    /// The runs of a short tier that has all the time it wants.
    let goal: Int
    /// How long the short tier goes on where it does not come to the goal before.
    let seconds: Double
    /// Fewer runs than these are a failure of the short tier: a slow machine comes to more.
    let floor: Int
    /// How many runs one trial makes, about.
    let runsPerTrial: Int
    /// How many runs there are at all, where every one of them is tried.
    var all: (@Sendable (Stage) throws -> Int)?
    /// Why it can't be run here; nil where it can.
    let obstacle: @Sendable () -> String?
    let trial: @Sendable (inout Trial) throws -> Void

    init(
        _ name: String, _ title: String, goal: Int, seconds: Double, floor: Int, runsPerTrial: Int,
        obstacle: @escaping @Sendable () -> String? = { nil }, trial: @escaping @Sendable (inout Trial) throws -> Void
    ) {
        (self.name, self.title, self.runsPerTrial) = (name, title, runsPerTrial)
        (self.goal, self.seconds, self.floor) = (goal, seconds, floor)
        (self.obstacle, self.trial) = (obstacle, trial)
    }

    static let all: [TortureCase] = [
        .powerCuts, .fileSystemCuts, .kills, .flips, .failures, .fullDisks, .damages, .salvages, .growths, .races, .bounds, .backups,
        .forgeries, .secrets, .sharedCuts, .phaseCuts, .answers, .standstills, .remains,
        .consumers, .services,
    ]
}

/// How much of a case is done: so many runs, about, or as many as the seconds allow, and never fewer than the floor.
struct Effort {
    var runs: Int
    var seconds: Double?
    var floor: Int
}

/// A part of a case that its seed and its number reproduce.
struct Trial {
    let stage: Stage
    let name: String
    let seed: UInt64
    let index: Int
    /// How many runs of the case were asked for.
    let wanted: Int
    /// When its case has had its time; nil where it takes as long as it takes. A trial that has begun is done.
    let deadline: Instant?
    var chance: SeededGenerator
    /// States, processes or files that were tried.
    var runs = 0
    /// How many different ones of them a process has judged, where states are drawn.
    var judged = 0
    private(set) var failures: [String] = []
    /// Why a part of the case can't be run here.
    var skipped: String?

    init(_ name: String, _ stage: Stage, seed: UInt64, index: Int, wanted: Int, deadline: Instant?) {
        (self.stage, self.name, self.seed, self.index) = (stage, name, seed, index)
        (self.wanted, self.deadline) = (wanted, deadline)
        chance = SeededGenerator(seed: seed, name, index)
    }

    /// Notes what is wrong, and keeps the files that show it.
    mutating func fail(_ what: String, scene: String? = nil) throws {
        failures.append(what)
        guard let scene else { return }
        let kept = try stage.keep(scene, as: "\(name)-\(seed)-\(index)-\(failures.count)")
        failures[failures.count - 1] += " (files: \(kept))"
    }

    /// Lets a worker play in a scene of its own, from a seed, and notes what it says is wrong.
    mutating func ask(_ worker: String, _ words: String...) throws {
        let scene = stage.place(worker)
        try FileManager.default.createDirectory(atPath: scene, withIntermediateDirectories: true)
        let outcome = try stage.start([worker, scene, "\(chance.next() % 1_000_000_000)"] + words, seconds: 300).wait()
        guard outcome.ending == .exit(0), outcome.lines.count == 1 else {
            return try fail("\(outcome.hung ? "it hung" : "\(outcome.ending)") \(outcome.errors.suffix(400))", scene: scene)
        }
        let problems = try JSONDecoder().decode([String].self, from: Data(outcome.output.utf8))
        if !problems.isEmpty { try fail(problems.prefix(3).joined(separator: "; "), scene: scene) }
        try FileManager.default.removeItem(atPath: scene)
    }

    /// Has scenes judged, and notes what is wrong with each.
    mutating func judge(_ job: Job, _ scenes: [JudgedScene], _ verdict: Verdict) throws {
        let findings = try stage.judge(job, scenes.map(\.scene))
        judged += scenes.count
        for (item, result) in zip(scenes, findings) {
            for moment in item.moments {
                runs += 1
                let problems = item.problems(result, moment, verdict)
                if !problems.isEmpty {
                    try fail("\(job.rawValue), \(moment.what): \(problems.prefix(3).joined(separator: "; "))", scene: item.scene)
                }
            }
        }
    }
}

/// What has happened to a scene, and what had been promised then.
struct Moment {
    let what: String
    var promises: [Promise] = []
    var refusals: [Refusal] = []
    /// Whether the job has said that it was done.
    var finished = false
}

/// A scene after something has happened to it; or after any of several things that leave the same.
struct JudgedScene {
    let scene: String
    var moments: [Moment]

    init(scene: String, moments: [Moment]) { (self.scene, self.moments) = (scene, moments) }

    init(scene: String, what: String, promises: [Promise] = [], refusals: [Refusal] = [], finished: Bool = false) {
        self.init(scene: scene, moments: [Moment(what: what, promises: promises, refusals: refusals, finished: finished)])
    }

    func problems(_ result: (finding: Finding?, crash: String?), _ moment: Moment, _ verdict: Verdict) -> [String] {
        guard let finding = result.finding else { return [result.crash ?? ""] }
        return verdict.problems(finding, moment.promises, finished: moment.finished)
            + Refusal.broken(moment.refusals, by: finding.found.numbers)
    }
}
