import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

/// A disk with a store of notes at `at/store`. What processes do to it is recorded, and at the end its power goes.
private struct Outage {
    private let directory: TemporaryDirectory
    private let before: CrashState
    private static let torture = BuiltProgram("evstore-torture")
    private static let note = #"{"id":"77","text":"promised"}"#

    var disk: String { directory.path + "/disk" }
    var store: String { disk + "/at/store" }
    private var log: String { directory.path + "/log" }

    /// A disk as it is when `prepare` has had `disk/at`: all of it is durable.
    init(_ prepare: (_ scene: String) throws -> Void) throws {
        directory = try TemporaryDirectory()
        try FileManager.default.createDirectory(atPath: directory.path + "/disk/at", withIntermediateDirectories: true)
        try prepare(directory.path + "/disk/at")
        before = try CrashState(directory.path + "/disk")
    }

    static func notes(_ scene: String) throws { try must(torture.run("worker", "prepare", "append", scene)) }

    /// Notes with some that are ahead of the log alone, as a process that was killed leaves them. On a slow machine appends may not follow each
    /// other quickly enough for that.
    static func tail(_ scene: String) throws {
        try notes(scene)
        for seed in 1 ... 40 {
            try must(torture.run("worker", "run", "append", scene, "\(seed)"))
            let file = [UInt8](try Data(contentsOf: URL(filePath: scene + "/store/log/ahead")))
            if file[4] == 1 { return }
        }
        throw Failure("nothing was left ahead of the log")
    }

    private static func must(_ outcome: BuiltProgram.Outcome) throws {
        if outcome.exit != 0 { throw Failure("\(outcome.exit): \(outcome.errors)") }
    }

    /// Runs a program whose nth sync, or nth sync of a file, goes wrong.
    func run(
        _ words: [String], _ fault: DiskFault? = nil, file: String? = nil, program: String = "evstore"
    ) throws -> BuiltProgram.Outcome {
        try self.program(program, fault, file).run(words)
    }

    private func program(_ name: String, _ fault: DiskFault?, _ file: String?) throws -> BuiltProgram {
        var recorder = FaultyDisk(root: disk)
        (recorder.fault, recorder.calls, recorder.file) = (fault, "sync", file)
        // One that is stopped would keep the recording's lock.
        if fault?.deed != .stop { recorder.log = log }
        return BuiltProgram(name, environment: try recorder.environment.merging(["EVSTORE_STORE": store]) { $1 })
    }

    /// Does something while a process is stopped at its first sync of a file, as on a disk that takes long.
    func whileStopped<R>(at file: String, _ words: [String], _ body: () throws -> R) throws -> R {
        let process = try program("evstore", DiskFault(.stop, at: 1), file).start(words)
        defer {
            process.send(signal: SIGKILL)
            do { _ = try process.wait() } catch { Issue.record(error) }
        }
        while process.isRunning(after: 2), !process.isStopped {}
        return try body()
    }

    /// Appends of several callers that follow each other quickly.
    func work(_ seed: Int, _ fault: DiskFault? = nil, file: String? = nil) throws -> BuiltProgram.Outcome {
        try run(["worker", "run", "append", disk + "/at", "\(seed)"], fault, file: file, program: "evstore-torture")
    }

    var promised: Int { get throws { try Promise.all(disk + "/at/acks").reduce(0) { $0 + $1.count } } }

    func append(_ fault: DiskFault? = nil, file: String? = nil) throws -> BuiltProgram.Outcome {
        try run(["append", "note-77", "Noted", Self.note], fault, file: file)
    }

    /// How many events there are, in a store that is sound.
    static func count(_ store: String) throws -> Int {
        let program = BuiltProgram(environment: ["EVSTORE_STORE": store])
        try must(program.run("verify", "--deep"))
        let outcome = try program.run("export")
        try must(outcome)
        return outcome.lines.count
    }

    /// Looks at stores after the power has gone: with the least that the disk may hold, and with some more.
    func states<R>(_ look: (_ store: String) throws -> R) throws -> [R] {
        var state = before
        for call in try Recording(log).calls { try state.take(call) }
        var chance = SeededGenerator(seed: 1, "outage", 0)
        return try ([state.least] + (0 ..< 3).map { _ in state.draw(&chance) }).enumerated().map { index, drawn in
            let place = directory.path + "/found-\(index)"
            try drawn.write(to: place)
            return try look(place + "/at/store")
        }
    }

    /// How many events are found then, or why not.
    func found() throws -> [String] {
        try states { store in
            do { return "\(try Self.count(store))" } catch { return "\(error)" }
        }
    }
}

