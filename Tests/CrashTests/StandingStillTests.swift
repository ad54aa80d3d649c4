import Evstore
import EvstoreTesting
import Foundation
import LMDB
import Platform
import Synchronization
import TestSupport
import Testing
import Torturing

/// A process that was stopped while it writes, until the end of a test; one that hangs is freed after a while, and so fails.
private final class StoppedWriter: Sendable {
    private let process: Mutex<Running>
    /// Whether somebody has had to wait for the process to go on.
    let wasFreed = Mutex(false)

    init(_ what: String, of store: TemporaryStore) async throws {
        let held = store.path + "-held"
        process = Mutex(try BuiltProgram.storeWorker.start([what, store.path, held]))
        while !FileManager.default.fileExists(atPath: held) || !process.withLock({ $0.isStopped }) {
            try await Task.sleep(for: .milliseconds(5))
        }
        // A thread of its own: what is tested is whether those of the pool go on.
        Thread.detachNewThread { [self] in
            Thread.sleep(forTimeInterval: 240)
            wasFreed.withLock { $0 = true }
            process.withLock { $0.send(signal: SIGCONT) }
        }
    }

    var id: Int32 { process.withLock { $0.id } }

    func end() { process.withLock { $0.send(signal: SIGKILL) } }

    func goOn() throws -> BuiltProgram.Outcome {
        try process.withLock { process in
            process.send(signal: SIGCONT)
            return try process.wait()
        }
    }
}

@Suite("Beside a process that was stopped while it writes", .serialized)
struct StandingStillTests {
    private static var impatient: Options {
        var options = Options.forTests
        (options.readModelDeadline, options.appendDeadline) = (.seconds(1), .seconds(3))
        return options
    }

