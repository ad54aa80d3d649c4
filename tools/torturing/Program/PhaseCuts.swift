import Foundation
import Platform
import TestSupport
import Torturing

/// A part of a process's life in which others may come to rely on what it has not made durable yet.
enum Phase: String, CaseIterable, Codable, Sendable {
    case opening, recovery
    /// A pause, in which LMDB takes what is ahead of it.
    case pause
    case closing
}

/// Which calls of a process are counted.
enum CountedCalls: Int, CaseIterable {
    case all, syncs
    /// Syncs of the file ahead of the log.
    case ahead

    func choose(in disk: inout FaultyDisk) {
        disk.calls = self == .all ? nil : "sync"
        disk.file = self == .ahead ? "/log/ahead" : nil
    }

    /// Which of them lie within a phase, about.
    /// - Parameter length: how many a visitor makes.
    func range(of phase: Phase, length: Int) -> ClosedRange<Int> {
        // The first calls are an opening, or a recovery; the last are of a pause, and then close.
        let (opening, ending, closing) =
            switch self {
            case .all: (22, 12, 6)
            case .syncs: (6, 5, 2)
            case .ahead: (2, 0, 0)
            }
        return switch phase {
        case .opening, .recovery: 1 ... opening
        case .pause: max(1, length - ending) ... max(1, length - closing / 2)
        case .closing: max(1, length - closing) ... max(1, length)
        }
    }
}

/// Processes on a file system of its own. One of them is killed or held up within a phase; others build on what it has left and
/// are told that their appends are kept; then the file system stops, as when the power goes, and is mounted again.
struct PhaseCut {
    let phase: Phase
    /// Where the image is mounted.
    let place: String
    let base: String
    let image: String
    let maker: String
    /// How many calls of each kind a visitor makes from its opening to its end.
    let lengths: [Int]
    let seed: UInt64

    /// What was done, what came of it, and what was found on the file system that was mounted again.
    struct Outcome: Codable {
        var what = ""
        /// Whether somebody was killed or held up.
        var isReached = false
        var findings: [Finding] = []
        var problems: [String] = []
    }

    /// Longer than others take to come in, append and leave.
    private static let stallMilliseconds = 2_500
    private var scene: String { place + "/scene" }
    static func found(_ base: String) -> String { base + "-found" }

    func run() throws -> Outcome {
        try SparseFile.copy(base, to: scene)
        // Promises are kept on another disk.
        try FileManager.default.removeItem(atPath: scene + "/acks")
        try FileManager.default.createSymbolicLink(atPath: scene + "/acks", withDestinationPath: base + "/acks")
        sync()
        var (chance, outcome) = (SeededGenerator(seed: seed, phase.rawValue, 0), Outcome())
        let doomed = try interrupt(&chance, &outcome)
        let last = try follow(&chance, &outcome)
        try Mounting.stop(place)
        for process in [doomed, last] {
            process?.send(signal: SIGKILL)
            _ = try process?.wait()
        }
        try Mounting.unmount(place)
        try Mounting.mount(image, at: place, maker)
        try SparseFile.copy(scene, to: Self.found(base))
        let judged = try start("judge", [Job.append.rawValue, scene]).wait()
        if let line = judged.lines.first {
            outcome.findings = [try JSONDecoder().decode(Finding.self, from: Data(line.utf8))]
        } else {
            outcome.problems.append("a process that opened it: \(judged.ending) \(judged.errors.suffix(300))")
        }
        return outcome
    }

    /// Kills a process within the phase, or holds it up; returns the one that is held up.
    private func interrupt(_ chance: inout SeededGenerator, _ outcome: inout Outcome) throws -> Running? {
        if phase == .recovery {
            // Most leave something ahead of LMDB.
            let fault = DiskFault(.kill, at: Int.random(in: 25 ... 140, using: &chance))
            outcome.what = "service, \(fault), "
            _ = try start(.service, 1, disk(fault)).wait()
        }
        let isHeld = Int.random(in: 0 ..< 3, using: &chance) == 0
        let counted: CountedCalls = [isHeld ? .syncs : .all, .syncs, .ahead][Int.random(in: 0 ..< 3, using: &chance)]
        let range = counted.range(of: phase, length: lengths[counted.rawValue])
        let fault = DiskFault(isHeld ? .stall : .kill, at: Int.random(in: range, using: &chance))
        let peer: Peer = phase == .recovery ? .verifier : phase == .opening && Bool.random(using: &chance) ? .command : .visitor
        var disk = disk(fault)
        counted.choose(in: &disk)
        (disk.counter, disk.stallMilliseconds) = (base + "-calls", Self.stallMilliseconds)
        try disk.resetCounter()
        outcome.what += "\(peer), \(fault) (\(counted))"
        let process = try start(peer, 2, disk)
        while process.isRunning(after: 2) {
            outcome.isReached = try disk.count().isReached
            if isHeld && outcome.isReached { return process }
        }
        let ended = try process.wait()
        outcome.isReached = try disk.count().isReached
        if ended.ending != (outcome.isReached && !isHeld ? .signal(SIGKILL) : .exit(0)) {
            outcome.problems.append("\(outcome.what): \(ended.hung ? "it hung" : "\(ended.ending)") \(ended.errors.suffix(300))")
        }
        return nil
    }

