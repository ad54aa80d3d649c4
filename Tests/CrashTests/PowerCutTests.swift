import Evstore
import EvstoreTesting
import Foundation
import Testing

/// `EVSTORE_CRASH_STATES` says how many states are tried, `EVSTORE_CRASH_SEED` which ones.
@Suite("Appends that a power cut or kill -9 ends", .serialized)
struct PowerCutTests {
    private static func setting(_ name: String, or usual: Int) -> Int {
        ProcessInfo.processInfo.environment[name].flatMap { Int($0) } ?? usual
    }

    @Test("after a power cut anywhere every event that was promised is at its place, the log is sound and goes on")
    func powerCut() async throws {
        let seed = Self.setting("EVSTORE_CRASH_SEED", or: Int.random(in: 0 ..< 1 << 30))
        var chance = SeededGenerator(seed: UInt64(seed))
        let scene = try await Scene()
        let before = try CrashState(scene.root)
        let outcome = try scene.recorded(log: true).run("promise", scene.store, scene.promises, "60", "\(seed)")
        #expect(outcome.exit == 0, "\(outcome.errors)")
        let recording = try Recording(scene.log)
        #expect(recording.calls.contains { if case .rename(_, _, let to) = $0 { to.hasSuffix("/log/ahead") } else { false } })

        let count = Self.setting("EVSTORE_CRASH_STATES", or: 120)
        let cuts = (0 ..< count).map { _ in Int.random(in: 0 ... recording.calls.count, using: &chance) }.sorted()
        var state = before
        var taken = 0
        var batch: [(directory: URL, cut: Int, promises: [Recording.Promise])] = []
        for (index, cut) in cuts.enumerated() {
            while taken < cut {
                state.take(recording.calls[taken])
                taken += 1
            }
            let directory = scene.scratch.appending(path: "state-\(index)")
            try state.write(to: directory, &chance)
            batch.append((directory, cut, state.promises))
            guard batch.count == 20 || index == count - 1 else { continue }
            try judge(batch, "seed \(seed)")
            for item in batch { try FileManager.default.removeItem(at: item.directory) }
            batch.removeAll()
        }
    }

    private func judge(_ batch: [(directory: URL, cut: Int, promises: [Recording.Promise])], _ seed: String) throws {
        let outcome = try BuiltProgram.storeWorker.run(["judge"] + batch.map { $0.directory.appending(path: "store").path })
        #expect(outcome.exit == 0 && outcome.signal == nil, "\(seed): \(outcome.errors)")
        try #require(outcome.lines.count == batch.count, "\(seed): a process ended while it opened a state")
        for (line, item) in zip(outcome.lines, batch) {
            let words = line.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            #expect(words[1] == "sound", "\(seed), cut \(item.cut): \(line.prefix(300))")
            if words[1] == "sound" { Self.expect(words[2], item.promises, "\(seed), cut \(item.cut)") }
        }
    }

    /// Every promised event lies where it was promised, and appends are whole and there once.
    private static func expect(_ held: Substring, _ promises: [Recording.Promise], _ what: String) {
        let numbers = held.split(separator: ",").compactMap { Int($0) }
        #expect(Set(numbers).count == numbers.count, "\(what): an event is there twice")
        for promise in promises {
            let place = promise.position - 1 ..< promise.position - 1 + promise.count
            let isThere = place.upperBound <= numbers.count && Array(numbers[place]) == Array(promise.mark ..< promise.mark + promise.count)
            #expect(isThere, "\(what): the append of \(promise.mark) was promised at \(promise.position)")
        }
        for (index, number) in numbers.enumerated() where number % 10 > 0 {
            #expect(index > 0 && numbers[index - 1] == number - 1, "\(what): the append of \(number) is there in part")
        }
    }

    @Test("where the disk fails ahead of the log, what was promised is there and what was refused is not", arguments: Fault.all)
    func failing(fault: Fault) async throws {
        for call in [1, 2, 3, 4, 9, 30] {
            let scene = try await Scene()
            // Another process that has the store open: nobody puts anything right in between.
            let reader = try await EventStore.open(at: scene.store, readOnly: true, options: .forTests)
            let faulty = try fault.program(.storeWorker, nth: call, on: "/log/ahead")
            let outcome = try faulty.run("promise", scene.store, scene.promises, "8", "3")
            #expect(outcome.exit == 0 && outcome.signal == nil, "call \(call): \(outcome.errors)")
            try await reader.close()
            let promises = try String(contentsOfFile: scene.promises, encoding: .utf8).split(separator: "\n").map {
                try Recording.Promise($0)
            }
            let judged = try BuiltProgram.storeWorker.run("judge", scene.store)
            let words = judged.output.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            try #require(words.count == 3 && words[1] == "sound", "call \(call): \(judged.output.prefix(300)) \(judged.errors)")
            let held = words[2].split(separator: "\n").first ?? ""
            Self.expect(held, promises, "call \(call)")
            guard fault.error == ENOSPC else { continue }
            // A full disk is a refusal, never an unknown outcome: only what was promised is there.
            let promised = promises.reduce(0) { $0 + $1.count }
            #expect(held.split(separator: ",").count == promised, "call \(call)")
        }
    }

