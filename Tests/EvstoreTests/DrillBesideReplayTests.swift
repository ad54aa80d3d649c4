import Evstore
import EvstoreTesting
import Testing

@Suite("A drill beside a replay")
struct DrillBesideReplayTests {
    @Test(
        "that ends before the store is copied rehearses the versions of the copy and passes, also where a finalize follows",
        arguments: [false, true])
    func overtaken(isFinalized: Bool) async throws {
        let schemas = try Orders.schemas(3)
        let temporary = try await TemporaryStore.make(
            schemas, at: SchemaVersion(1), events: [Orders.placed("1", at: 1), Orders.placed("2", at: 1)])
        let store = temporary.store
        // One without schemas knows of version 1 alone, and has no migration to rehearse; the other one begins with that from 1 to 3.
        let other = try await temporary.open(schemas: isFinalized ? schemas : nil)
        let report = try await other.maintenance.drill(seed: 7) { event in
            guard event.step == "copy the store" else { return }
            waiting {
                _ = try await store.migrate(to: SchemaVersion(3), options: MigrationOptions(yes: true))
                if isFinalized { _ = try await store.finalize(SchemaVersion(3)) }
            }
        }
        #expect(try store.versions.live == SchemaVersion(3))
        #expect(report.passed, "\(report.steps.filter { !$0.ok })")
        let rehearsed: [SchemaVersion?] = isFinalized ? [nil, nil] : [SchemaVersion(1), SchemaVersion(3)]
        #expect([report.from, report.to] == rehearsed)
        try await other.close()
    }
}
