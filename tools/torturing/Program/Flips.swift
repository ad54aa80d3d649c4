import Foundation
import TestSupport
import Torturing

extension TortureCase {
    private static let flipsPerTrial = 12

    /// What can happen at one call of a flip or a rollback.
    private enum Deed: CaseIterable { case kill, powerCut, ioError, diskFull }

    /// Every call of both jobs, with everything that can happen at it.
    private static func points(_ stage: Stage) throws -> [(job: Job, call: Int, deed: Deed)] {
        try [Job.replay, .rollback].flatMap { job in
            let calls = try stage.prepared(job).calls
            return (1 ... calls).flatMap { call in Deed.allCases.map { (job, call, $0) } }
        }
    }

    static let flips: TortureCase = {
        var item = TortureCase(
            "R4", "every call of a replay with its flip, and of a rollback: killed, power cut, EIO, ENOSPC",
            goal: 2_000, seconds: 70, floor: 72, runsPerTrial: flipsPerTrial
        ) { trial in
            let all = try points(trial.stage)
            // In an order that the seed draws: where time ends first, no job or call is left out every time.
            var order = SeededGenerator(seed: trial.seed, "R4 order", 0)
            let parts = Array(0 ..< (all.count + flipsPerTrial - 1) / flipsPerTrial).shuffled(using: &order)
            let own = all.dropFirst(parts[trial.index % parts.count] * flipsPerTrial).prefix(flipsPerTrial)
            for job in [Job.replay, .rollback] {
                var scenes: [JudgedScene] = []
                let base = try trial.stage.prepared(job)
                let cuts = own.filter { $0.job == job && $0.deed == .powerCut }
                let recorded = cuts.isEmpty ? nil : try record(job, base.scene, trial)
                for point in cuts {
                    guard let recorded else { break }
                    scenes.append(try cut(recorded, at: point.call, to: trial.stage.place("flip"), &trial))
                }
                for point in own where point.job == job && point.deed != .powerCut {
                    if let scene = try play(point.deed, at: point.call, job, base.scene, &trial) { scenes.append(scene) }
                }
                try trial.judge(job, scenes, base.verdict)
                for item in scenes { try FileManager.default.removeItem(atPath: item.scene) }
            }
        }
        item.all = { try points($0).count }
        return item
    }()

    private static func play(_ deed: Deed, at call: Int, _ job: Job, _ base: String, _ trial: inout Trial) throws -> JudgedScene? {
        let scene = trial.stage.place("flip")
        try SparseFile.copy(base, to: scene)
        if deed == .kill { return try kill(job, scene, DiskFault(.kill, at: call), &trial) }
        return try fail(job, scene, DiskFault(.fail, error: deed == .ioError ? EIO : ENOSPC, at: call), &trial)
    }
}
