import Foundation
import Platform
import TestSupport
import Torturing

extension TortureCase {
    /// How many states are drawn of one recording, and how many recordings one trial makes: each goes on from a state of the
    /// one before.
    private static let (sharedStates, sharedRounds) = (30, 2)

    static let sharedCuts = TortureCase(
        "R18", "power cuts of two to five processes on one store, which are killed at any call or fail to sync, some slowly",
        goal: 50_000, seconds: 25, floor: 62, runsPerTrial: (sharedStates + 1) * sharedRounds
    ) { trial in
        let base = try trial.stage.prepared(.append)
        var (scene, promises) = (trial.stage.place("shared"), [Promise]())
        try SparseFile.copy(base.scene, to: scene)
        // Half of them begin without a file ahead of the log, whose name is to be made.
        let ahead = scene + "/store/log/ahead"
        if Bool.random(using: &trial.chance), FileManager.default.fileExists(atPath: ahead) {
            try FileManager.default.removeItem(atPath: ahead)
        }
        for round in 0 ..< sharedRounds {
            let before = try CrashState(scene, promises)
            let log = trial.stage.place("recording")
            defer { removeQuietly(log) }
            let words = try play(in: scene, log, round, &trial)
            let calls = try Recording(log).calls
            var end = before
            for call in calls { try end.take(call) }
            // Nobody's power was cut, and nobody has the store open.
            let left = trial.stage.place("left")
            try SparseFile.copy(scene, to: left)
            let after = JudgedScene(scene: left, what: "no power cut; \(words)", promises: end.promises)
            let next = trial.stage.place("shared")
            promises = try cut(before, calls, words, after, to: next, base.verdict, &trial)
            removeQuietly(scene)
            scene = next
        }
        removeQuietly(scene)
    }

    /// Lets processes come and go; returns what they were.
    private static func play(in scene: String, _ log: String, _ round: Int, _ trial: inout Trial) throws -> String {
        var peers: [(process: Running, fault: DiskFault?)] = []
        var words: [String] = []
        for number in 0 ..< Int.random(in: 2 ... 5, using: &trial.chance) {
            // Who comes right after one that was killed builds on what that one has left.
            let follows = peers.last.map { $0.fault?.isDeadly == true && Bool.random(using: &trial.chance) } ?? false
            if follows, let last = peers.last { _ = try last.process.wait() }
            let peer = follows ? .command : Peer.allCases.randomElement(using: &trial.chance) ?? .command
            var disk = FaultyDisk(root: scene)
            disk.log = log
            if !follows { harm(&disk, peer, &trial.chance) }
            if Int.random(in: 0 ..< 3, using: &trial.chance) == 0 {
                disk.slow = (Int.random(in: 10 ... 150, using: &trial.chance), Int.random(in: 2 ... 7, using: &trial.chance))
            }
            // No two have the same events.
            let seed = trial.index % 15 * 20 + round * 5 + number
            let process = try trial.stage.start(["peer", peer.rawValue, scene, "\(seed)"], environment: disk.environment)
            peers.append((process, disk.fault))
            words.append(
                "\(peer)\(disk.slow.map { " slow by \($0.milliseconds) ms" } ?? "")\(disk.fault.map { " \($0)\(disk.calls.map { " (\($0) \(disk.file ?? ""))" } ?? "")" } ?? "")"
            )
            // One after the other, or beside each other.
            let pause = Int32.random(in: 0 ... 3, using: &trial.chance) * 40
            if pause == 0 { _ = try process.wait() } else { _ = process.isRunning(after: pause) }
        }
        let mayFail = peers.contains { $0.fault?.isDeadly == false }
        for (process, fault) in peers {
            let outcome = try process.wait()
            let isKilled = fault?.isDeadly == true && outcome.ending == .signal(SIGKILL)
            if outcome.hung || !(isKilled || outcome.ending == .exit(0) || mayFail && outcome.ending == .exit(1)) {
                let how = outcome.hung ? "it hung" : "\(outcome.ending)"
                try trial.fail("\(words.joined(separator: ", ")): \(how) \(outcome.errors.suffix(300))", scene: scene)
            }
        }
        return words.joined(separator: ", ")
    }

    /// Most are killed: at any call, at a sync, or where the file ahead of the log is written or synced.
    private static func harm(_ disk: inout FaultyDisk, _ peer: Peer, _ chance: inout SeededGenerator) {
        let deed: DiskFault.Deed
        switch Int.random(in: 0 ..< 12, using: &chance) {
        case 0 ..< 6: deed = .kill
        case 6: deed = .sectors
        case 7: deed = .fail
        default: return
        }
        var calls = peer.calls
        switch Int.random(in: 0 ..< 3, using: &chance) {
        case 0: (disk.calls, calls) = ("sync", min(calls / 3, 12))
        case 1: (disk.calls, disk.file, calls) = ("sync", "/log/ahead", peer.syncsAhead)
        default: break
        }
        disk.fault = DiskFault(deed, at: Int.random(in: 1 ... calls, using: &chance))
    }

    /// Judges states that a power cut may leave, and writes one of them for the next to go on from; returns what was promised then.
    private static func cut(
        _ before: CrashState, _ calls: [Recording.Call], _ words: String, _ after: JudgedScene, to next: String, _ verdict: Verdict,
        _ trial: inout Trial
    ) throws -> [Promise] {
        let promised = calls.indices.filter { if case .promise = calls[$0] { true } else { false } }
        // Half of them right after something was promised, and some at the end.
        let cuts = (0 ..< sharedStates).map { number in
            let any = number % 10 == 0 ? calls.count : Int.random(in: 0 ... calls.count, using: &trial.chance)
            return number % 2 == 0 ? any : promised.randomElement(using: &trial.chance).map { $0 + 1 } ?? any
        }.sorted()
        let chosen = Int.random(in: 0 ..< sharedStates, using: &trial.chance)
        var (state, taken, promises) = (before, 0, [Promise]())
        var (scenes, known) = ([after], [UInt64: Int]())
        for (index, cut) in cuts.enumerated() {
            while taken < cut {
                try state.take(calls[taken])
                taken += 1
            }
            let drawn = index % 2 == 0 ? state.least : state.draw(&trial.chance)
            if index == chosen {
                try drawn.write(to: next)
                try Data().write(to: URL(filePath: next + "/acks"))
                promises = state.promises
            }
            let moment = Moment(what: "power cut at call \(cut) of \(calls.count); \(words)", promises: state.promises)
            if let same = known[drawn.code] {
                scenes[same].moments.append(moment)
                continue
            }
            let scene = trial.stage.place("state")
            try drawn.write(to: scene)
            try Data().write(to: URL(filePath: scene + "/acks"))
            known[drawn.code] = scenes.count
            scenes.append(JudgedScene(scene: scene, moments: [moment]))
        }
        try trial.judge(.append, scenes, verdict)
        for item in scenes { try FileManager.default.removeItem(atPath: item.scene) }
        return promises
    }
}
