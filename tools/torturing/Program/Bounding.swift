import Bytes
import EventLog
import Evstore
import EvstoreTesting
import Foundation
import LMDB
import Platform
import TestSupport
import Torturing

/// The parts of a run in which a store may grow with its events and with nothing else: one process appends, and others read
/// beside it.
struct Bounding {
    let store: String

    /// How much of a file is used.
    struct Room: Codable {
        var file: String
        var pages: UInt64
        var live: UInt64
        var commits: UInt64

        private static let factorMax: UInt64 = 3
        var isBounded: Bool { pages <= Self.factorMax * live }
    }

    struct Outcome: Codable {
        var problems: [String]
        var rooms: [Room]
    }

    /// Rows that are overwritten again and again.
    private static let rows = 500

    private static var options: Options {
        var options = Worker.options
        options.mapBytes = 1 << 36
        (options.sweepDueEvents, options.sweepForcedEvents) = (500, 1_000)
        return options
    }

    private func make() async throws {
        let schemas = try SchemaFiles(Note.versionFile, projections: Note.projections).load()
        try await EventStore.create(store, schemas: schemas, options: Self.options).close()
    }

    /// Appends one event after the other, each a commit, until the time is over, and says how many; the read model follows.
    private func append(_ count: Int, seconds: Double?) async throws {
        let end = seconds.map { Instant.now + .seconds($0) }
        var number = 0
        let store = try await EventStore.open(store, options: Self.options)
        while number < count, end.map({ .now < $0 }) ?? true {
            // What a dead reader keeps is what is committed until it is noticed, whatever the store has: a short run has larger events,
            // of three thousand bytes.
            let note = number % Self.rows * 70 + (count < 200_000 ? 30 : 0)
            _ = try await store.append([Note.event(note, stream: "note-\(note)")])
            if number % 100 == 0 { _ = try await store.count("notes") }
            number += 1
            if number % 10_000 == 0 { try Worker.say(number) }
        }
        try await store.close()
        try Worker.say(number)
    }

    /// Reads slowly, again and again, and says when it has begun.
    private func read(pause milliseconds: Int) async throws {
        let store = try await EventStore.open(store, options: Self.options)
        var isFirst = true
        while true {
            var seen = 0
            try store.readAll { _ in
                if isFirst { try Worker.say("reading") }
                (isFirst, seen) = (false, seen + 1)
                if seen % 100 == 1 { usleep(UInt32(milliseconds) * 1_000) }
                return seen < 1_000
            }
            if seen == 0 { usleep(1_000) }
        }
    }

    /// Backs up through a pipe that takes a megabyte a second, again and again.
    private func pipe() async throws {
        let store = try await EventStore.open(store, options: Self.options)
        while true {
            try Worker.say("backing up")
            _ = try await store.maintenance.backUp { piece in usleep(UInt32(piece.count)) }
        }
    }

    /// What the files of the store take, beside what of it is used; and what of the events is not as it must be.
    private func look(_ count: Int) async throws -> Outcome {
        let models = try FileManager.default.subpathsOfDirectory(atPath: store).filter {
            $0.hasPrefix("generations/") && $0.hasSuffix("/data.mdb")
        }
        let rooms = try (["log/data.mdb"] + models).map { try Room(self.store + "/" + $0) }
        let store = try await EventStore.open(store, options: Self.options)
        var problems = rooms.filter { !$0.isBounded }.map { "\($0.file) has \($0.pages) pages, of which \($0.live) are used" }
        problems += try await store.maintenance.verify(deep: true).findings.filter { $0.severity == .error }.map(\.message)
        let (last, rows) = (try store.last().position.rawValue, try await store.count("notes").rows)
        if last != UInt64(count) || rows != UInt64(min(count, Self.rows)) { problems.append("it holds \(last) events and \(rows) rows") }
        if let oldest = try store.status().oldestReader, oldest.commitsBehind > 0 { problems.append("a dead process still reads") }
        try await store.close()
        return Outcome(problems: problems, rooms: rooms)
    }

