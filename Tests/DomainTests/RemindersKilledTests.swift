import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

/// A night's store of reminders, and the moments at which its scheduler is started cold.
struct Night: CustomTestStringConvertible, Sendable {
    let testDescription: String
    /// The version that the store is at, and the one that the program works at.
    let stored, program: Int
    var policy = "require"
    let zone: String
    let fireAt: String
    /// When nothing is due yet.
    let early: String
    /// The moments at which something is, each with those at which the same comes again.
    let moments: [[String]]
    let slots: [String]
    /// How many calls there are between two kills.
    var stride: @Sendable (Int) -> Int = { _ in 1 }

    static let all = [
        Night(
            testDescription: "clock changes", stored: 1, program: 1, zone: "Europe/Berlin", fireAt: "2026-03-28T02:30:00+01:00",
            // On 29 March 02:30 does not exist: 01:59:59 is followed by 03:00. On 25 October it comes twice, an hour apart.
            early: "2026-03-29T00:59:59Z",
            moments: [["2026-03-29T01:00:00Z", "2026-03-29T01:00:07Z"], ["2026-10-25T00:30:00Z", "2026-10-25T01:30:00Z"]],
            slots: ["2026-03-29 at 2026-03-29T01:00:00Z", "2026-10-25 at 2026-10-25T00:30:00Z"]),
        Night(
            testDescription: "a day rolls over", stored: 2, program: 2, zone: "Pacific/Apia", fireAt: "2011-12-28T23:30:00-10:00",
            // After 29 December came the 31st, in the same minute.
            early: "2011-12-30T09:00:00Z",
            moments: [["2011-12-30T09:59:50Z", "2011-12-30T09:59:59Z"], ["2011-12-31T09:30:00Z", "2011-12-31T09:30:09Z"]],
            slots: ["2011-12-29 at 2011-12-30T09:59:50Z", "2011-12-31 at 2011-12-31T09:30:00Z"]),
        Night(
            testDescription: "a newer program that observes", stored: 1, program: 3, policy: "observe", zone: "UTC",
            fireAt: "2026-11-20T10:00:00Z", early: "2026-11-20T09:59:59Z",
            moments: [["2026-11-20T10:00:00Z", "2026-11-20T10:00:09Z"]], slots: ["2026-11-20 at 2026-11-20T10:00:00Z"]),
        Night(
            testDescription: "a newer program that migrates", stored: 1, program: 3, policy: "migrate", zone: "UTC",
            fireAt: "2026-11-20T10:00:00Z", early: "",
            moments: [["2026-11-20T10:00:00Z", "2026-11-20T10:00:09Z"]], slots: ["2026-11-20 at 2026-11-20T10:00:00Z"],
            // Its points are those of `KilledMigrationTests`.
            stride: { 1 + $0 / 4 }),
    ]
}

@Suite("A scheduler of reminders that is killed")
struct RemindersKilledTests {
    @Test("killed at any write and started again, it has delivered each slot once, and duplicates change nothing", arguments: Night.all)
    func killed(night: Night) async throws {
        let directory = try TemporaryDirectory()
        let calm = try await SchedulerScene.make(night, in: directory.path)
        if !night.early.isEmpty { try calm.wake([night.early]) }
        #expect(try await calm.outcome().slots.isEmpty)
        for moments in night.moments {
            let before = try calm.copy("before")
            try calm.wake(moments)
            let expected = try await calm.outcome()
            var (write, wasKilled) = (1, true)
            while wasKilled {
                let scene = try before.copy("killed")
                wasKilled = try scene.wake(moments, killedAt: write)
                try scene.wake(moments)
                try #expect(await scene.outcome() == expected, "killed at write \(write)")
                try scene.remove()
                write += night.stride(write)
            }
            #expect(write > 10)
            try before.remove()
        }
        let outcome = try await calm.outcome()
        #expect(outcome.slots == night.slots && outcome.isSound)
        #expect(outcome.live == (night.policy == "migrate" ? night.program : night.stored))
    }
}

/// A phone's store, in a directory that real processes work in.
private struct SchedulerScene {
    let night: Night
    let directory: String
    var path: String { directory + "/store" }

    /// What its user could see, and what lies beneath.
    struct Outcome: Equatable {
        var events: [String] = []
        var slots: [String] = []
        var rows: [String] = []
        var live = 0
        var isSound = false
    }

    /// A store with one daily reminder in it.
    static func make(_ night: Night, in directory: String) async throws -> SchedulerScene {
        let scene = SchedulerScene(night: night, directory: directory + "/first")
        try FileManager.default.createDirectory(atPath: scene.directory, withIntermediateDirectories: true)
        let store = try await EventStore.create(
            scene.path, schemas: try RemindersTests.domain.schemas(), version: SchemaVersion(night.stored), options: .forTests)
        _ = try await store.append([try Reminder.scheduled("pills", night.fireAt, at: night.stored)])
        for projection in ["due", "delivered"] { _ = try await store.count(projection) }
        try await store.close()
        return scene
    }

    func copy(_ name: String) throws -> SchedulerScene {
        let target = URL(filePath: directory).deletingLastPathComponent().appending(path: name).path
        try SparseFile.copy(directory, to: target)
        return SchedulerScene(night: night, directory: target)
    }

    func remove() throws { try FileManager.default.removeItem(atPath: directory) }

    /// Starts the scheduler at each of the moments; whether it was killed.
    @discardableResult
    func wake(_ moments: [String], killedAt write: Int? = nil) throws -> Bool {
        var disk = FaultyDisk(root: directory)
        (disk.fault, disk.calls) = (write.map { DiskFault(.kill, at: $0) }, "write")
        let scheduler = BuiltProgram("RemindersService", environment: write == nil ? [:] : try disk.environment)
        let words = [path, RemindersTests.domain.path, night.policy, "\(night.program)", night.zone] + moments
        let outcome = try scheduler.run(words)
        if write != nil, outcome.signal == SIGKILL { return true }
        try #require(outcome.exit == 0, "\(outcome.signal ?? 0) \(outcome.errors)")
        return false
    }

    func outcome() async throws -> Outcome {
        let store = try await EventStore.open(path, options: .forTests)
        var outcome = Outcome()
        for event in try store.all() {
            outcome.events.append("\(event.stream) \(event.type) \(event.id) v\(event.born) \(event.json)")
            if event.type != "NotificationDelivered" { continue }
            let payload = try JSONDecoder().decode([String: String].self, from: Data(event.payload))
            outcome.slots.append("\(payload["slot"] ?? "") at \(payload["deliveredAt"] ?? "")")
        }
        let versions = try store.versions
        for projection in ["due", "delivered"] + (versions.live < SchemaVersion(2) ? [] : ["days"]) {
            try await store.query(projection) { row in
                outcome.rows.append("\(projection) \(row.key) \(row.json)")
                return true
            }
        }
        outcome.live = Int(versions.live.number)
        outcome.isSound = try await store.maintenance.verify(deep: true).ok
        try await store.close()
        return outcome
    }
}
