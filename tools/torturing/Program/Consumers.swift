import Foundation
import Glibc
import Platform
import TestSupport
import Torturing

extension TortureCase {
    /// Events for each kill that was asked for, the most kills of a trial, and processes that ask for the name.
    private static let (eventsPerKill, killsMax, rivals) = (500, 2_000, 4)

    static let consumers = TortureCase(
        "R24",
        "of 4 processes that consume under one name the holder is killed or asked to end, while events are appended, replayed, rolled back",
        goal: 16, seconds: 20, floor: 2, runsPerTrial: 8
    ) { trial in
        let scene = trial.stage.place("consumed")
        try SparseFile.copy(try trial.stage.prepared(.replay).scene, to: scene)
        // Where there is a time to keep to, many small trials; where there is none, one as large as was asked for.
        let events = (trial.deadline == nil ? min(trial.wanted, killsMax) : 8) * eventsPerKill
        let consuming = Consuming(scene: scene)
        let driver = try trial.stage.start(["drive", scene, "\(events)"], seconds: 3_600)
        var rivals: [Running] = []
        var (killed, asked): (Set<Int32>, Int) = ([], 0)
        /// Ends one, and says what is wrong with how it ended.
        func end(_ rival: Running, by signal: Int32, _ trial: inout Trial) throws {
            rival.send(signal: signal)
            let outcome = try rival.wait()
            if outcome.ending == .signal(SIGKILL), signal == SIGKILL { killed.insert(rival.id) }
            if outcome.ending != (signal == SIGKILL ? .signal(SIGKILL) : .exit(0)) {
                try trial.fail("a consumer, by signal \(signal): \(outcome.ending) \(outcome.errors.suffix(300))", scene: scene)
            }
            if signal == SIGTERM { asked += 1 }
        }
        while trial.failures.isEmpty {
            while rivals.count < Self.rivals {
                rivals.append(try trial.stage.start(["consume", scene, "1", "\(trial.chance.next() % 1_000_000)"], seconds: 3_600))
            }
            let isAlive = driver.isRunning(after: Int32.random(in: 20 ... 300, using: &trial.chance))
            if !isAlive, try trial.stage.worker("arrived", scene).output.contains("true") { break }
            // Whoever has made the last effect is the holder, or was a moment ago.
            let holder = try lastMaker(consuming.effects)
            guard let number = rivals.firstIndex(where: { $0.id == holder }) else { continue }
            let isKill = Int.random(in: 0 ..< 4, using: &trial.chance) > 0
            try end(rivals.remove(at: number), by: isKill ? SIGKILL : SIGTERM, &trial)
            trial.runs += 1
        }
        for rival in rivals { try end(rival, by: trial.failures.isEmpty ? SIGTERM : SIGKILL, &trial) }
        let outcome = try driver.wait()
        if outcome.ending != .exit(0) { try trial.fail("the driver: \(outcome.ending) \(outcome.errors.suffix(300))", scene: scene) }
        guard trial.failures.isEmpty else { return }
        let words = ["consumed", scene, killed.map(String.init).joined(separator: ",")]
        let judged = try trial.stage.start(words, seconds: 600).wait()
        guard judged.ending == .exit(0), let line = judged.lines.last else { throw Failure("\(judged.ending) \(judged.errors)") }
        let verdict = try JSONDecoder().decode(ConsumingVerdict.self, from: Data(line.utf8))
        Runner.say(
            "R24: \(events) events appended, \(verdict.effects) effects, \(verdict.repeated) of them again after \(killed.count) kills; asked to end \(asked) times"
        )
        if !verdict.problems.isEmpty { try trial.fail(verdict.problems.prefix(3).joined(separator: "; "), scene: scene) }
        try FileManager.default.removeItem(atPath: scene)
    }

    /// The process that has written the last whole line; nil where there is none.
    private static func lastMaker(_ effects: String) throws -> Int32? {
        guard let file = FileHandle(forReadingAtPath: effects) else { return nil }
        defer { try? file.close() }
        let size = try file.seekToEnd()
        try file.seek(toOffset: size - min(size, 400))
        let lines = String(decoding: try file.readToEnd() ?? Data(), as: UTF8.self).split(separator: "\n")
        return lines.last.flatMap { Consuming.Effect($0) }?.process
    }
}

/// What is said of the effects of a scene.
struct ConsumingVerdict: Codable {
    var problems: [String]
    var effects: Int
    var repeated: Int
}
