import Foundation
import Platform
import TestSupport
import Torturing

/// A job on a file system whose disk writes down every write and every flush, and the states in which a power cut may leave that
/// disk: each is mounted, which recovers the file system, and judged.
struct BlockCuts {
    let job: Job
    /// A directory for everything.
    let place: String
    /// The scene before the job, with what is promised of it beside it.
    let base: String
    /// The server of such a disk.
    let server: String
    let maker: String
    let states: Int
    let seed: UInt64

    struct Outcome: Codable {
        var states = 0
        /// Different ones among them, each judged once.
        var judged = 0
        var writes = 0
        var flushes = 0
        var failures: [String] = []
    }

    /// How many states are mounted at once.
    private static let batch = 10

    private var mounted: String { place + "/disk" }
    private var image: String { place + "/image" }

    func run() throws -> Outcome {
        let verdict = try JSONDecoder().decode(Verdict.self, from: Data(contentsOf: URL(filePath: base + "-verdict")))
        try makeImage()
        let log = try record()
        var (disk, outcome, chance) = (CutDisk(log, image: image), Outcome(), SeededGenerator(seed: seed, "blocks", 0))
        let end = log.entries.firstIndex { if case .mark(BlockLog.end) = $0 { true } else { false } } ?? log.entries.count
        (outcome.writes, outcome.flushes) = (log.entries.count, log.flushes)
        let cuts = (0 ..< states).map { _ in Int.random(in: 0 ... end, using: &chance) }.sorted()
        var (scenes, known) = ([JudgedScene](), [CutDisk.Cut: Int]())
        for (index, entry) in cuts.enumerated() {
            try disk.go(to: entry)
            let (cut, taken) = disk.draw(&chance)
            let moment = Moment(
                what: "power cut at entry \(entry) of \(end) on \(maker), with \(taken)", promises: disk.promises, finished: entry == end)
            if let same = known[cut] {
                scenes[same].moments.append(moment)
            } else {
                let state = place + "/state-\(scenes.count)"
                try disk.write(cut, to: state + ".image")
                known[cut] = scenes.count
                scenes.append(JudgedScene(scene: state, moments: [moment]))
            }
            guard scenes.count == Self.batch || index == states - 1 else { continue }
            outcome.failures += try judge(scenes, verdict)
            outcome.judged += scenes.count
            (scenes, known) = ([], [:])
        }
        outcome.states = states
        return outcome
    }

    /// The file system with the scene on it, whole.
    private func makeImage() throws {
        let new = image + "-new"
        // An image of xfs takes at least 300 MiB; a copy has room in memory, where zeros take none.
        try maker == "ext4"
            ? Mounting.make(maker, new, megabytes: 48, ["-b", "4096", "-J", "size=4"]) : Mounting.make(maker, new, megabytes: 320)
        try Mounting.mount(new, at: mounted, maker)
        try SparseFile.copy(base, to: mounted + "/scene")
        try FileManager.default.removeItem(atPath: mounted + "/scene/acks")
        try FileManager.default.createSymbolicLink(atPath: mounted + "/scene/acks", withDestinationPath: place + "/served/acks")
        try Mounting.unmount(mounted)
        try SparseFile.copy(file: new, to: image)
        try FileManager.default.removeItem(atPath: new)
    }