    @Test("queries end at their deadline and name it, rows at the log's end are given, and the program goes on")
    func query() async throws {
        let notes = try await TemporaryStore.notes()
        _ = try await notes.store.append([Note.event(10)])
        _ = try await notes.store.count("notes")
        let store = try await EventStore.open(notes.path, options: Self.impatient)
        let writer = try await StoppedWriter("stop-model", of: notes)
        #expect(try await store.count("notes").rows == 1)
        _ = try await notes.store.append([Note.event(20)])
        // It needs a thread of the pool each time.
        let ticking = Task { for _ in 0 ..< 20 { try await Task.sleep(for: .milliseconds(10)) } }
        await withTaskGroup { group in
            for _ in 0 ..< 8 {
                group.addTask {
                    await #expect { _ = try await store.count("notes") } throws: { error in
                        guard case EvstoreError.deadlinePassed(let waited, let holder) = error else { return false }
                        return waited >= .seconds(1) && holder.contains("process")
                    }
                }
            }
        }
        try await ticking.value
        #expect(!writer.wasFreed.withLock { $0 })
        #expect(try writer.goOn().exit == 0)
        #expect(try await notes.store.count("notes").rows == 2)
        try await store.close()
    }

    @Test("a query that waits ends when its task is cancelled")
    func cancelledQuery() async throws {
        let notes = try await TemporaryStore.notes()
        _ = try await notes.store.count("notes")
        _ = try await notes.store.append([Note.event(10)])
        let writer = try await StoppedWriter("stop-model", of: notes)
        let asking = Task { try await notes.store.count("notes").rows }
        try await Task.sleep(for: .milliseconds(50))
        asking.cancel()
        await #expect { _ = try await asking.value } throws: { ($0 as? EvstoreError)?.code == "interrupted" }
        #expect(!writer.wasFreed.withLock { $0 })
        #expect(try writer.goOn().exit == 0)
    }

    @Test("an append that waits ends when its task is cancelled, and is not made")
    func cancelledAppend() async throws {
        let notes = try await TemporaryStore.notes()
        let writer = try await StoppedWriter("stop-log", of: notes)
        let appending = Task { try await notes.store.append([Note.event(10)]) }
        try await Task.sleep(for: .milliseconds(50))
        appending.cancel()
        await #expect { _ = try await appending.value } throws: { ($0 as? EvstoreError)?.code == "interrupted" }
        #expect(!writer.wasFreed.withLock { $0 })
        #expect(try writer.goOn().exit == 0)
        #expect(try await notes.store.append([Note.event(20)]).position == Position(1))
    }

    @Test("long work ends when its task is cancelled", arguments: ["verify", "plan", "replay", "drill", "import", "query"])
    func cancelledWork(what: String) async throws {
        let notes = try await TemporaryStore.notes()
        let (store, version) = (notes.store, SchemaVersion(1))
        for number in [10, 20] { _ = try await store.append([Note.event(number)]) }
        let lines = try notes.write(#"{"stream":"note-9","type":"Noted","data":{"id":"9","text":""}}"# + "\n", to: "lines.jsonl")
        let working = Task {
            while !Task.isCancelled { await Task.yield() }
            switch what {
            case "verify": _ = try await store.maintenance.verify(laws: true)
            case "plan": _ = try await store.plan(to: version)
            case "replay": _ = try await store.migrate(to: version)
            case "query": _ = try await store.count("notes")
            case "drill": _ = try await store.maintenance.drill(to: version)
            default: _ = try await store.importLines(from: .file(lines), as: version)
            }
        }
        working.cancel()
        await #expect { _ = try await working.value } throws: { ($0 as? EvstoreError)?.code == "interrupted" }
        #expect(try store.last().position == Position(2))
    }

    @Test("appends, a snapshot and closing end at their deadline, name it, and leave the store as it was")
    func log() async throws {
        let notes = try await TemporaryStore.notes()
        let store = try await EventStore.open(notes.path, options: Self.impatient)
        // The second of two in a row is ahead of LMDB, which closing has to move there. A busy machine may need more time than they have.
        for number in [10, 20] {
            var isMade = false
            while !isMade {
                do {
                    _ = try await store.append([Note.event(number)])
                    isMade = true
                } catch EvstoreError.deadlinePassed {}
            }
        }
        try await notes.store.close()
        let writer = try await StoppedWriter("stop-log", of: notes)
        await #expect { _ = try await store.append([Note.event(30)]) } throws: { Self.isNamed($0) }
        await #expect { _ = try await store.takeSnapshot("now") } throws: { Self.isNamed($0) }
        do { try await store.close() } catch { #expect(Self.isNamed(error)) }
        #expect(!writer.wasFreed.withLock { $0 })
        #expect(try writer.goOn().exit == 0)
        let again = try await EventStore.open(notes.path, options: .forTests)
        #expect(try again.last().position == Position(2))
        #expect(try await again.maintenance.verify(deep: true).ok)
        try await again.close()
    }

    @Test("opening and reading end at a deadline where it changes LMDB's table of readers, name it, and go on when it has gone")
    func readers() async throws {
        let notes = try await TemporaryStore.notes()
        _ = try await notes.store.append([Note.event(10)])
        let directory = notes.path + "/log"
        let log = try Environment.open(directory: directory, .init(tables: ["types"], mapBytes: 1 << 26))
        defer { log.close() }
        let stopped = try await StoppedWriter("stop-readers", of: notes)
        var first: (waited: Duration, at: Instant)?
        for _ in 0 ..< 3 {
            let start = Instant.now
            // Those that have ended have left slots, which need no mutex.
            let error = #expect(throws: StorageError.self) {
                try log.read { _ in try log.read { _ in try log.read { _ in try log.read { _ in } } } }
            }
            let waited = try #require(error?.waited)
            let message = error?.message ?? ""
            #expect(waited >= .seconds(5) && message.contains("process \(stopped.id)") && message.contains("table of readers"))
            // Whoever comes later does not wait as long again: its wait counts from when the first began to.
            if let first { #expect(waited >= first.waited + first.at.duration(to: start)) } else { first = (waited, .now) }
        }
        let opening = try BuiltProgram.storeWorker.run("note", notes.path, "20")
        #expect(opening.exit != 0 && opening.errors.contains("process \(stopped.id)"), "\(opening)")
        #expect(!stopped.wasFreed.withLock { $0 })
        #expect(try stopped.goOn().exit == 0)
        try log.read { _ in try log.read { _ in try log.read { _ in try log.read { _ in } } } }
        #expect(try BuiltProgram.storeWorker.run("note", notes.path, "20").exit == 0)
        // One that ends while it has it holds up nobody.
        let other = try await StoppedWriter("stop-readers", of: notes)
        other.end()
        #expect(try BuiltProgram.storeWorker.run("note", notes.path, "30").exit == 0)
        #expect(try notes.store.last().position == Position(3))
    }

    @Test("opening ends where a stopped process is at putting the store right, and names it")
    func opening() async throws {
        let notes = try await TemporaryStore.notes()
        _ = try await notes.store.append([Note.event(10)])
        try await notes.store.close()
        let stopped = try await StoppedWriter("stop-opening", of: notes)
        let opening = try BuiltProgram.storeWorker.run("note", notes.path, "20")
        #expect(opening.exit != 0 && opening.errors.contains("process \(stopped.id)"), "\(opening)")
        #expect(opening.errors.contains("stopped"), "\(opening)")
        #expect(!stopped.wasFreed.withLock { $0 })
        #expect(try stopped.goOn().exit == 0)
        #expect(try BuiltProgram.storeWorker.run("note", notes.path, "20").exit == 0)
    }

    private static func isNamed(_ error: any Error) -> Bool {
        guard case EvstoreError.deadlinePassed(_, let holder) = error else { return false }
        return holder.contains("process")
    }
}
