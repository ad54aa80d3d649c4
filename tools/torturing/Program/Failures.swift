import Foundation
import Platform
import TestSupport
import Torturing

extension TortureCase {
    private static let failuresPerTrial = 12

    static let failures = TortureCase(
        "R5", "EIO, ENOSPC or a short write at the n-th call, once or from there on",
        goal: 2_000, seconds: 30, floor: 36, runsPerTrial: failuresPerTrial
    ) { trial in
        let job = Job.drawn(trial.index)
        let base = try trial.stage.prepared(job)
        var scenes: [JudgedScene] = []
        for _ in 0 ..< job.points(of: failuresPerTrial) {
            let scene = trial.stage.place("failed")
            try SparseFile.copy(base.scene, to: scene)
            let deeds: [DiskFault.Deed] = [.fail, .fail, .failing, .short]
            let fault = DiskFault(
                deeds[Int.random(in: 0 ..< 4, using: &trial.chance)], error: Bool.random(using: &trial.chance) ? EIO : ENOSPC,
                at: Int.random(in: 1 ... max(base.calls, 1), using: &trial.chance))
            if let judged = try fail(job, scene, fault, &trial) { scenes.append(judged) }
        }
        try trial.judge(job, scenes, base.verdict)
        for item in scenes { try FileManager.default.removeItem(atPath: item.scene) }
    }

    /// Lets a call of a job fail. It must end by itself, with what it was asked for or a named error; nil where it did not.
    static func fail(_ job: Job, _ scene: String, _ fault: DiskFault, _ trial: inout Trial) throws -> JudgedScene? {
        var disk = FaultyDisk(root: scene)
        disk.fault = fault
        let outcome = try trial.stage.worker("run", job.rawValue, scene, "\(trial.index)", environment: disk.environment)
        if outcome.hung || ![.exit(0), .exit(1)].contains(outcome.ending) {
            trial.runs += 1
            let how = outcome.hung ? "it hung" : "\(outcome.ending)"
            try trial.fail("\(job.rawValue), \(fault): \(how) \(outcome.errors.suffix(300))", scene: scene)
            return nil
        }
        return JudgedScene(
            scene: scene, what: "\(fault)", promises: try Promise.all(scene + "/acks"), refusals: try Refusal.all(scene + "/acks"),
            finished: outcome.ending == .exit(0))
    }
}
