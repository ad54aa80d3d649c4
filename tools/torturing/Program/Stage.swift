import Foundation
import Platform
import Synchronization
import TestSupport
import Torturing

/// Where trials play: scenes that were prepared once, copies of them, and the processes that work in these.
final class Stage: Sendable {
    /// A directory in memory where there is one, removed at the end.
    let directory: String
    private let keep: String
    private let program = CommandLine.arguments[0]
    private let prepared = Mutex<[Job: Prepared]>([:])
    private let counter = Atomic<Int>(0)
    private let held = Mutex<Int?>(nil)

    /// A scene that was prepared, what is seen of it, and how many calls its job makes.
    struct Prepared: Sendable {
        let scene: String
        let verdict: Verdict
        let calls: Int
    }

    init(keep: String) throws {
        directory = Self.root + "/evstore-torture-\(UUID().uuidString)"
        self.keep = keep
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    /// Memory where there is much of it.
    private static var root: String {
        var room = statvfs()
        let isRoomy = unsafe statvfs("/dev/shm", &room) == 0 && room.f_bavail >= (2 << 30) / room.f_frsize
        return isRoomy && FileManager.default.isWritableFile(atPath: "/dev/shm") ? "/dev/shm" : FileManager.default.temporaryDirectory.path
    }

    func remove() {
        do { try FileManager.default.removeItem(atPath: directory) } catch { print("left behind: \(directory): \(error)") }
    }

    /// A path that nothing else uses.
    func place(_ name: String) -> String { "\(directory)/\(counter.add(1, ordering: .relaxed).newValue)-\(name)" }

    /// Runs a worker to its end.
    func worker(_ words: String..., environment: [String: String] = [:], seconds: Double = 120) throws -> Running.Outcome {
        try start(words, environment: environment, seconds: seconds).wait()
    }

    func start(_ words: [String], environment: [String: String] = [:], seconds: Double = 120) throws -> Running {
        try Running(program, ["worker"] + words, environment: environment, files: place("said"), seconds: seconds)
    }

    /// The prepared scene of a job; made by the first who asks.
    func prepared(_ job: Job) throws -> Prepared {
        try prepared.withLock { known in
            if let scene = known[job] { return scene }
            let scene = place("base-\(job.rawValue)")
            try mustSucceed(worker("prepare", job.rawValue, scene), "preparing \(job.rawValue)")
            let (before, after) = (place("before"), place("after"))
            for copy in [before, after] { try SparseFile.copy(scene, to: copy) }
            var disk = FaultyDisk(root: after)
            disk.counter = place("calls")
            try disk.resetCounter()
            let outcome = try worker("run", job.rawValue, after, "1", environment: disk.environment)
            try mustSucceed(outcome, "an undisturbed \(job.rawValue)")
            let findings = try judge(job, [before, after])
            guard let old = findings[0].finding, let new = findings[1].finding else {
                throw Failure("undisturbed \(job.rawValue): \(findings.map(\.crash))")
            }
            let calls = try disk.count().calls
            let result = Prepared(scene: scene, verdict: Verdict(job: job, before: old, after: new), calls: calls)
            for copy in [before, after] { try FileManager.default.removeItem(atPath: copy) }
            known[job] = result
            return result
        }
    }

    /// How many calls a holder of locks makes; counted by the first who asks.
    func heldCalls(_ count: () throws -> Int) throws -> Int {
        try held.withLock { known in
            let calls = try known ?? count()
            known = calls
            return calls
        }
    }

    private func mustSucceed(_ outcome: Running.Outcome, _ what: String) throws {
        guard outcome.ending == .exit(0) else { throw Failure("\(what): \(outcome.ending) \(outcome.errors)") }
    }

    /// What judges say of scenes, in their order; where a judge came to no end, why not.
    func judge(_ job: Job, _ scenes: [String]) throws -> [(finding: Finding?, crash: String?)] {
        try Self.judge(job, scenes) { try start($0, seconds: 120) }
    }

    static func judge(
        _ job: Job, _ scenes: [String], _ start: ([String]) throws -> Running
    ) throws -> [(finding: Finding?, crash: String?)] {
        var results: [(Finding?, String?)] = []
        while results.count < scenes.count {
            let rest = Array(scenes.dropFirst(results.count))
            let outcome = try start(["judge", job.rawValue] + rest).wait()
            let lines = outcome.lines
            for line in lines { results.append((try JSONDecoder().decode(Finding.self, from: Data(line.utf8)), nil)) }
            if lines.count < rest.count {
                let how = outcome.hung ? "it hung" : "\(outcome.ending)"
                results.append((nil, "a process that opened it came to no end: \(how) \(outcome.errors.suffix(400))"))
            }
        }
        return results
    }

    /// Keeps the files of a failure, and says where.
    func keep(_ scene: String, as name: String) throws -> String {
        let target = "\(keep)/\(name)"
        try FileManager.default.createDirectory(atPath: keep, withIntermediateDirectories: true)
        if FileManager.default.fileExists(atPath: target) { try FileManager.default.removeItem(atPath: target) }
        try SparseFile.copy(scene, to: target)
        return target
    }
}
