import Foundation
import Platform
import TestSupport
import Torturing

/// A file system of its own with no room left, in which a job is tried.
struct FullDisk {
    let job: Job
    /// Where the file system is mounted.
    let place: String
    let base: String
    /// Bytes that are left.
    let room: Int

    /// What came of it, and what was found when there was room again.
    struct Outcome: Codable {
        var problems: [String] = []
        var finished = false
        var findings: [Finding] = []
    }

    func run() throws -> Outcome {
        var outcome = Outcome()
        let (scene, filler, program) = (place + "/scene", place + "/filler", CommandLine.arguments[0])
        try SparseFile.copy(base, to: scene)
        // Promises are kept on another disk.
        try FileManager.default.removeItem(atPath: scene + "/acks")
        try FileManager.default.createSymbolicLink(atPath: scene + "/acks", withDestinationPath: base + "/acks")
        try fill(filler)
        let said = base + "-said"
        for words in [["run", job.rawValue, scene, "1"], ["look", scene + "/store"]] {
            let child = try Running(program, ["worker"] + words, files: said).wait()
            if child.hung || ![.exit(0), .exit(1)].contains(child.ending) {
                outcome.problems.append(
                    "\(words[0]) on the full disk: \(child.hung ? "it hung" : "\(child.ending)") \(child.errors.suffix(300))")
            }
            if words[0] == "run" { outcome.finished = child.ending == .exit(0) }
        }
        try FileManager.default.removeItem(atPath: filler)
        let judged = try Running(program, ["worker", "judge", job.rawValue, scene], files: said).wait()
        if let line = judged.lines.first {
            outcome.findings = [try JSONDecoder().decode(Finding.self, from: Data(line.utf8))]
        } else {
            outcome.problems.append("with room again: \(judged.ending) \(judged.errors.suffix(300))")
        }
        return outcome
    }

    /// Takes all the room there is but for some bytes.
    private func fill(_ path: String) throws {
        let file = unsafe open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Failure("\(path) can't be made: \(errno)") }
        defer { close(file) }
        var size = 0
        for step in [1 << 20, 4_096] {
            let bytes = [UInt8](repeating: 1, count: step)
            while unsafe write(file, bytes, step) == step { size += step }
        }
        guard ftruncate(file, off_t(max(size - room, 0))) == 0, fsync(file) == 0 else { throw Failure("\(path) can't be cut: \(errno)") }
    }
}

extension TortureCase {
    private static let rooms = [0, 4_096, 65_536, 1 << 20]
    private static let kinds = ["tmpfs", "ext4"]
    private static let jobs: [Job] = [.append, .importing, .replay, .rollback, .cut, .finalize, .backup, .restore, .create, .drill]

    static let fullDisks: TortureCase = {
        var item = TortureCase(
            "R6", "a full disk (tmpfs, ext4): no signal, a named error, and everything goes on when there is room again",
            goal: 20, seconds: 10, floor: 3, runsPerTrial: 1, obstacle: { Mounting.obstacle }
        ) { trial in
            let (job, rest) = (jobs[trial.index % jobs.count], trial.index / jobs.count)
            let (room, kind) = (rooms[rest % rooms.count], kinds[rest / rooms.count % kinds.count])
            let base = try trial.stage.prepared(job)
            let (place, copy) = (trial.stage.place("mount"), trial.stage.place("full"))
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            try SparseFile.copy(base.scene, to: copy)
            let mount =
                kind == "tmpfs"
                ? "mount -t tmpfs -o size=64m,mode=700 none \(place)"
                : "truncate -s 64m \(place).img && mkfs.ext4 -q \(place).img && mount -o loop \(place).img \(place)"
            let script = "\(mount) && exec \(CommandLine.arguments[0]) worker full \(job.rawValue) \(place) \(copy) \(room)"
            let outcome = try Running("/usr/bin/unshare", ["-m", "sh", "-c", script], files: trial.stage.place("said"), seconds: 300).wait()
            guard outcome.ending == .exit(0) else { throw Failure("\(kind): \(outcome.ending) \(outcome.errors)") }
            let full = try JSONDecoder().decode(FullDisk.Outcome.self, from: Data(outcome.output.utf8))
            trial.runs += 1
            let problems =
                try full.problems
                + full.findings.flatMap {
                    base.verdict.problems($0, try Promise.all(copy + "/acks"), finished: full.finished)
                }
            if !problems.isEmpty {
                try trial.fail("\(job.rawValue), \(room) bytes left on \(kind): \(problems.prefix(3).joined(separator: "; "))")
            }
            for path in [place, copy] { try FileManager.default.removeItem(atPath: path) }
            removeQuietly(place + ".img")
        }
        item.all = { _ in rooms.count * kinds.count * jobs.count }
        return item
    }()
}
