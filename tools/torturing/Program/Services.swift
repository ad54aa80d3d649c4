import Foundation
import Glibc
import Platform
import TestSupport
import Torturing

extension TortureCase {
    #if Service
        private static let withoutServices: String? = nil
    #else
        private static let withoutServices: String? = "it was built without the trait Service"
    #endif
    private static let signalsPerTrial = 8

    static let services = TortureCase(
        "R25",
        "a group of three consumers, backups, drills and metrics is ended by SIGTERM at any moment while three tasks append",
        goal: 16, seconds: 10, floor: 2, runsPerTrial: signalsPerTrial, obstacle: { withoutServices }
    ) { trial in
        #if Service
            try end(groups: min(trial.wanted, signalsPerTrial), &trial)
        #endif
    }

    #if Service
        /// Starts groups on one store, one after the other, and ends each by SIGTERM.
        private static func end(groups count: Int, _ trial: inout Trial) throws {
            let scene = trial.stage.place("served")
            try SparseFile.copy(try trial.stage.prepared(.replay).scene, to: scene)
            var (slowest, verdict) = (0.0, ServingVerdict(problems: [], events: 0, appends: 0))
            for run in 0 ..< count {
                let group = try trial.stage.start(["serve", scene, "\(run)", "\(trial.chance.next() % 1_000_000)"], seconds: 300)
                try group.waitUntil(said: "serving", while: group)
                // Most moments are those of a group at work; some are of one that has hardly begun.
                let moment: Int32 = Int.random(in: 0 ..< 5, using: &trial.chance) == 0 ? 20 : 900
                _ = group.isRunning(after: Int32.random(in: 0 ... moment, using: &trial.chance))
                let asked = Instant.now
                group.send(signal: SIGTERM)
                let outcome = try group.wait()
                let seconds = asked.duration(to: .now) / .seconds(1)
                slowest = max(slowest, seconds)
                guard outcome.ending == .exit(0), seconds <= Serving.grace else {
                    return try trial.fail(
                        "a group ended with \(outcome.ending) after \(seconds) s\(outcome.hung ? ", killed" : ""): \(outcome.errors.suffix(300))",
                        scene: scene)
                }
                let judged = try trial.stage.worker("served", scene, run == count - 1 ? "last" : "next")
                guard judged.ending == .exit(0), let line = judged.lines.last else { throw Failure("\(judged.ending) \(judged.errors)") }
                verdict = try JSONDecoder().decode(ServingVerdict.self, from: Data(line.utf8))
                trial.runs += 1
                if !verdict.problems.isEmpty {
                    return try trial.fail("after signal \(run + 1): \(verdict.problems.prefix(3).joined(separator: "; "))", scene: scene)
                }
            }
            Runner.say(
                "R25: \(count) groups ended by SIGTERM, the slowest in \(Int(slowest * 1_000)) ms; \(verdict.appends) appends, \(verdict.events) events"
            )
            try FileManager.default.removeItem(atPath: scene)
        }
    #endif
}
