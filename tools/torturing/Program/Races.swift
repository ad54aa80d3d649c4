import Foundation
import Platform
import TestSupport
import Torturing

extension TortureCase {
    private static let (racers, operations) = (4, 50)

    static let races = TortureCase(
        "R10", "4 processes with 2 threads each append with expectations and read: one winner a revision, every read a prefix",
        goal: 160_000, seconds: 25, floor: 2_000, runsPerTrial: racers * operations * 2
    ) { trial in
        let scene = trial.stage.place("race")
        try SparseFile.copy(try trial.stage.prepared(.append).scene, to: scene)
        let notes = (0 ..< racers).map { "\(scene)/notes-\($0)" }
        let running = try notes.enumerated().map { id, file in
            try trial.stage.start(["race", scene + "/store", "\(id)", "\(trial.chance.next() % 1_000_000)", "\(operations)", file])
        }
        for racer in running {
            let outcome = try racer.wait()
            if outcome.ending != .exit(0) { try trial.fail("a racer: \(outcome.ending) \(outcome.errors.suffix(300))", scene: scene) }
        }
        trial.runs += racers * operations * 2
        if trial.failures.isEmpty {
            let outcome = try trial.stage.start(["anomalies", scene + "/store"] + notes).wait()
            guard outcome.ending == .exit(0) else { throw Failure("\(outcome.ending) \(outcome.errors)") }
            let problems = try JSONDecoder().decode([String].self, from: Data(outcome.output.utf8))
            if !problems.isEmpty { try trial.fail(problems.prefix(3).joined(separator: "; "), scene: scene) }
        }
        try FileManager.default.removeItem(atPath: scene)
    }
}
