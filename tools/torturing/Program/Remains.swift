import Evstore
import Foundation
import Platform
import TestSupport
import Torturing

/// A sealed store that lives on a file system of its own, with read models, an archive, drills and backups, and three that were made of
/// it: by a restore, by a salvage, and under other keys. All of them forget people. Then the disk is searched, byte by byte, for what
/// opens what was forgotten.
struct Remains {
    /// Where the file system is mounted.
    let place: String
    let seed: Int

    /// What becomes of it, said by the process that has it.
    struct Outcome: Codable {
        var problems: [String] = []
        /// What was found on the disk.
        var remains: [String] = []
        /// The file system, as `forget` has named it.
        var told: String?
        /// Keys that ever were, and those that still are.
        var keys = 0
        var alive = 0
        var bytes = 0
    }

    private static let (people, forgotten) = (12, 0 ..< 5)
    private var path: String { Self.store.path(in: place) }
    private var backups: String { place + "/backups" }

    /// One of the stores, and what opens its keys.
    private struct Home {
        let name: String
        let secret: UInt8

        func path(in place: String) -> String { place + "/" + name }

        func open(in place: String) async throws -> EventStore {
            try await EventStore.open(path(in: place), schemas: Told.schemas, options: Secrecy.options(secret))
        }
    }

    private static let store = Home(name: "store", secret: 7)
    private static let (restored, salvaged) = (Home(name: "restored", secret: 7), Home(name: "salvaged", secret: 7))
    private static let reciphered = Home(name: "reciphered", secret: 8)
    private static let copies = [restored, salvaged, reciphered]

    private func open() async throws -> EventStore { try await Self.store.open(in: place) }

    // MARK: The store's processes

    /// Does one part of its life.
    func live(_ part: String) async throws {
        switch part {
        case "fill": try await fill()
        case "drill":
            let store = try await open()
            _ = try await store.maintenance.drill(to: SchemaVersion(2), backups: backups)
            try await store.close()
        case "copy": try await copy()
        default: try await forget()
        }
    }

    private func fill() async throws {
        let store = try await EventStore.create(
            path, schemas: Told.schemas, version: SchemaVersion(1), options: Secrecy.options(Self.store.secret))
        var told = Told()
        func append(_ people: Range<Int>, at version: Int) async throws {
            for person in people {
                _ = try await store.append([told.event(person, seed, at: version), told.event(nil, seed, at: version)])
            }
        }
        try await append(0 ..< Self.people, at: 1)
        _ = try await store.count("people")
        _ = try await store.maintenance.backUp(into: backups)
        _ = try await store.takeSnapshot("here")
        try await append(0 ..< Self.people / 2, at: 1)
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        _ = try await store.migrate(to: SchemaVersion(2))
        try await append(0 ..< Self.people, at: 2)
        _ = try await store.maintenance.backUp(into: backups)
        _ = try await store.count("people")
        try await store.close()
    }

    /// Makes the other stores, with read models of their own.
    private func copy() async throws {
        let options = Secrecy.options(Self.store.secret)
        _ = try await StoreMaintenance.restore(from: backups, into: Self.restored.path(in: place), options: options)
        _ = try await StoreMaintenance.salvage(path, into: Self.salvaged.path(in: place), schemas: Told.schemas, options: options)
        let store = try await open()
        _ = try await store.maintenance.recipher(
            into: Self.reciphered.path(in: place), secret: .key([UInt8](repeating: Self.reciphered.secret, count: 32)))
        try await store.close()
        for copy in Self.copies {
            let store = try await copy.open(in: place)
            _ = try await store.count("people")
            try await store.close()
        }
    }

    private func forget() async throws {
        let store = try await open()
        _ = try await store.count("people")
        let report = try await store.forget(try Self.forgotten.map { try StreamName("person-\($0)") })
        var outcome = Outcome()
        outcome.told = report.fileSystem
        if report.forgotten.count != Self.forgotten.count { outcome.problems.append("\(report.forgotten.count) streams were forgotten") }
        if report.lines == 0 || !report.archives.isEmpty || !report.inUse.isEmpty {
            outcome.problems.append("of copies it says \(report.lines) lines, \(report.archives), \(report.inUse)")
        }
        _ = try await store.maintenance.backUp(into: backups, keeping: 1)
        _ = try await store.count("people")
        if try await !store.maintenance.verify(deep: true).ok { outcome.problems.append("the store is not whole") }
        try await store.close()
        for copy in Self.copies { outcome.problems += try await forget(in: copy) }
        try Worker.say(outcome)
    }

    private func forget(in copy: Home) async throws -> [String] {
        let store = try await copy.open(in: place)
        _ = try await store.count("people")
        var problems: [String] = []
        let count = try await store.forget(try Self.forgotten.map { try StreamName("person-\($0)") }).forgotten.count
        if count != Self.forgotten.count { problems.append("\(copy.name): \(count) streams were forgotten") }
        _ = try await store.count("people")
        if try await !store.maintenance.verify(deep: true).ok { problems.append("\(copy.name) is not whole") }
        try await store.close()
        return problems
    }

    // MARK: The disk

