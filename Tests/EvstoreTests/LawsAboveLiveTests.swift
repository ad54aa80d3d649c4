import Evstore
import EvstoreTesting
import Testing

@Suite("Laws above the live version")
struct LawsAboveLiveTests {
    private static let versions = [
        "evstore: 1\nversion: 1\nevents: {E: {required: [n], properties: {n: {type: integer}}}}",
        """
        evstore: 1
        version: 2
        upcast: [{on: E, do: [{convert: {path: /n, to: integer, using: {scale: {den: 10, round: half-up}}}}]}]
        events: {E: {required: [n], properties: {n: {type: integer}}}}
        """,
    ]

    @Test("the log's events are tried where a replay waits for consent, at the live version, and after a rollback")
    func lossy() async throws {
        let temporary = try await TemporaryStore.make(try SchemaFiles(versions: Self.versions).load(), at: SchemaVersion(1))
        let (store, two) = (temporary.store, SchemaVersion(2))
        for n in [25, 7] { _ = try await store.append([.event("s", "E", #"{"n":\#(n)}"#)]) }
        func losses() async throws -> [Position?] {
            let report = try await store.maintenance.verify(laws: true, seed: 7)
            return report.findings.filter { $0.id == "LAW102" && $0.position != nil }.map(\.position)
        }
        await #expect(throws: EvstoreError.self) { _ = try await store.migrate(to: two) }
        #expect(try store.versions.live == SchemaVersion(1))
        #expect(try await losses() == [Position(1)])
        _ = try await store.migrate(to: two, options: MigrationOptions(yes: true))
        #expect(try await losses() == [Position(1)])
        _ = try await store.rollback()
        #expect(try await losses() == [Position(1)])
    }
}
