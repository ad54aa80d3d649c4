import Foundation
import Platform
import TestSupport
import Torturing

extension TortureCase {
    private static let killsPerTrial = 12

    static let kills = TortureCase(
        "R3", "kill -9 at every call of 54 appends, then at calls and moments by chance, of one of two processes where they append",
        goal: 500, seconds: 25, floor: 48, runsPerTrial: killsPerTrial
    ) { trial in
        let calls = try trial.stage.prepared(.append).calls
        let own = (1 ... max(calls, 1)).dropFirst(trial.index * killsPerTrial).prefix(killsPerTrial)
        if !own.isEmpty { return try kill(at: Array(own), &trial) }
        let job = Job.drawn(trial.index)
        let base = try trial.stage.prepared(job)
        var scenes: [JudgedScene] = []
        for number in 0 ..< job.points(of: killsPerTrial) {
            let scene = trial.stage.place("killed")
            try SparseFile.copy(base.scene, to: scene)
            // Three of four at a call, half of these in the middle of a write.
            let call = Int.random(in: 1 ... max(base.calls, 1), using: &trial.chance)
            let deed: DiskFault.Deed = Bool.random(using: &trial.chance) ? .kill : .sectors
            let fault = number % 4 == 3 ? nil : DiskFault(deed, at: call)
            scenes.append(try kill(job, scene, fault, &trial))
        }
        try trial.judge(job, scenes, base.verdict)
        for item in scenes { try FileManager.default.removeItem(atPath: item.scene) }
    }

    /// Lets appends be killed at calls that are named.
    private static func kill(at calls: [Int], _ trial: inout Trial) throws {
        let base = try trial.stage.prepared(.append)
        let scenes = try calls.map { call in
            let scene = trial.stage.place("killed")
            try SparseFile.copy(base.scene, to: scene)
            return try kill(.append, scene, DiskFault(.kill, at: call), &trial)
        }
        try trial.judge(.append, scenes, base.verdict)
        for item in scenes { try FileManager.default.removeItem(atPath: item.scene) }
    }

    /// Lets a job be killed: at a call, or after some time where none is named.
    static func kill(_ job: Job, _ scene: String, _ fault: DiskFault?, _ trial: inout Trial) throws -> JudgedScene {
        var disk = FaultyDisk(root: scene)
        disk.fault = fault
        let doomed = try trial.stage.start(
            ["run", job.rawValue, scene, "\(trial.index)"], environment: fault == nil ? [:] : try disk.environment)
        var other: (process: Running, acks: String)?
        if job.appends, Bool.random(using: &trial.chance) {
            // The other one's scene is the same store, with promises of its own.
            let beside = trial.stage.place("beside")
            try FileManager.default.createDirectory(atPath: beside, withIntermediateDirectories: true)
            try FileManager.default.createSymbolicLink(atPath: beside + "/store", withDestinationPath: scene + "/store")
            try Data().write(to: URL(filePath: beside + "/acks"))
            other = (try trial.stage.start(["run", job.rawValue, beside, "\(trial.index + 150)"]), beside + "/acks")
        }
        var what = fault?.description ?? "no fault"
        if fault == nil {
            let milliseconds = Int32.random(in: 1 ... 120, using: &trial.chance)
            _ = doomed.isRunning(after: milliseconds)
            doomed.send(signal: SIGKILL)
            what = "kill -9 after \(milliseconds) ms"
        }
        let outcome = try doomed.wait()
        if outcome.hung { try trial.fail("\(job.rawValue), \(what): it hung", scene: scene) }
        if outcome.ending != .signal(SIGKILL), outcome.ending != .exit(0) {
            try trial.fail("\(job.rawValue), \(what): \(outcome.ending) \(outcome.errors.suffix(300))", scene: scene)
        }
        var promises = try Promise.all(scene + "/acks")
        if let other {
            let outcome = try other.process.wait()
            if outcome.ending != .exit(0) || outcome.hung {
                try trial.fail(
                    "the process beside one that was killed (\(what)): \(outcome.ending) \(outcome.errors.suffix(300))", scene: scene)
            }
            promises += try Promise.all(other.acks)
            what += ", another process beside it"
        }
        return JudgedScene(scene: scene, what: what, promises: promises, finished: outcome.ending == .exit(0))
    }
}
