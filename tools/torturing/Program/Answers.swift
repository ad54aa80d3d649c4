import Foundation
import TestSupport
import Torturing

extension TortureCase {
    private static let answersPerTrial = 12

    /// R5 asks whether what was promised is kept, this one also whether what was refused is not there: a program that is told
    /// "not made" makes its append again.
    static let answers = TortureCase(
        "R20", "any errno from any call of an append: no answer is the wrong one",
        goal: 480, seconds: 15, floor: 24, runsPerTrial: answersPerTrial
    ) { trial in
        let job: Job = trial.index % 4 == 3 ? .sealed : .append
        let base = try trial.stage.prepared(job)
        let errors = DiskFault.errors.keys.sorted()
        var scenes: [JudgedScene] = []
        for number in 0 ..< answersPerTrial {
            let scene = trial.stage.place("answered")
            try SparseFile.copy(base.scene, to: scene)
            let deeds: [DiskFault.Deed] = [.fail, .late, .failing]
            // Every errno with every deed within two trials; the call is drawn.
            let fault = DiskFault(
                deeds[number % deeds.count], error: errors[(trial.index * answersPerTrial + number) / deeds.count % errors.count],
                at: Int.random(in: 1 ... max(base.calls, 1), using: &trial.chance))
            if let judged = try fail(job, scene, fault, &trial) { scenes.append(judged) }
        }
        try trial.judge(job, scenes, base.verdict)
        for item in scenes { try FileManager.default.removeItem(atPath: item.scene) }
    }
}
