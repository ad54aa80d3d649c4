import EventLog
import Evstore
import EvstoreTesting
import Synchronization
import TestSupport
import Testing

@Suite("Two that migrate at their start")
struct WaitingMigrationTests {
    private final class Heard: Sendable {
        let events = Mutex<[ProgressEvent]>([])
        var steps: Set<String> { events.withLock { Set($0.map(\.step)) } }
        var notes: [String] { events.withLock { $0.map(\.note) } }
    }

    private func open(
        _ path: String, deadline: Double = 300, onError: Policy.MigrateOnError = .stop, progress: ProgressHandler? = nil
    ) async throws -> EventStore {
        var options = Options.forTests
        options.migrationDeadline = .seconds(deadline)
        return try await EventStore.open(
            path, schemas: try Orders.schemas(5), version: SchemaVersion(5), policy: .migrate(onError: onError), options: options,
            progress: progress)
    }

    @Test("the second waits for the first, hears whom it waits for, and opens")
    func waits() async throws {
        let temporary = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1)])
        let lock = try StoreLock.migration.acquire(at: temporary.path, what: "evstore replay --to v5")
        let heard = Heard()
        let freed = Mutex(false)
        let store = try await open(temporary.path) { event in
            heard.events.withLock { $0.append(event) }
            guard event.step == "wait" else { return }
            // Whoever holds it is done once it is known that it is waited for.
            freed.withLock { isFree in
                if !isFree { #expect(throws: Never.self) { try lock.release() } }
                isFree = true
            }
        }
        #expect(try store.versions.live == SchemaVersion(5))
        #expect(heard.steps.isSuperset(of: ["wait", "flip"]), "\(heard.steps)")
        #expect(heard.notes.first?.contains("(evstore replay --to v5)") == true)
    }

    @Test("where the other is done with it, the second opens and replays nothing")
    func finds() async throws {
        let temporary = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1)])
        async let first = open(temporary.path)
        async let second = open(temporary.path)
        async let third = open(temporary.path)
        for store in try await [first, second, third] { #expect(try store.versions.live == SchemaVersion(5)) }
        #expect(try temporary.store.maintenance.journal().count { $0.kind == .flip } == 1)
    }

    @Test("the wait has a deadline that names the holder, and ends where it or the task is cancelled")
    func ends() async throws {
        let temporary = try await Orders.store(at: 1, events: [try Orders.placed("1", at: 1)])
        let lock = try StoreLock.migration.acquire(at: temporary.path, what: "evstore drill")
        defer { withExtendedLifetime(lock) {} }
        await #expect {
            try await open(temporary.path, deadline: 0.2)
        } throws: { error in
            guard case .migrationInProgress(let holder)? = error as? EvstoreError else { return false }
            return holder.contains("(evstore drill)")
        }
        let anyway = try await open(temporary.path, deadline: 0, onError: .openAnyway)
        #expect(try anyway.versions.live == SchemaVersion(1))
        await #expect {
            try await cancellable { cancel in
                try await open(temporary.path, onError: .openAnyway) { if $0.step == "wait" { cancel() } }
            }
        } throws: { ($0 as? EvstoreError)?.code == "interrupted" }
        let path = temporary.path
        let waiting = Task { try await open(path) }
        waiting.cancel()
        await #expect { try await waiting.value } throws: { ($0 as? EvstoreError)?.code == "interrupted" }
        #expect(try temporary.store.versions == StoreVersions(floor: 1, live: 1, top: 1, head: 1))
    }
}