    /// Runs the job, to its end, on the disk that writes down.
    private func record() throws -> BlockLog {
        let (served, copy, log) = (place + "/served", place + "/copy", place + "/log")
        try SparseFile.copy(file: image, to: copy)
        try FileManager.default.createDirectory(atPath: served, withIntermediateDirectories: true)
        let serving = try Running(server, [served, copy, log], files: place + "/server", seconds: 600)
        while !FileManager.default.fileExists(atPath: served + "/image") {
            guard serving.isRunning(after: 5) else { throw Failure("the disk is not served: \(try serving.wait().errors)") }
        }
        try Mounting.mount(served + "/image", at: mounted, maker)
        let doomed = try Running(
            CommandLine.arguments[0], ["worker", "run", job.rawValue, mounted + "/scene", "\(seed % 1_000)"],
            environment: FaultyDisk(root: mounted).environment, files: place + "/job")
        let ended = try doomed.wait()
        guard ended.ending == .exit(0) else { throw Failure("undisturbed: \(job) \(ended.ending) \(ended.errors)") }
        let acks = try FileHandle(forWritingTo: URL(filePath: served + "/acks"))
        try acks.seekToEnd()
        try acks.write(contentsOf: Data(BlockLog.end.utf8))
        try acks.close()
        try Mounting.unmount(mounted)
        try Mounting.unmount(served)
        guard try serving.wait().ending == .exit(0) else { throw Failure("the disk was not served to its end") }
        return try BlockLog(log)
    }

    /// Mounts states, has them judged, and says what is wrong.
    private func judge(_ scenes: [JudgedScene], _ verdict: Verdict) throws -> [String] {
        for item in scenes { try Mounting.mount(item.scene + ".image", at: item.scene, maker) }
        let findings = try Stage.judge(job, scenes.map { $0.scene + "/scene" }) { words in
            try Running(CommandLine.arguments[0], ["worker"] + words, files: place + "/judge", seconds: 120)
        }
        var failures: [String] = []
        for (item, result) in zip(scenes, findings) {
            try Mounting.unmount(item.scene)
            for moment in item.moments {
                let problems = item.problems(result, moment, verdict)
                if !problems.isEmpty { failures.append("\(moment.what): \(problems.prefix(3).joined(separator: "; "))") }
            }
        }
        return failures
    }
}

extension TortureCase {
    static let statesPerLog = 20

    /// Why no disk can be served here; nil where one can.
    static let servingObstacle: String? = {
        let device = unsafe open("/dev/fuse", O_RDWR | O_CLOEXEC)
        guard device >= 0 else { return "/dev/fuse can't be opened: \(errno)" }
        close(device)
        do {
            _ = try BlockServer.program.get()
            return nil
        } catch { return "\(error)" }
    }()

    /// States of a disk that was recorded under a job.
    static func cutBlocks(_ job: Job, _ maker: String, _ trial: inout Trial) throws {
        if let servingObstacle { return trial.skipped = "states of a disk that writes down what is done to it: \(servingObstacle)" }
        let prepared = try trial.stage.prepared(job)
        let (place, base) = (trial.stage.place("blocks"), trial.stage.place("base"))
        for path in [place, base] { try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true) }
        try SparseFile.copy(prepared.scene, to: base)
        try JSONEncoder().encode(prepared.verdict).write(to: URL(filePath: base + "-verdict"))
        let words = [
            "blocks", job.rawValue, place, base, try BlockServer.program.get(), maker, "\(statesPerLog)", "\(trial.chance.next() >> 1)",
        ]
        let outcome = try Running(
            "/usr/bin/unshare", ["-m", CommandLine.arguments[0], "worker"] + words, files: trial.stage.place("said"), seconds: 1_200
        ).wait()
        guard outcome.ending == .exit(0) else { throw Failure("blocks on \(maker): \(outcome.ending) \(outcome.errors.suffix(400))") }
        let found = try JSONDecoder().decode(BlockCuts.Outcome.self, from: Data(outcome.output.utf8))
        (trial.runs, trial.judged) = (trial.runs + found.states, trial.judged + found.judged)
        if found.flushes == 0 { try trial.fail("\(job.rawValue): nothing was flushed in \(found.writes) entries") }
        for failure in found.failures {
            try trial.fail("\(job.rawValue), \(failure)", scene: found.failures.first == failure ? place : nil)
        }
        for path in [place, base, base + "-verdict"] { try FileManager.default.removeItem(atPath: path) }
    }
}
