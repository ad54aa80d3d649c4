import Foundation
import Platform
import TestSupport
import Torturing

extension TortureCase {
    /// How many states are drawn of one recording, and how many different ones stand on the disk at once.
    private static let (states, batch) = (60, 20)
    /// How many states are drawn of a recovery that a second power cut has ended; after how many states there is another.
    private static let (recoveries, recoveryEvery) = (4, 20)

    static let powerCuts = TortureCase(
        "R1", "power cuts at any write, sync or name, with writes dropped, reordered and torn; recovery cut off, too",
        goal: 50_000, seconds: 60, floor: 144, runsPerTrial: states + states / recoveryEvery * recoveries
    ) { trial in
        let job = Job.drawn(trial.index)
        let base = try trial.stage.prepared(job)
        let calls = try record(job, base.scene, trial)
        try cut(calls, job, base.verdict, &trial)
    }

    /// What a worker does to its disk.
    private static func record(
        _ words: [String], _ root: String, _ log: String, _ stage: Stage
    ) throws -> (before: CrashState, recording: Recording) {
        var disk = FaultyDisk(root: root)
        disk.log = log
        let before = try CrashState(root)
        let outcome = try stage.start(words, environment: disk.environment).wait()
        guard outcome.ending == .exit(0) else { throw Failure("undisturbed: \(words) \(outcome.ending) \(outcome.errors)") }
        return (before, try Recording(log))
    }

    private static func cut(
        _ recorded: (before: CrashState, recording: Recording), _ job: Job, _ verdict: Verdict, _ trial: inout Trial
    ) throws {
        let calls = recorded.recording.calls
        let count = job.points(of: states)
        let cuts = (0 ..< count).map { _ in Int.random(in: 0 ... calls.count, using: &trial.chance) }.sorted()
        var (state, taken) = (recorded.before, 0)
        var scenes: [JudgedScene] = []
        // Cuts that leave the same state lie close to each other: it is judged once, for all of them.
        var known: [UInt64: Int] = [:]
        for (index, cut) in cuts.enumerated() {
            while taken < cut {
                try state.take(calls[taken])
                taken += 1
            }
            let (drawn, isRecovered) = (state.draw(&trial.chance), index % recoveryEvery == recoveryEvery / 2)
            let moment = Moment(
                what: "power cut at call \(cut) of \(calls.count)", promises: state.promises, finished: cut == calls.count)
            if let same = known[drawn.code], !isRecovered {
                scenes[same].moments.append(moment)
            } else {
                let scene = trial.stage.place("state")
                try drawn.write(to: scene)
                try Data().write(to: URL(filePath: scene + "/acks"))
                if isRecovered { try cutRecovery(of: scene, state.promises, cut, job, verdict, &trial) }
                known[drawn.code] = scenes.count
                scenes.append(JudgedScene(scene: scene, moments: [moment]))
            }
            guard scenes.count == batch || index == count - 1 else { continue }
            try trial.judge(job, scenes, verdict)
            for item in scenes { try FileManager.default.removeItem(atPath: item.scene) }
            (scenes, known) = ([], [:])
        }
    }

    /// One state of a job whose power is cut at a call.
    static func cut(
        _ recorded: (before: CrashState, recording: Recording), at call: Int, to scene: String, _ trial: inout Trial
    ) throws -> JudgedScene {
        var (state, recording) = recorded
        for done in recording.calls.prefix(call) { try state.take(done) }
        try state.draw(&trial.chance).write(to: scene)
        return JudgedScene(scene: scene, what: "power cut at call \(call)", finished: call > recording.calls.count)
    }

    /// What a job does to its disk.
    static func record(_ job: Job, _ base: String, _ trial: Trial) throws -> (before: CrashState, recording: Recording) {
        let (root, log) = (trial.stage.place("recorded"), trial.stage.place("recording"))
        defer { for path in [root, log] { removeQuietly(path) } }
        try SparseFile.copy(base, to: root)
        return try record(["run", job.rawValue, root, "\(trial.index)"], root, log, trial.stage)
    }

    /// The same for the process that opens a state: it is cut off in turn, and another one opens what is left.
    private static func cutRecovery(
        of scene: String, _ promises: [Promise], _ first: Int, _ job: Job, _ verdict: Verdict, _ trial: inout Trial
    ) throws {
        let (root, log) = (trial.stage.place("recovered"), trial.stage.place("recording"))
        defer { for path in [root, log] { removeQuietly(path) } }
        try SparseFile.copy(scene, to: root)
        var (state, recording) = try record(["judge", job.rawValue, root], root, log, trial.stage)
        let cuts = (0 ..< recoveries).map { _ in Int.random(in: 0 ... recording.calls.count, using: &trial.chance) }.sorted()
        var taken = 0
        var scenes: [JudgedScene] = []
        for cut in cuts {
            while taken < cut {
                try state.take(recording.calls[taken])
                taken += 1
            }
            let second = trial.stage.place("second")
            try state.draw(&trial.chance).write(to: second)
            scenes.append(
                JudgedScene(scene: second, what: "power cut at call \(first), and of its recovery at call \(cut)", promises: promises))
        }
        try trial.judge(job, scenes, verdict)
        for item in scenes { try FileManager.default.removeItem(atPath: item.scene) }
    }

    /// Removes what may not have been made.
    static func removeQuietly(_ path: String) {
        // What is left goes with the stage's directory.
        do { try FileManager.default.removeItem(atPath: path) } catch {}
    }
}
