import Foundation
import Platform
import TestSupport
import Torturing

extension TortureCase {
    private static let interruptions = 6

    static let growths = TortureCase(
        "R9", "random histories: followed = replayed = with any number of threads = interrupted anywhere and run again",
        goal: 2_100, seconds: 12, floor: 7, runsPerTrial: interruptions + 1
    ) { trial in
        let scene = trial.stage.place("history")
        try FileManager.default.createDirectory(atPath: scene, withIntermediateDirectories: true)
        let grown = try trial.stage.worker("grow", scene + "/store", "\(trial.chance.next() % 1_000_000_000)")
        guard grown.ending == .exit(0) else {
            return try trial.fail("a history: \(grown.ending) \(grown.errors.suffix(300))", scene: scene)
        }
        let truth = try JSONDecoder().decode(Growth.Outcome.self, from: Data(grown.output.utf8))
        trial.runs += 1
        if !truth.problems.isEmpty { try trial.fail(truth.problems.joined(separator: "; "), scene: scene) }
        var scenes: [JudgedScene] = []
        for _ in 0 ..< interruptions {
            let copy = trial.stage.place("interrupted")
            try SparseFile.copy(scene, to: copy)
            try Data().write(to: URL(filePath: copy + "/acks"))
            let fault = DiskFault(.kill, at: Int.random(in: 1 ... 90, using: &trial.chance))
            scenes.append(try kill(.replay, copy, fault, &trial))
        }
        for (item, result) in zip(scenes, try trial.stage.judge(.replay, scenes.map(\.scene))) {
            trial.runs += 1
            var problems = [result.crash].compactMap(\.self)
            if let finding = result.finding {
                problems += [finding.found.refused, finding.again].compactMap(\.self) + finding.found.findings + finding.final.findings
                if finding.found.numbers != truth.numbers || finding.final.numbers != truth.numbers { problems.append("other events") }
                if finding.final.digests != truth.digests { problems.append("run again it comes to other rows") }
            }
            if !problems.isEmpty {
                try trial.fail("\(item.moments[0].what): \(problems.prefix(3).joined(separator: "; "))", scene: item.scene)
            }
        }
        for path in scenes.map(\.scene) + [scene] { try FileManager.default.removeItem(atPath: path) }
    }
}
