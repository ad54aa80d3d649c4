import Evstore
import EvstoreTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@Suite("Closing a store that is at work", .timeLimit(.minutes(10)))
struct ClosingTests {
    /// Counts orders, and takes its time.
    private final class Slow: SwiftProjection {
        struct Row: Codable, Sendable { var times = 0 }

        let name = "slow"
        let since = SchemaVersion(1)
        let revision = 1
        let consumes: Set<String> = ["OrderPlaced"]
        private let seen = Mutex((begun: 0, ended: 0, isQuick: false))

        var begun: Int { seen.withLock(\.begun) }

        func hurry() { seen.withLock { $0.isQuick = true } }

        var isAtWork: Bool { seen.withLock { $0.begun > $0.ended } }

        func keys(of event: RecordedEvent) throws -> [String] { [event.stream.text] }

        func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws {
            let isQuick = seen.withLock { seen in
                seen.begun += 1
                return seen.isQuick
            }
            if !isQuick { Thread.sleep(forTimeInterval: 0.05) }
            row = Row(times: (row?.times ?? 0) + 1)
            seen.withLock { $0.ended += 1 }
        }
    }

    private let slow = Slow()

    /// A store of some orders, that handles of `open` count slowly.
    private func store(_ count: Int) async throws -> TemporaryStore {
        try await Orders.store(at: 1, events: (0 ..< count).map { try Orders.placed("\($0)", at: 1) })
    }

    private func open(_ temporary: TemporaryStore) async throws -> EventStore {
        try await EventStore.open(temporary.path, schemas: temporary.schemas, projections: [slow], options: .forTests)
    }

    /// Closes a handle once it has begun to work, and says whether it was left at work.
    /// - Parameter before: how much was begun before it.
    private func close(_ store: EventStore, after before: Int = 0) async throws -> Bool {
        while slow.begun == before { try await Task.sleep(for: .milliseconds(1)) }
        try await store.close()
        return slow.isAtWork
    }

    private func code(_ body: () async throws -> Void) async -> String {
        do { try await body() } catch { return (error as? EvstoreError)?.code ?? "\(error)" }
        return "none"
    }

    @Test("ends a replay, and waits until it has ended")
    func replay() async throws {
        let temporary = try await store(60)
        let store = try await open(temporary)
        let replay = Task { await code { _ = try await store.migrate(to: SchemaVersion(1), options: MigrationOptions(yes: true)) } }
        #expect(try await !close(store))
        let begun = slow.begun
        // It may have come too far to be interrupted.
        #expect(await ["interrupted", "none"].contains(replay.value))
        #expect(slow.begun == begun)
        slow.hurry()
        _ = try await open(temporary).migrate(to: SchemaVersion(1), options: MigrationOptions(yes: true))
    }

    @Test("ends what folds events, and waits until it has ended")
    func query() async throws {
        let temporary = try await store(1)
        let first = try await open(temporary)
        _ = try await first.migrate(to: SchemaVersion(1), options: MigrationOptions(yes: true))
        _ = try await first.append((1 ... 60).map { try Orders.placed("\($0)", at: 1) })
        try await first.close()
        let (store, before) = (try await open(temporary), slow.begun)
        let query = Task { await code { _ = try await store.query("slow", key: "order-1") } }
        #expect(try await !close(store, after: before))
        #expect(await ["none", "misuse", "interrupted"].contains(query.value))
        slow.hurry()
        for call in [
            { _ = try await store.query("slow", key: "order-1") }, { _ = try await store.append([try Orders.placed("9", at: 1)]) },
            { try await store.follow() }, { _ = try await store.migrate(to: SchemaVersion(1)) }, { try await store.close() },
        ] as [() async throws -> Void] {
            #expect(await ["misuse", "none"].contains(code(call)))
        }
        #expect(try await open(temporary).query("slow", key: "order-1")?.json == #"{"times":1}"#)
    }

    @Test("appends what an import has read from a pipe, and ends the import")
    func importing() async throws {
        let temporary = try await Orders.store(at: 1)
        let store = try await open(temporary)
        let (pipe, began) = (try OpenPipe(), Flag())
        let importing = Task {
            await code {
                _ = try await store.importLines(
                    from: .descriptor(pipe.reading.fileDescriptor), as: SchemaVersion(1), progress: { _ in began.set() })
            }
        }
        try pipe.writing.write(contentsOf: Data((ImportTests.line(1) + "\n").utf8))
        while !began.isSet { try await Task.sleep(for: .milliseconds(1)) }
        try await store.close()
        #expect(await importing.value == "interrupted")
        #expect(try temporary.store.last().position == Position(1))
    }

    @Test("leaves nothing of the handle behind that writes: the directory can be copied, and deleted")
    func files() async throws {
        let temporary = try await store(1)
        let store = try await open(temporary)
        try await temporary.store.close()
        let writers = (0 ..< 4).map { writer in
            Task {
                for number in 0... {
                    _ = try await store.append([try Orders.placed("\(writer)-\(number)", at: 1)])
                    _ = try await store.query("orders", limit: 2)
                }
            }
        }
        try await Task.sleep(for: .milliseconds(100))
        try await store.close()
        let after = try Self.changes(in: temporary.path)
        for writer in writers {
            let ended = await writer.result
            #expect { try ended.get() } throws: { ["misuse", "interrupted"].contains(($0 as? EvstoreError)?.code) }
        }
        #expect(try Self.changes(in: temporary.path) == after)
        try FileManager.default.removeItem(atPath: temporary.path)
    }

    /// When each file below a directory was changed last.
    private static func changes(in directory: String) throws -> [String: Date] {
        var changes: [String: Date] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) {
            changes[name] = try FileManager.default.attributesOfItem(atPath: "\(directory)/\(name)")[.modificationDate] as? Date
        }
        return changes
    }
}
