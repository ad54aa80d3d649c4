// A second process of the tests: it grows a store's map, or forks with a store or an LMDB environment open.
import EventLog
import Evstore
import Foundation

/// What a worker is asked to do.
enum Worker {
    static let usage = """
        append STORE MAP-BYTES EVENTS | note STORE NUMBER | twice STORE | hold STORE \
        | migrating STORE SCHEMAS VERSION DEADLINE WAITING | fork STORE | fork-left STORE | fork-refused DIRECTORY \
        | fork-reading DIRECTORY | fork-writing DIRECTORY | fork-again DIRECTORY | stop-log STORE HELD | stop-model STORE HELD \
        | stop-readers STORE HELD | stop-opening STORE HELD | node STORE NAME EVENTS FIRST... | node-reading STORE EVENTS
        """

    static func run(_ words: [String]) async throws {
        switch (words.first, words.count) {
        case ("append", 4): try await append(to: words[1], mapBytes: Int(words[2]) ?? 0, events: Int(words[3]) ?? 0)
        case ("twice", 2): try await twice(in: words[1])
        case ("hold", 2): try await hold(words[1])
        case ("migrating", 6): try await migrating(words[1], words[2], to: Int(words[3]) ?? 0, Double(words[4]) ?? 0, words[5])
        case ("stop-log", 3): try await Stopped(held: words[2]).writing(words[1])
        case ("stop-model", 3): try Stopped(held: words[2]).writing(readModelOf: words[1])
        case ("stop-readers", 3): try Stopped(held: words[2]).changingReaders(words[1])
        case ("stop-opening", 3): try Stopped(held: words[2]).opening(words[1])
        case ("node", 5...):
            try await NodeWork.run(words[1], name: words[2], events: Int(words[3]) ?? 0, from: words[4...].compactMap(Int.init))
        case ("node-reading", 3): try await NodeWork.read(words[1], events: Int(words[2]) ?? 0)
        case ("note", 3): try await note(in: words[1], Int(words[2]) ?? 0)
        case ("fork", 2): try await fork(with: words[1])
        case ("fork-left", 2): try await leave(words[1])
        case ("fork-again", 2): try ForkedEnvironment.again(in: words[1])
        case ("fork-refused", 2): try ForkedEnvironment(in: words[1]).refused()
        case ("fork-reading", 2): try ForkedEnvironment(in: words[1]).reading()
        case ("fork-writing", 2): try ForkedEnvironment(in: words[1]).writing()
        default: throw EvstoreError.misuse(usage)
        }
    }

    /// Longer than the store's own deadlines: on a busy machine with a slow disk many wait for each other.
    static let patience = Duration.seconds(300)

    static func open(_ path: String, mapBytes: Int = 1 << 26) async throws -> EventStore {
        var options = Options()
        (options.mapBytes, options.ballastBytes) = (mapBytes, 0)
        (options.appendDeadline, options.readModelDeadline) = (patience, patience)
        return try await EventStore.open(path, options: options)
    }

    /// Opens a store as a program that migrates at its start; makes the file `waiting` while it waits for another.
    private static func migrating(_ path: String, _ schemas: String, to version: Int, _ deadline: Double, _ waiting: String) async throws {
        var options = Options()
        (options.mapBytes, options.ballastBytes, options.migrationDeadline) = (1 << 26, 0, .seconds(deadline))
        (options.appendDeadline, options.readModelDeadline) = (patience, patience)
        let store = try await EventStore.open(
            path, schemas: try Schemas.load(schemas), version: SchemaVersion(version), policy: .migrate(), options: options
        ) { event in
            if event.step == "wait" { _ = FileManager.default.createFile(atPath: waiting, contents: nil) }
        }
        Fork.say("live \(try store.versions.live)")
        try await store.close()
    }

    static func note(_ number: Int, text: String = "") throws -> NewEvent {
        NewEvent(stream: try StreamName("note-\(number)"), type: "Noted", payload: Array(#"{"id":"\#(number)","text":"\#(text)"}"#.utf8))
    }

    private static func append(to path: String, mapBytes: Int, events: Int) async throws {
        let store = try await open(path, mapBytes: mapBytes)
        let text = String(repeating: "0123456789", count: 1_000)
        var next = Int(try store.last().position.rawValue)
        let end = next + events
        while next < end {
            _ = try await store.append((next ..< min(next + 50, end)).map { number in try note(number, text: text) })
            next += 50
        }
        try await store.close()
    }

    /// Appends until an append fails, and then once more; says what became of these two.
    private static func twice(in path: String) async throws {
        let store = try await open(path)
        var failures = 0
        for number in 0 ..< 50 where failures < 2 {
            var failure = "done"
            do { _ = try await store.append([note(number)]) } catch { failure = (error as? EvstoreError)?.code ?? "\(error)" }
            if failure != "done" || failures > 0 {
                failures += 1
                Fork.say(failure)
            }
        }
        do { try await store.close() } catch { Fork.say("close: \(error.code)") }
    }

    /// Reads the log's newest commit until it is killed.
    private static func hold(_ path: String) async throws {
        let log = try EventLog.open(at: path, options: Options(), readOnly: true)
        try log.read { _ in while true { sleep(1) } }
    }

    private static func note(in path: String, _ number: Int) async throws {
        let store = try await open(path)
        _ = try await store.append([note(number)])
        try await store.close()
    }

    /// Forks with the store open. The child prints what each of its tries came to, and becomes a program that opens the
    /// store anew; the parent goes on afterwards.
    private static func fork(with path: String) async throws {
        let store = try await open(path)
        let reader = Task.detached { for try await _ in store.subscribe() { return } }
        _ = try await store.append([note(1)])
        // Until its threads rest: a child would have a lock that one of them holds for good.
        try await reader.value
        let child = try Fork.child()
        if child == 0 {
            await attempt("last") { _ = try store.last() }
            await attempt("read") { _ = try store.read(note(1).stream) }
            await attempt("append") { _ = try await store.append([note(2)]) }
            await attempt("query") { _ = try await store.count("notes") }
            await attempt("replay") { _ = try await store.migrate(to: SchemaVersion(1)) }
            await attempt("status") { _ = try store.status() }
            await attempt("close") { try await store.close() }
            try Fork.become(["note", path, "2"])
        }
        Fork.say("child: \(Fork.wait(for: child))")
        _ = try await store.append([note(3)])
        Fork.say("parent: \(try store.last().position), held: \(try isHeld(path))")
        try await store.close()
    }

    /// Forks with the store open and ends without closing it. The child, whose process number is said, does nothing until it is killed.
    private static func leave(_ path: String) async throws {
        let store = try await open(path)
        _ = try await store.append([note(1)])
        let child = try Fork.child()
        if child == 0 {
            for descriptor in Int32(1) ... 2 { Glibc.close(descriptor) }
            while true { pause() }
        }
        Fork.say("\(child)")
        _exit(0)
    }

    private static func attempt(_ what: String, _ body: () async throws -> Void) async {
        do {
            try await body()
            Fork.say("\(what): done")
        } catch { Fork.say("\(what): \((error as? EvstoreError)?.code ?? "\(error)")") }
    }

    /// Whether the lock that says "someone has it open" is still there.
    private static func isHeld(_ path: String) throws -> Bool {
        do {
            try StoreLock.presence.acquire(at: path, what: "looking").release()
            return false
        } catch EvstoreError.locked { return true }
    }
}

do {
    try await Worker.run(Array(CommandLine.arguments.dropFirst()))
} catch {
    FileHandle.standardError.write(Data("\((error as? EvstoreError)?.message ?? "\(error)")\n".utf8))
    exit(1)
}