@Suite("What another process has not made durable", .serialized)
struct SettlingTests {
    @Test("an event is not lost that was appended after a process was killed anywhere in putting the log right")
    func recovery() throws {
        let directory = try TemporaryDirectory()
        try Outage.tail(directory.path + "/scene")
        try SparseFile.copy(directory.path + "/scene", to: directory.path + "/counted")
        let count = try Outage.count(directory.path + "/counted/store")
        for nth in 1 ... 20 {
            let outage = try Outage { try SparseFile.copy(directory.path + "/scene", to: $0) }
            let killed = try outage.run(["verify"], DiskFault(.kill, at: nth))
            #expect(try outage.append().exit == 0)
            #expect(try Set(outage.found()) == ["\(count + 1)"], "sync \(nth)")
            if killed.signal == nil { return #expect(nth > 2) }
        }
        Issue.record("putting the log right makes more than twenty syncs")
    }

    @Test("an event that a process has written ahead, and was killed before its sync, is durable before anybody sees it")
    func takeover() async throws {
        let outage = try Outage(Outage.notes)
        // Nobody has the store alone, and so nobody recovers it in between.
        let reader = try await EventStore.open(outage.store, readOnly: true, options: .forTests)
        var isKilled = false
        for seed in 1 ... 40 where !isKilled {
            isKilled = try outage.work(seed, DiskFault(.kill, at: 4), file: "/log/ahead").signal == SIGKILL
        }
        try #require(isKilled, "no append was quick enough to be written ahead")
        let refused = try outage.run(["append", "note-1", "Noted", #"{"id":"1","text":"again"}"#, "--expect", "77"])
        #expect(refused.exit != 0)
        let seen = try outage.run(["export"]).lines.count
        try await reader.close()
        let promised = try outage.promised
        #expect(seen >= promised)
        for found in try outage.found() { #expect(Int(found) ?? 0 >= seen, "\(found) of \(seen)") }
    }

    @Test("a file ahead of the log, whose maker was killed before its name was durable, is there after a power cut")
    func name() throws {
        let outage = try Outage { scene in
            try Outage.notes(scene)
            try FileManager.default.removeItem(atPath: scene + "/store/log/ahead")
        }
        // On a slow machine appends may not follow each other quickly enough to be written ahead.
        for seed in 1 ... 40 where try outage.work(seed, DiskFault(.kill, at: 1), file: "/log").signal == SIGKILL { break }
        #expect(FileManager.default.fileExists(atPath: outage.store + "/log/ahead"))
        for seed in 41 ... 43 { #expect(try outage.work(seed).exit == 0) }
        let promised = try outage.promised
        for found in try outage.found() { #expect(Int(found) ?? 0 >= promised, "\(found)") }
    }

    @Test("a mark of use, which another process was killed before it synced, is synced by whoever writes next, or nothing is written")
    func anchor() throws {
        let outage = try Outage(Outage.notes)
        #expect(try outage.append(DiskFault(.kill, at: 1), file: "/anchor").signal == SIGKILL)
        #expect(try outage.append(DiskFault(.fail, at: 1), file: "/anchor").exit == 1)
        #expect(try Outage.count(outage.store) == 12)
    }

    @Test("a read model's mark of use, which another process was killed before it synced, is synced by whoever writes next")
    func generation() throws {
        let outage = try Outage(Outage.notes)
        let query = ["query", "notes", "--json"]
        #expect(try outage.run(["replay", "--to", "v1"]).exit == 0)
        #expect(try outage.append().exit == 0)
        #expect(try outage.run(query, DiskFault(.kill, at: 1), file: "/mark").signal == SIGKILL)
        #expect(try outage.run(query, DiskFault(.fail, at: 1), file: "/mark").exit != 0)
        let found = try outage.run(query)
        #expect(found.exit == 0 && found.lines.count == 13)
    }

    @Test("an append goes on while another process waits for the sync of its mark of use, however long that takes")
    func slow() throws {
        let outage = try Outage(Outage.notes)
        let append = ["append", "note-78", "Noted", #"{"id":"78","text":"late"}"#]
        #expect(try outage.whileStopped(at: "/anchor", append) { try outage.append() }.exit == 0)
        #expect(try Outage.count(outage.store) == 13)
    }

    @Test("a store's new format, whose writer was killed before its name was durable, is there after an append and a power cut")
    func format() throws {
        for nth in 1 ... 6 {
            let outage = try Outage { try SparseFile.copy(Checkout.path("Tests/EventLogTests/Goldens/blocks-1"), to: $0 + "/store") }
            let words = ["append", "s-77", "noted", #"{"n":77}"#]
            let killed = try outage.run(words, DiskFault(.kill, at: nth), file: "/store")
            #expect(try outage.run(words).exit == 0)
            let formats = try outage.states { try String(contentsOfFile: $0 + "/evstore.json", encoding: .utf8).contains(#""format" : 9"#) }
            #expect(formats.allSatisfy { $0 }, "sync \(nth)")
            if killed.signal == nil { return #expect(nth > 1) }
        }
        Issue.record("an append makes more than six syncs of the store's names")
    }

    @Test("a store, whose maker was killed before its name was durable, is there after an append and a power cut")
    func store() throws {
        let outage = try Outage { try Note.versionFile.write(toFile: $0 + "/v1.yaml", atomically: false, encoding: .utf8) }
        let made = try outage.run(["init", "--schemas", outage.disk + "/at"], DiskFault(.kill, at: 1), file: "/at")
        #expect(made.signal == SIGKILL && FileManager.default.fileExists(atPath: outage.store))
        #expect(try outage.append().exit == 0)
        #expect(try Set(outage.found()) == ["1"])
    }

    @Test("where what a store or a backup lies in can't be synced at all, both go on; where its sync fails, neither does")
    func unsyncable() throws {
        let outage = try Outage(Outage.notes)
        for (error, exit) in [(EINVAL, Int32(0)), (EOPNOTSUPP, 0), (EIO, 1)] {
            let fault = DiskFault(.fail, error: error, at: 1)
            #expect(try outage.append(fault, file: "/at").exit == exit)
            #expect(try outage.run(["backup", outage.disk + "/at/copies-\(error)"], fault, file: "/at").exit == exit)
        }
    }
}