    @Test("a round whose end is not on the disk stops every process until it is put right", arguments: Fault.all.filter { $0.error == EIO })
    func failedEnd(fault: Fault) async throws {
        let scene = try await Scene()
        let open = try await EventStore.open(at: scene.store, options: .forTests)
        // It leaves a round behind, which the next process ends before its first append. On a slow machine appends may not
        // follow each other quickly enough for one.
        for seed in 1 ... 8 where try !scene.hasRound {
            _ = try BuiltProgram.storeWorker.run("promise", scene.store, scene.promises, "8", "\(seed)")
        }
        try #require(try scene.hasRound)
        let promised = try String(contentsOfFile: scene.promises, encoding: .utf8)
        _ = try fault.program(.storeWorker, nth: 1, on: "/log/ahead").run("promise", scene.store, scene.promises, "1", "99")
        #expect(try String(contentsOfFile: scene.promises, encoding: .utf8) == promised)
        let note = NewEvent(stream: try StreamName("note-1"), type: "Noted", payload: Array(#"{"id":"1","text":""}"#.utf8))
        await #expect {
            try await open.append([note])
        } throws: { if case EvstoreError.ioFailure = $0 { true } else { false } }
        try await open.close()
        let judged = try BuiltProgram.storeWorker.run("judge", scene.store)
        let words = judged.output.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        try #require(words.count == 3 && words[1] == "sound", "\(judged.output.prefix(300)) \(judged.errors)")
        let promises = try promised.split(separator: "\n").map { try Recording.Promise($0) }
        #expect(promises.count >= 24)
        Self.expect(words[2].split(separator: "\n").first ?? "", promises, "\(fault)")
    }

    @Test("of two processes that append, one killed at any call, nothing that was promised is lost and no place is given twice")
    func killed() async throws {
        let rounds = Self.setting("EVSTORE_CRASH_KILLS", or: 8)
        for round in 0 ..< rounds {
            let scene = try await Scene()
            // Every call at first, then at growing distances.
            let call = round < 4 ? 1 + round * 3 : 12 + (round - 3) * (round - 3) * 7
            var doomed = try scene.recorded(log: false)
            doomed.environment["KILL_AT"] = "\(call)"
            let other = scene.root.appending(path: "other/acks")
            try FileManager.default.createDirectory(at: other.deletingLastPathComponent(), withIntermediateDirectories: true)
            try Data().write(to: other)
            let first = try doomed.start(["promise", scene.store, scene.promises, "60", "1"])
            let second = try BuiltProgram.storeWorker.start(["promise", scene.store, other.path, "15", "2"])
            let ends = try [first.wait(), second.wait()]
            #expect(ends[0].signal == SIGKILL || ends[0].exit == 0, "\(ends[0].errors)")
            #expect(ends[1].exit == 0, "\(ends[1].errors)")
            let promises = try [scene.promises, other.path].flatMap { path in
                try String(contentsOfFile: path, encoding: .utf8).split(separator: "\n").map { try Recording.Promise($0) }
            }
            let judged = try BuiltProgram.storeWorker.run("judge", scene.store)
            let words = judged.output.split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
            try #require(words.count == 3 && words[1] == "sound", "call \(call): \(judged.output.prefix(300)) \(judged.errors)")
            Self.expect(words[2].split(separator: "\n").first ?? "", promises, "call \(call)")
        }
    }
}

/// A store of notes that no process has open, and where its promises go.
private struct Scene {
    let temporary: TemporaryStore
    let root: URL
    let scratch: URL
    var store: String { root.appending(path: "store").path }
    var promises: String { root.appending(path: "acks").path }
    var log: URL { scratch.appending(path: "recording") }

    init() async throws {
        temporary = try await TemporaryStore.notes()
        try await temporary.store.close()
        scratch = URL(filePath: temporary.path).deletingLastPathComponent().appending(path: "cuts-\(UUID().uuidString)")
        root = scratch.appending(path: "root")
        try FileManager.default.createDirectory(at: root, withIntermediateDirectories: true)
        try FileManager.default.copyItem(at: URL(filePath: temporary.path), to: root.appending(path: "store"))
        try Data().write(to: root.appending(path: "acks"))
    }

    /// Whether `log/ahead` says that a round is running, in the newer of its headers.
    var hasRound: Bool {
        get throws {
            let path = store + "/log/ahead"
            guard FileManager.default.fileExists(atPath: path) else { return false }
            let file = [UInt8](try Data(contentsOf: URL(filePath: path)))
            let newer = file[8] > file[4_096 + 8] ? 0 : 4_096
            return file[newer + 4] == 1
        }
    }

    func recorded(log isLogged: Bool) throws -> BuiltProgram {
        var program = BuiltProgram.storeWorker
        program.environment["LD_PRELOAD"] = try Recording.library.get()
        program.environment["RECORD_ROOT"] = root.path
        if isLogged { program.environment["RECORD_LOG"] = log.path }
        return program
    }
}
