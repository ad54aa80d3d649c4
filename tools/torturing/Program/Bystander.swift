import Evstore
import Foundation
import LMDB
import Platform
import Synchronization
import TestSupport
import Torturing

/// A process beside one that is stopped. It does everything that may have to wait, says what became of it, and counts how long its
/// pool had no thread for a task that sleeps 10 ms.
final class Bystander: Sendable {
    struct Report: Codable {
        /// The longest pauses in milliseconds: of the task, and of a thread of its own, which waits for nothing but a processor.
        var pause = 0.0
        var machine = 0.0
        var appended: [Int] = []
        var refused: [Int] = []
        /// How often calls ended with which error.
        var ends: [String: Int] = [:]
        /// How often an error could not tell which process is in the way.
        var problems: [String] = []
        /// Deadlines that passed while no process was in the way.
        var unheld: [String] = []
    }

    /// What it says when it has the store open.
    static let ready = "ready"
    static let deadlineSeconds = 1.0
    /// What may become of a call that somebody is in the way of.
    private static let codes: Set<String> = ["deadlinePassed", "locked", "migrationInProgress", "interrupted"]

    private let scene: String
    private let id: Int
    private let report = Mutex(Report())

    init(scene: String, id: Int) { (self.scene, self.id) = (scene, id) }

    /// - Parameter go: the file that appears when the other process is stopped.
    func run(go: String) async throws -> Report {
        let schemas = try Order.loaded
        let (pool, machine) = (Pauses(), Pauses())
        let ticking = Task {
            while true {
                try await Task.sleep(for: .milliseconds(10))
                pool.tick()
            }
        }
        Thread.detachNewThread {
            while true {
                usleep(10_000)
                machine.tick()
            }
        }
        var options = Worker.options
        (options.appendDeadline, options.readModelDeadline) = (.seconds(Self.deadlineSeconds), .seconds(Self.deadlineSeconds))
        let store = Mutex<EventStore?>(nil)
        await call("open") {
            let opened = try await EventStore.open(scene + "/store", schemas: schemas, options: options)
            store.withLock { $0 = opened }
        }
        FileHandle.standardOutput.write(Data("\(Self.ready)\n".utf8))
        if let store = store.withLock({ $0 }) {
            while !FileManager.default.fileExists(atPath: go) { try await Task.sleep(for: .milliseconds(2)) }
            await everything(on: store)
            await call("close") { try await store.close() }
        }
        ticking.cancel()
        return report.withLock { report in
            (report.pause, report.machine) = (pool.longest, machine.longest)
            return report
        }
    }

    /// All at once, as a service does.
    private func everything(on store: EventStore) async {
        await withTaskGroup { group in
            for number in 0 ..< 4 { group.addTask { await self.append(number, to: store) } }
            for _ in 0 ..< 4 { group.addTask { await self.call("query") { _ = try await store.count("orders") } } }
            group.addTask { await self.call("snapshot") { _ = try await store.takeSnapshot("by-\(self.id)") } }
            group.addTask { await self.call("replay") { _ = try await store.migrate(to: store.versions.live) } }
            group.addTask { await self.call("import") { try await self.importLines(to: store) } }
            group.addTask { await self.call("plan") { _ = try await store.plan(to: SchemaVersion(5)) } }
            group.addTask { await self.call("verify") { _ = try await store.maintenance.verify(deep: true) } }
            group.addTask {
                let asking = Task { await self.call("a query that is cancelled") { _ = try await store.count("orders") } }
                do { try await Task.sleep(for: .milliseconds(20)) } catch {}
                asking.cancel()
                await asking.value
            }
        }
    }

    private func importLines(to store: EventStore) async throws {
        let (file, first) = (scene + "/lines-\(id).jsonl", 10_000 * (id + 1) + 5_000)
        try Order.lines(first ..< first + 10).write(toFile: file, atomically: false, encoding: .utf8)
        _ = try await store.importLines(from: .file(file), as: SchemaVersion(1))
    }

    /// Every second one is cancelled, waiting or not.
    private func append(_ number: Int, to store: EventStore) async {
        let number = 10_000 * (id + 1) + number
        let appending = Task { try await store.append([Order.event(number)]) }
        if number % 2 == 1 {
            do { try await Task.sleep(for: .milliseconds(20)) } catch {}
            appending.cancel()
        }
        await call("append") {
            do {
                _ = try await appending.value
                report.withLock { $0.appended.append(number) }
            } catch {
                report.withLock { $0.refused.append(number) }
                throw error
            }
        }
    }

    private func call(_ what: String, _ body: () async throws -> Void) async {
        do { try await body() } catch {
            let error = error as? EvstoreError
            let code = error?.code ?? "another error"
            report.withLock { report in
                report.ends["\(what): \(code)", default: 0] += 1
                let isNamed = code == "interrupted" || error?.message.firstMatch(of: /process \d+/) != nil
                let said = "\(what): \(code): \(error?.message ?? "")"
                let isUnheld = code == "deadlinePassed" && said.contains(Environment.nobody)
                if isUnheld { report.unheld.append(said) } else if !Self.codes.contains(code) || !isNamed { report.problems.append(said) }
            }
        }
    }
}

/// The longest time between two ticks.
private final class Pauses: Sendable {
    private let state = Mutex((last: Instant.now, longest: Duration.zero))

    func tick() {
        let now = Instant.now
        state.withLock { $0 = (now, max($0.longest, $0.last.duration(to: now))) }
    }

    /// In milliseconds, the one that has not ended included.
    var longest: Double {
        tick()
        return state.withLock { $0.longest / .milliseconds(1) }
    }
}

/// A process that does all that takes a lock of a store, one after the other, and is stopped somewhere in between.
struct Holder {
    let scene: String

    func run() async throws {
        let store = try await EventStore.open(scene + "/store", schemas: Order.loaded, options: Worker.options)
        do { try await run(on: store) } catch {
            try await store.close()
            throw error
        }
        try await store.close()
    }

    private func run(on store: EventStore) async throws {
        for number in 0 ..< 3 {
            _ = try await store.append([Order.event(1_000 + number)])
            _ = try await store.count("orders")
        }
        let lines = scene + "/lines.jsonl"
        try Order.lines(2_000 ..< 2_040).write(toFile: lines, atomically: false, encoding: .utf8)
        _ = try await store.importLines(from: .file(lines), as: SchemaVersion(1))
        _ = try await store.takeSnapshot("held")
        _ = try await store.count("orders")
        _ = try await store.migrate(to: SchemaVersion(5), options: MigrationOptions(yes: true))
        _ = try await store.append([Order.event(3_000, at: 5)])
        _ = try await store.count("orders")
        _ = try await store.rollback(to: SchemaVersion(1))
    }
}