    func run(_ what: String, _ number: Int, seconds: Double?) async throws {
        switch what {
        case "make": try await make()
        case "append": try await append(number, seconds: seconds)
        case "read": try await read(pause: number)
        case "pipe": try await pipe()
        default: try Worker.say(await look(number))
        }
    }
}

extension Bounding.Room {
    /// The tables of the log and of read models, and whether their keys are integers.
    private static let tables = TableDescriptor.log.kinds.merging(
        ["rows": false, "meta": false, "quarantine": false, "indexes": false]
    ) { log, _ in log }

    init(_ path: String) throws {
        let data = try File(path, .read)
        let report = try StructuralCheck.run(data, tables: Self.tables)
        file = path.split(separator: "/").suffix(3).joined(separator: "/")
        pages = UInt64(try data.status().bytes / 4_096)
        // Two more are the meta pages.
        live = report.branchPages + report.leafPages + report.overflowPages + 2
        commits = report.transaction
    }
}

extension TortureCase {
    static let bounds = TortureCase(
        "R11", "commits beside readers that renew, readers that are killed while they read, and a backup at 1 MB/s: files <= 3 x live",
        goal: 100_000, seconds: 20, floor: 2_000, runsPerTrial: .max
    ) { trial in
        let scene = trial.stage.place("bounded")
        let words = ["bound", scene + "/store"]
        try FileManager.default.createDirectory(atPath: scene, withIntermediateDirectories: true)
        guard try trial.stage.start(words + ["make", "0"]).wait().ending == .exit(0) else { throw Failure("a store can't be made") }
        let time = trial.deadline.map { ["\(Instant.now.duration(to: $0) / .seconds(1))"] } ?? []
        let appender = try trial.stage.start(words + ["append", "\(trial.wanted)"] + time, seconds: 600)
        let others = try [["read", "1"], ["pipe", "0"]].map { try trial.stage.start(words + $0) }
        var killed = 0
        while appender.isRunning {
            let doomed = try trial.stage.start(words + ["read", "20"])
            try doomed.waitUntil(said: "reading", while: appender)
            _ = doomed.isRunning(after: Int32.random(in: 0 ... 140, using: &trial.chance))
            doomed.send(signal: SIGKILL)
            if try doomed.wait().output.contains("reading") { killed += 1 }
        }
        let appended = try appender.wait()
        let count = appended.lines.last.flatMap { Int($0) } ?? 0
        if appended.ending != .exit(0) { try trial.fail("who appends: \(appended.ending) \(appended.errors.suffix(300))", scene: scene) }
        for (other, name) in zip(others, ["reading", "backing up"]) {
            other.send(signal: SIGKILL)
            let outcome = try other.wait()
            if outcome.ending != .signal(SIGKILL) || !outcome.output.contains(name) {
                try trial.fail("who is beside it (\(name)): \(outcome.ending) \(outcome.errors.suffix(300))", scene: scene)
            }
        }
        if killed == 0 { try trial.fail("no process was killed while it read") }
        let looked = try trial.stage.start(words + ["look", "\(count)"], seconds: 600).wait()
        guard looked.ending == .exit(0) else {
            return try trial.fail("a look: \(looked.ending) \(looked.errors.suffix(300))", scene: scene)
        }
        let outcome = try JSONDecoder().decode(Bounding.Outcome.self, from: Data(looked.output.utf8))
        trial.runs += count
        if !outcome.problems.isEmpty { try trial.fail(outcome.problems.prefix(3).joined(separator: "; "), scene: scene) }
        for room in outcome.rooms {
            Runner.say("R11  \(room.file): \(room.pages) pages, \(room.live) used, \(room.commits) commits, \(killed) readers killed")
        }
        try FileManager.default.removeItem(atPath: scene)
    }
}
