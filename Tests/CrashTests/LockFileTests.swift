import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing
import Torturing

@Suite("The file of LMDB's locks", .serialized)
struct LockFileTests {
    @Test("whoever opens and closes it inside a process that has the store open stops that process and who comes next, and harms nothing")
    func lost() async throws {
        let notes = try await TemporaryStore.notes()
        let store = notes.store
        _ = try await store.append([Note.event(10)])
        // Any copy of the directory does that.
        _ = try Data(contentsOf: URL(filePath: notes.path + "/log/lock.mdb"))
        let next = try BuiltProgram.storeWorker.run("note", notes.path, "1")
        #expect(next.exit != 0 && next.errors.contains("backup"), "\(next.errors)")
        await #expect {
            _ = try await store.append([Note.event(20)])
        } throws: { error in
            guard case EvstoreError.misuse(let what) = error else { return false }
            return what.contains("lock.mdb") && what.contains("backup")
        }
        try await store.close()
        let again = try await EventStore.open(notes.path, options: .forTests)
        #expect(try await again.append([Note.event(20)]).position == Position(2))
        #expect(try await again.maintenance.verify(deep: true).ok)
        try await again.close()
    }

    @Test("the same for a read model's: nobody else takes part in it until it is closed, and the log goes on")
    func lostOfModel() async throws {
        let notes = try await TemporaryStore.notes()
        let store = notes.store
        _ = try await store.append([Note.event(10)])
        #expect(try await store.count("notes").rows == 1)
        let models = notes.path + "/generations/"
        let names = try FileManager.default.subpathsOfDirectory(atPath: models).filter { $0.hasSuffix("/lock.mdb") }
        #expect(names.count == 1)
        for name in names { _ = try Data(contentsOf: URL(filePath: models + name)) }
        let program = BuiltProgram(environment: ["EVSTORE_STORE": notes.path])
        let next = try program.run("query", "notes")
        #expect(next.exit != 0 && next.errors.contains("backup"), "\(next.errors)")
        #expect(try await store.append([Note.event(20)]).position == Position(2))
        try await store.close()
        let again = try program.run("query", "notes")
        #expect(again.exit == 0 && again.lines.count == 2, "\(again.errors)")
    }

    @Test("many that open a store at once all come in")
    func atOnce() async throws {
        let notes = try await TemporaryStore.notes()
        try await notes.store.close()
        let running = try (0 ..< 8).map { try BuiltProgram.storeWorker.start(["note", notes.path, "\($0)"]) }
        async let own = EventStore.open(notes.path, options: .forTests)
        async let other = EventStore.open(notes.path, options: .forTests)
        let stores = try await [own, other]
        for process in running {
            let outcome = try process.wait()
            #expect(outcome.exit == 0, "\(outcome.errors)")
        }
        #expect(try stores[0].last().position == Position(8))
        for store in stores { try await store.close() }
    }

    private static let canUnshare: Bool = {
        do { return try BuiltProgram(path: "/usr/bin/unshare").run("--pid", "--fork", "true").exit == 0 } catch { return false }
    }()

    /// A worker that is process 1 of a pid namespace of its own, as in a container.
    @Test(
        "a writer comes in beside a reader that can't write the store, and so has none of LMDB's locks",
        .enabled(if: MountedDisk.isPossible, mounting))
    func lockless() throws {
        let orders = try Orders(count: 20)
        let (place, directory) = (orders.directory.path, try TemporaryDirectory())
        let said = directory.path + "/said"
        let script = """
            mount --bind \(place) \(place) && mount -o remount,ro,bind \(place) && exec \(orders.program.path) watch >\(said) 2>&1
            """
        let reader = try BuiltProgram(path: "/usr/bin/unshare", environment: orders.program.environment).start(["-m", "sh", "-c", script])
        while reader.isRunning, try !FileManager.default.fileExists(atPath: said) || !text(said).contains("watching") { usleep(5_000) }
        #expect(reader.isRunning)
        let order = #"{"id":"new","customer":"Ada Lovelace","email":"a@example.org","total":"1.50","placedAt":1767225600,"note":"n"}"#
        try orders.program.must("append", "order-new", "OrderPlaced", order)
        while reader.isRunning, try !text(said).contains("order-new") { usleep(5_000) }
        reader.send(signal: SIGTERM)
        #expect(try reader.wait().exit == 0)
    }

    private func text(_ path: String) throws -> String { try String(contentsOfFile: path, encoding: .utf8) }

    private static func contained(_ words: String...) -> (BuiltProgram, [String]) {
        (BuiltProgram(path: "/usr/bin/unshare"), ["--pid", "--fork", "--kill-child", BuiltProgram.storeWorker.path] + words)
    }

    @Test(
        "a dead reader of another container is cleared by whoever has its process number next",
        .enabled(if: canUnshare, "this user may not make pid namespaces"))
    func deadNumber() async throws {
        let notes = try await TemporaryStore.notes()
        // It keeps the table of readers as it is, and clears none by itself.
        let store = notes.store
        let (program, words) = Self.contained("hold", notes.path)
        let reader = try program.start(words)
        while try store.status().oldestReader?.process != 1 { try await Task.sleep(for: .milliseconds(20)) }
        _ = try await store.append([Note.event(10)])
        // The next one of that number is there before anybody has looked, and lives: only it can tell whose the slot is.
        reader.send(signal: SIGKILL)
        _ = try reader.wait()
        let next = try program.start(words)
        let end = ContinuousClock.now + .seconds(100)
        var oldest = try store.status().oldestReader
        while oldest?.process != 1 || oldest?.commitsBehind != 0, next.isRunning, ContinuousClock.now < end {
            try await Task.sleep(for: .milliseconds(20))
            oldest = try store.status().oldestReader
        }
        #expect(oldest?.process == 1 && oldest?.commitsBehind == 0)
        next.send(signal: SIGKILL)
        _ = try next.wait()
        try await store.close()
    }

    @Test(
        "two containers whose processes have one number: the second is told so, and what to do",
        .enabled(if: canUnshare, "this user may not make pid namespaces"))
    func sameNumber() async throws {
        let notes = try await TemporaryStore.notes()
        try await notes.store.close()
        let watching = try await EventStore.open(notes.path, readOnly: true, options: .forTests)
        let (program, words) = Self.contained("hold", notes.path)
        let first = try program.start(words)
        while try watching.status().oldestReader?.process != 1 { try await Task.sleep(for: .milliseconds(20)) }
        let (second, appending) = Self.contained("note", notes.path, "7")
        let outcome = try second.run(appending)
        #expect(outcome.exit != 0 && outcome.errors.contains("process 1 of another container"), "\(outcome.errors)")
        #expect(outcome.errors.contains("its option init"))
        first.send(signal: SIGKILL)
        _ = try first.wait()
        let again = try second.run(appending)
        #expect(again.exit == 0, "\(again.errors)")
        try await watching.close()
    }
}
