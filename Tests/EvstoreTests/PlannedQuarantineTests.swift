import Evstore
import EvstoreTesting
import Testing

@Suite("What plan says of events that a replay passes over")
struct PlannedQuarantineTests {
    /// Of two types, the second of which a step changes; a read model consumes one of them.
    private func store(reading type: String) async throws -> TemporaryStore {
        func version(_ number: Int, _ kind: String, _ upcast: String = "") -> String {
            """
            evstore: 1
            version: \(number)
            \(upcast)
            events:
              E: {required: [n, k], properties: {k: {type: string}, n: {type: string}}}
              F: {required: [n, k], properties: {k: {type: string}, n: {type: \(kind)}}}
            """
        }
        let schemas = try SchemaFiles(
            version(1, "string"), version(2, "integer", "upcast: [{on: F, do: [{convert: {path: /n, to: integer, using: integer-text}}]}]"),
            projections: "evstore: 1\nprojections:\n  b: [{since: 1, key: /k, on: {\(type): {set: {/n: /n}}}}]\n"
        ).load()
        return try await TemporaryStore.make(schemas, at: SchemaVersion(1), options: .forTests)
    }

    /// The events at some positions are other ones.
    private func fill(_ store: EventStore, with type: String, _ count: Int, but other: [Int: String] = [:]) async throws {
        for start in stride(from: 1, through: count, by: 1_000) {
            let events = try (start ... min(start + 999, count)).map { number in
                let payload = other[number] ?? #"{"n":"1","k":"\#(number % 10)"}"#
                return NewEvent(stream: try StreamName("e-\(number % 50)"), type: type, payload: Array(payload.utf8))
            }
            _ = try await store.append(events)
        }
    }

    @Test("what a read model that is kept has in quarantine")
    func carried() async throws {
        let temporary = try await store(reading: "E")
        let store = temporary.store
        try await fill(store, with: "E", 3, but: [2: #"{"n":"1","k":""}"#])
        _ = try await store.count("b")
        let plan = try await store.plan(to: SchemaVersion(2))
        #expect(plan.carry == ["b"] && plan.refused.isEmpty && (plan.quarantined, plan.notSeen) == (1, 0))
        #expect(try await store.migrate(to: SchemaVersion(2)).quarantined == 1)
        #expect(try await store.plan(to: SchemaVersion(2)).quarantined == 1)
    }

    @Test("how many events may have no image, where only the replay looks at them")
    func notSeen() async throws {
        let temporary = try await store(reading: "F")
        let store = temporary.store
        try await fill(store, with: "F", 22_000)
        let plan = try await store.plan(to: SchemaVersion(2))
        // Beyond the first 20,000 lie a few windows of the sample.
        #expect(plan.rebuild == ["b"] && plan.refused.isEmpty && plan.quarantined == 0)
        #expect((1 ..< 2_000).contains(plan.notSeen))
        try await fill(store, with: "F", 1, but: [1: #"{"n":"x","k":"1"}"#])
        let last = try await store.plan(to: SchemaVersion(2))
        #expect(last.refused.map(\.code) == ["buildStopped"] && last.notSeen == 0)
    }

    @Test("a drill passes over events that have no image at the live version, and fails where a later one would stop at them")
    func rehearsed() async throws {
        let temporary = try await store(reading: "F")
        let store = temporary.store
        try await fill(store, with: "F", 40, but: [7: #"{"n":"x","k":"1"}"#])
        // A strict replay would stop at the event: nobody has accepted yet that version 2 lacks it.
        let refused = try await store.maintenance.drill(to: SchemaVersion(2), seed: 5)
        #expect(!refused.passed && refused.steps.filter { !$0.ok }.map(\.name) == ["laws of the steps"])
        #expect(refused.laws.filter { $0.failed > 0 }.map(\.law) == ["T-up"])
        _ = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(onError: .quarantine))
        let report = try await store.maintenance.drill(seed: 5)
        #expect(report.passed && report.quarantined == 1, "\(report.steps)")
        #expect(report.notExercised == ["the laws of 1 event without an image at v2"])
    }
}
