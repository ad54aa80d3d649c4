import Evstore
import EvstoreTesting
import Logging
import TestSupport
import Testing

@testable import Migration

@Suite("Progress in the log")
struct ProgressLogTests {
    private let events = [
        ProgressEvent(step: "replay", done: 1, total: 9), ProgressEvent(step: "replay", done: 5, total: 9, quarantined: 2),
        ProgressEvent(step: "verify", note: "ok"),
    ]

    private func lines(_ level: Logger.Level, every: Duration) -> [String] {
        let recorded = RecordedLog()
        var logger = recorded.logger
        logger.logLevel = level
        let log = ProgressLog(logger, every: every)
        for event in events { log.take(event) }
        return recorded.lines
    }

    @Test("the log has a line as each step begins, and progress at the given interval")
    func steps() {
        #expect(
            lines(.debug, every: .zero) == [
                "debug a step begins done=1 step=replay total=9", "debug still at it done=5 quarantined=2 step=replay total=9",
                "debug a step begins done=0 note=ok step=verify",
            ])
        #expect(lines(.trace, every: .seconds(1_000_000)).count == 2)
        #expect(lines(.info, every: .zero).isEmpty)
    }

    @Test("an opening warns of a read model that its projection file declares otherwise than the store, until a replay takes it in")
    func otherProjections() async throws {
        let (recorded, directory) = (RecordedLog(), try TemporaryDirectory())
        try directory.write("evstore: 1\nversion: 1\nevents: {E: {properties: {n: {type: integer}}}}\n", to: "S/v1.yaml")
        func open(_ indexes: String) async throws -> EventStore {
            let rows = "rows: [{since: 1, key: $stream, on: {E: {set: {/n: /n}}}\(indexes)}]"
            try directory.write("evstore: 1\nprojections: {\(rows)}\n", to: "S/projections.yaml")
            return try await EventStore.open(
                directory.path + "/store", creatingWith: Schemas.load(directory.path + "/S"), version: 1, options: .forTests,
                logger: recorded.logger)
        }
        func warnings() -> Int { recorded.lines.count { $0.hasPrefix("warning") && $0.contains("projections=rows") } }
        try await open("").close()
        #expect(warnings() == 0)
        let store = try await open(", indexes: {by-n: /n}")
        #expect(warnings() == 1)
        try await store.migrate(to: 1)
        #expect(try await store.query("rows", index: "by-n").rows.isEmpty)
        try await store.close()
        try await open(", indexes: {by-n: /n}").close()
        #expect(warnings() == 1)
    }

    @Test("a replay and a rollback are in the log: that they begin, each step, the flip, the end, and why one stopped")
    func replay() async throws {
        let recorded = RecordedLog()
        let directory = try TemporaryDirectory()
        let store = try await EventStore.create(
            directory.path + "/store", schemas: Orders.schemas(2), version: SchemaVersion(1), options: .forTests,
            logger: recorded.logger)
        try await store.append([Orders.placed("1", at: 1)])
        let before = recorded.lines.count
        try await store.migrate(to: SchemaVersion(2))
        let said = recorded.lines.dropFirst(before)
        let wanted = [
            "info a replay begins from=v1", "debug a step begins", "info flipped to another version live=v2", "info a replay ended",
        ]
        #expect(
            wanted.map { line in said.firstIndex { $0.hasPrefix(line) } ?? -1 }
                == wanted.compactMap { line in
                    said.firstIndex { $0.hasPrefix(line) }
                }.sorted(), "\(said)")
        try await store.rollback()
        #expect(recorded.lines.contains { $0.hasPrefix("info a rollback begins from=v2") && $0.hasSuffix("to=v1") })
        #expect(recorded.lines.contains { $0.hasPrefix("info a rollback ended live=v1") && $0.hasSuffix("tail=0") })
        await #expect(throws: EvstoreError.self) { try await cancellable { cancel in try await store.migrate(to: 2) { _ in cancel() } } }
        #expect(recorded.lines.contains { $0.hasPrefix("info a replay was stopped error=") && $0.hasSuffix("to=v2") })
        try await store.close()
    }
}