    /// Lets others come, append and be told that it is kept; returns the one under which the file system is to be stopped.
    private func follow(_ chance: inout SeededGenerator, _ outcome: inout Outcome) throws -> Running? {
        let many = Int.random(in: 0 ..< 10, using: &chance)
        if many == 9 {
            outcome.what += "; service that goes on"
            let service = try start(.service, 3, FaultyDisk(root: place))
            _ = service.isRunning(after: Int32.random(in: 150 ... 700, using: &chance))
            return service
        }
        let peers: [Peer] = many == 8 ? [.visitor] : Array(repeating: .command, count: many == 7 ? 12 : many == 6 ? 3 : 1)
        outcome.what += "; \(peers.count) \(peers[0])"
        for (index, peer) in peers.enumerated() {
            let ended = try start(peer, 3 + index, FaultyDisk(root: place)).wait()
            if ended.ending == .exit(0) { continue }
            outcome.problems.append("\(outcome.what): \(ended.hung ? "it hung" : "\(ended.ending)") \(ended.errors.suffix(300))")
        }
        return nil
    }

    private func disk(_ fault: DiskFault) -> FaultyDisk {
        var disk = FaultyDisk(root: place)
        disk.fault = fault
        return disk
    }

    private func start(_ peer: Peer, _ number: Int, _ disk: FaultyDisk) throws -> Running {
        try start("peer", [peer.rawValue, scene, "\(number)"], disk.environment)
    }

    private func start(_ what: String, _ words: [String], _ environment: [String: String] = [:]) throws -> Running {
        let said = base + "-said-\(UUID().uuidString)"
        return try Running(CommandLine.arguments[0], ["worker", what] + words, environment: environment, files: said, seconds: 150)
    }
}

extension TortureCase {
    static let phaseCuts = TortureCase(
        "R19",
        "power cuts of \(makers.joined(separator: ", ")) by FS_IOC_SHUTDOWN, when processes have built on what one has left that was "
            + "killed or held up while it opened, put right, paused or closed",
        goal: 32, seconds: 25, floor: 2, runsPerTrial: Phase.allCases.count,
        obstacle: { Mounting.obstacle ?? (makers.isEmpty ? "there is no mkfs.ext4 or mkfs.xfs" : nil) }
    ) { trial in
        if makers.count == 1 { trial.skipped = "only \(makers[0]) can be made here, of ext4 and xfs" }
        let base = try trial.stage.prepared(.append)
        let lengths = try CountedCalls.allCases.map { "\(try length(base.scene, $0, trial))" }
        for phase in Phase.allCases {
            try cut(phase, makers[trial.index % makers.count], base, lengths, &trial)
        }
    }

    /// How many calls a visitor makes that nobody disturbs.
    private static func length(_ base: String, _ counted: CountedCalls, _ trial: Trial) throws -> Int {
        let scene = trial.stage.place("counted")
        defer { removeQuietly(scene) }
        try SparseFile.copy(base, to: scene)
        var disk = FaultyDisk(root: scene)
        counted.choose(in: &disk)
        disk.counter = scene + "-calls"
        try disk.resetCounter()
        let outcome = try trial.stage.worker("peer", Peer.visitor.rawValue, scene, "2", environment: disk.environment)
        guard outcome.ending == .exit(0) else { throw Failure("undisturbed: \(outcome.ending) \(outcome.errors)") }
        return try disk.count().calls
    }

    private static func cut(_ phase: Phase, _ maker: String, _ base: Stage.Prepared, _ lengths: [String], _ trial: inout Trial) throws {
        let (place, copy) = (trial.stage.place("mount"), trial.stage.place("phase"))
        try SparseFile.copy(base.scene, to: copy)
        try Data().write(to: URL(filePath: copy + "/acks"))
        let image = place + ".img"
        let words = ["phase", phase.rawValue, place, copy, image, maker, "\(trial.chance.next() >> 1)"] + lengths
        let said = try Mounting.worker(words, on: image, at: place, maker, said: trial.stage.place("said")).output
        let cut = try JSONDecoder().decode(PhaseCut.Outcome.self, from: Data(said.utf8))
        trial.runs += 1
        // What ended before the call that it was to be ended at is no moment of the phase.
        if cut.isReached { trial.judged += 1 }
        let (promises, refusals) = try (Promise.all(copy + "/acks"), Refusal.all(copy + "/acks"))
        let problems =
            cut.problems
            + cut.findings.flatMap {
                base.verdict.problems($0, promises, finished: false) + Refusal.broken(refusals, by: $0.found.numbers)
            }
        if !problems.isEmpty {
            try trial.fail("\(phase) on \(maker): \(cut.what): \(problems.prefix(3).joined(separator: "; "))", scene: PhaseCut.found(copy))
        }
        for path in [place, copy, image, PhaseCut.found(copy)] { try FileManager.default.removeItem(atPath: path) }
    }
}