    /// Makes the file system, has the store live there, and searches it.
    func run(on ground: Ground, image: String) throws -> Outcome {
        try Mounting.make(ground.maker, image, megabytes: 320)
        try Mounting.mount(image, at: place, ground.maker, ground.options)
        var traces = KeyTraces()
        var chance = SeededGenerator(seed: UInt64(seed), "remains", 0)
        var outcome = Outcome()
        var known: (files: [UInt64: String], alive: Set<[UInt8]>) = ([:], [])
        // A drill that comes to its end, and one that is killed.
        for (number, part) in ["fill", "drill", "drill", "copy", "forget"].enumerated() {
            var disk = FaultyDisk(root: place)
            disk.log = image + "-log-\(number)"
            let child = try Running(
                CommandLine.arguments[0], ["worker", "live", part, place, "\(seed)"], environment: disk.environment, files: image + "-said")
            if number == 2, child.isRunning(after: Int32.random(in: 200 ... 4_000, using: &chance)) { child.send(signal: SIGKILL) }
            let ended = try child.wait()
            if number != 2, ended.ending != .exit(0) { throw Failure("\(part): \(ended.ending) \(ended.errors)") }
            if part == "forget" { outcome = try JSONDecoder().decode(Outcome.self, from: Data(ended.output.utf8)) }
            let before = known.files
            let homes = [Self.store] + (number < 3 ? [] : Self.copies)
            known = try traces.look(
                place, keysOf: homes.map { ($0.path(in: place), [UInt8](repeating: $0.secret, count: 32)) })
            traces.learn(try Recording(image + "-log-\(number)"), known: before)
        }
        try Mounting.unmount(place)
        try search(image, traces, known.alive, &outcome)
        return outcome
    }

    private func search(_ image: String, _ traces: KeyTraces, _ alive: Set<[UInt8]>, _ outcome: inout Outcome) throws {
        (outcome.keys, outcome.alive) = (traces.count, alive.count)
        let (clear, opening) = ("a name in the clear", traces.gone(but: alive))
        let there = alive.sorted { $0.lexicographicallyPrecedes($1) }.enumerated().map { ("alive \($0)", $1) }
        let (found, bytes) = try RawScan.find([(clear, Array(Secrecy.mark.utf8))] + opening + there, in: image)
        outcome.bytes = bytes
        if let place = found[clear] { outcome.problems.append("\(clear) at \(place)") }
        outcome.remains = opening.compactMap { item in found[item.name].map { "\(item.name) at \($0)" } }
        // The search finds what there is.
        let missed = there.filter { found[$0.0] == nil }.count
        if missed > 0 || alive.isEmpty { outcome.problems.append("\(missed) of \(alive.count) keys that are in use were not found") }
        if traces.count - alive.count < Self.forgotten.count * 2 {
            outcome.problems.append("of \(traces.count) keys \(alive.count) are alive: what was forgotten?")
        }
    }
}

/// A kind of file system, as it is made and mounted.
struct Ground: Sendable {
    let name: String
    let maker: String
    var options: String?
    /// Whether it has copies of what is overwritten.
    var isKeeping = false

    static let all = [
        Ground(name: "ext4", maker: "ext4"), Ground(name: "xfs", maker: "xfs"),
        Ground(name: "ext4 with data=journal", maker: "ext4", options: "data=journal", isKeeping: true),
        Ground(name: "btrfs", maker: "btrfs", isKeeping: true), Ground(name: "f2fs", maker: "f2fs", isKeeping: true),
    ]

    private var package: String { ["ext4": "e2fsprogs", "xfs": "xfsprogs", "btrfs": "btrfs-progs"][maker] ?? "\(maker)-tools" }

    /// Why there is none here.
    var obstacle: String? {
        guard FileManager.default.isExecutableFile(atPath: "/usr/sbin/mkfs.\(maker)") else {
            return "\(name): there is no mkfs.\(maker), which \(package) has"
        }
        do {
            let kinds = try String(contentsOfFile: "/proc/filesystems", encoding: .utf8)
            return kinds.contains("\t\(maker)\n") ? nil : "\(name): the kernel has none"
        } catch { return "\(name): \(error)" }
    }
}

extension TortureCase {
    static let remains = TortureCase(
        "R22", "a disk searched for what opens what was forgotten: ext4; by hand xfs, and those that keep what is overwritten too",
        goal: 1, seconds: 6, floor: 1, runsPerTrial: 1, obstacle: { Mounting.obstacle }
    ) { trial in
        let ground = Ground.all[trial.index % Ground.all.count]
        if let obstacle = ground.obstacle { return trial.skipped = obstacle }
        let (place, seed) = (trial.stage.place("mount"), "\(trial.chance.next() % 1_000_000_000)")
        let words = [CommandLine.arguments[0], "worker", "remains", place, place + ".img", ground.name, seed]
        let said = try Running("/usr/bin/unshare", ["-m"] + words, files: trial.stage.place("said"), seconds: 600).wait()
        guard said.ending == .exit(0) else { throw Failure("\(ground.name): \(said.ending) \(said.errors)") }
        let outcome = try JSONDecoder().decode(Remains.Outcome.self, from: Data(said.output.utf8))
        trial.runs += 1
        var problems = outcome.problems
        if outcome.told != (ground.isKeeping ? ground.name : nil) { problems.append("forget names \(outcome.told ?? "no file system")") }
        if !ground.isKeeping { problems += outcome.remains }
        let found = "\(outcome.remains.count) parts of \(outcome.keys - outcome.alive) keys that are gone"
        Runner.say("R22  \(ground.name): \(found) in \(outcome.bytes >> 20) MiB; \(outcome.alive) keys are in use")
        if !problems.isEmpty { try trial.fail("\(ground.name): \(problems.prefix(4).joined(separator: "; "))") }
        for name in try FileManager.default.contentsOfDirectory(atPath: trial.stage.directory) where name.hasPrefix(Self.name(of: place)) {
            try FileManager.default.removeItem(atPath: trial.stage.directory + "/" + name)
        }
    }

    private static func name(of path: String) -> String { URL(filePath: path).lastPathComponent }
}
