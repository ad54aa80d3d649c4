import Foundation
import Platform
import TestSupport
import Torturing

extension TortureCase {
    /// A longer pause in milliseconds is said, and fails where it could be a wait for the one that is stopped: those last as long as
    /// the deadlines. Beside it comes what threads wait for processors that others have.
    private static let pauseMax = (said: 100.0, failed: Bystander.deadlineSeconds * 500)

    static let standstills = TortureCase(
        "R21", "a process is stopped at a call while it appends, queries, imports, replays or rolls back: others go on and name it",
        goal: 24, seconds: 35, floor: 2, runsPerTrial: 1
    ) { trial in
        let scene = trial.stage.place("stopped")
        try SparseFile.copy(try trial.stage.prepared(.replay).scene, to: scene)
        let calls = try holding(trial.stage)
        // Spread over all calls, each trial at another one.
        let call = 1 + (trial.index * 37 + Int(trial.seed % 37)) % calls
        var disk = FaultyDisk(root: scene)
        disk.fault = DiskFault(.stop, at: call)
        let go = scene + "/go"
        // One that has had the store open before, and one that comes later.
        let early = try trial.stage.start(["bystand", scene, "1", go])
        try early.waitUntil(said: Bystander.ready, while: early)
        let holder = try trial.stage.start(["hold", scene], environment: try disk.environment)
        while holder.isRunning(after: 2), !holder.isStopped {}
        _ = FileManager.default.createFile(atPath: go, contents: nil)
        let late = try trial.stage.start(["bystand", scene, "2", go])
        var reports: [Bystander.Report] = []
        for bystander in [early, late] {
            let outcome = try bystander.wait()
            guard outcome.ending == .exit(0), let line = outcome.lines.last else {
                let end = outcome.hung ? "it hung" : "\(outcome.ending) \(outcome.errors.suffix(300))"
                try trial.fail("beside one stopped at call \(call): \(end)")
                continue
            }
            reports.append(try JSONDecoder().decode(Bystander.Report.self, from: Data(line.utf8)))
        }
        let wasStopped = holder.isStopped
        holder.send(signal: SIGCONT)
        let held = try holder.wait()
        // The others may have left it less to do.
        if wasStopped { trial.runs += 1 }
        var problems = reports.flatMap(\.problems)
        // What the others have done meanwhile may be in the way of what it does next.
        if held.ending != .exit(0), held.ending != .exit(1) { problems.append("the one that was stopped: \(held.ending) \(held.errors)") }
        for report in reports where report.pause > pauseMax.said + 3 * report.machine {
            let what = "a program paused for \(Int(report.pause)) ms, and a thread beside it for \(Int(report.machine))"
            Runner.say("stopped at call \(call): \(what)")
            if report.pause > pauseMax.failed + 3 * report.machine { problems.append(what) }
        }
        let seen = try trial.stage.worker("look", scene + "/store")
        let facts = try JSONDecoder().decode(Facts.self, from: Data(seen.output.utf8))
        problems += facts.findings + [facts.refused].compactMap(\.self)
        for report in reports {
            // Nobody is in the way of what waits for a processor that others have.
            if 4 * report.machine < Bystander.deadlineSeconds * 1_000 { problems += report.unheld }
            if !report.appended.allSatisfy(facts.numbers.contains) { problems.append("an append that had returned is gone") }
            if report.refused.contains(where: facts.numbers.contains) { problems.append("an append that was refused is there") }
        }
        if ProcessInfo.processInfo.environment["R21_SAYS"] != nil {
            for report in reports { Runner.say("call \(call): \(Int(report.pause)) ms, \(Int(report.machine)) ms, \(report.ends)") }
        }
        if !problems.isEmpty { try trial.fail("stopped at call \(call): \(problems.prefix(3).joined(separator: "; "))", scene: scene) }
        try FileManager.default.removeItem(atPath: scene)
    }

    /// How many calls one makes that nobody stops.
    private static func holding(_ stage: Stage) throws -> Int {
        try stage.heldCalls {
            let scene = stage.place("held")
            try SparseFile.copy(try stage.prepared(.replay).scene, to: scene)
            var disk = FaultyDisk(root: scene)
            disk.counter = stage.place("calls")
            try disk.resetCounter()
            let outcome = try stage.worker("hold", scene, environment: disk.environment)
            guard outcome.ending == .exit(0) else { throw Failure("one that nobody stops: \(outcome.ending) \(outcome.errors)") }
            try FileManager.default.removeItem(atPath: scene)
            return try disk.count().calls
        }
    }
}
