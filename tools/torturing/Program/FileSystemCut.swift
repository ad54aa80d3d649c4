import Foundation
import Platform
import TestSupport
import Torturing

/// A file system of its own that stops under a running job, as when the power goes, and is mounted again.
struct FileSystemCut {
    let job: Job
    /// Where the image is mounted.
    let place: String
    let base: String
    let image: String
    /// How long the job runs.
    let milliseconds: Int32

    /// What came of it, and what was found on the file system that was mounted again.
    struct Outcome: Codable {
        var finished = false
        /// What was noted before the stop began. A sync that overlaps with it may be told of success for what the stop throws away: xfs
        /// asks whether the inode still has to be logged, and a stop undoes that.
        var promises = ""
        var findings: [Finding] = []
        var problems: [String] = []
    }

    func run() throws -> Outcome {
        let (scene, program, said) = (place + "/scene", CommandLine.arguments[0], base + "-said")
        try SparseFile.copy(base, to: scene)
        // Promises are kept on another disk.
        try FileManager.default.removeItem(atPath: scene + "/acks")
        try FileManager.default.createSymbolicLink(atPath: scene + "/acks", withDestinationPath: base + "/acks")
        sync()
        let disk = try FaultyDisk(root: place).environment
        let doomed = try Running(program, ["worker", "run", job.rawValue, scene, "\(milliseconds)"], environment: disk, files: said)
        _ = doomed.isRunning(after: milliseconds)
        var outcome = Outcome()
        outcome.promises = try String(contentsOfFile: base + "/acks", encoding: .utf8)
        try Mounting.stop(place)
        doomed.send(signal: SIGKILL)
        outcome.finished = try doomed.wait().ending == .exit(0)
        try Mounting.unmount(place)
        try Mounting.mount(image, at: place, "ext4")
        let judged = try Running(program, ["worker", "judge", job.rawValue, scene], files: said).wait()
        if let line = judged.lines.first {
            outcome.findings = [try JSONDecoder().decode(Finding.self, from: Data(line.utf8))]
        } else {
            outcome.problems.append("a process that opened it: \(judged.ending) \(judged.errors.suffix(300))")
        }
        return outcome
    }
}

extension TortureCase {
    private static let jobs: [Job] = [.append, .sealed, .replay, .append, .rollback, .append, .importing, .forget, .cut, .backup, .restore]

    /// The file systems that this machine can make.
    static let makers = ["ext4", "xfs"].filter { maker in
        guard FileManager.default.isExecutableFile(atPath: "/usr/sbin/mkfs.\(maker)") else { return false }
        do { return try String(contentsOfFile: "/proc/filesystems", encoding: .utf8).contains("\t\(maker)\n") } catch { return false }
    }

    static let fileSystemCuts = TortureCase(
        "R2",
        "power cuts by the log of a disk's blocks, and FS_IOC_SHUTDOWN under a running job: \(makers.joined(separator: ", "))",
        goal: 840, seconds: 50, floor: 42, runsPerTrial: statesPerLog + 1,
        obstacle: { Mounting.obstacle ?? (makers.isEmpty ? "there is no mkfs.ext4 or mkfs.xfs" : nil) }
    ) { trial in
        let (job, maker) = (jobs[trial.index % jobs.count], makers[trial.index / jobs.count % makers.count])
        try cutBlocks(job, maker, &trial)
        try stop(job, maker, &trial)
    }

    /// Stops a file system under a running job.
    private static func stop(_ job: Job, _ maker: String, _ trial: inout Trial) throws {
        let base = try trial.stage.prepared(job)
        let (place, copy) = (trial.stage.place("mount"), trial.stage.place("stopped"))
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        try SparseFile.copy(base.scene, to: copy)
        let image = place + ".img"
        let milliseconds = Int.random(in: 15 ... 350, using: &trial.chance)
        let words = ["shutdown", job.rawValue, place, copy, image, "\(milliseconds)"]
        let outcome = try Mounting.worker(words, on: image, at: place, maker, said: trial.stage.place("said"))
        let cut = try JSONDecoder().decode(FileSystemCut.Outcome.self, from: Data(outcome.output.utf8))
        trial.runs += 1
        let problems =
            try cut.problems
            + cut.findings.flatMap {
                base.verdict.problems($0, try Promise.all(in: cut.promises), finished: cut.finished)
            }
        if !problems.isEmpty {
            try trial.fail("\(job.rawValue), stopped after \(milliseconds) ms on \(maker): \(problems.prefix(3).joined(separator: "; "))")
        }
        for path in [place, copy, image] { try FileManager.default.removeItem(atPath: path) }
    }
}
