import Evstore
import EvstoreTesting
import Testing

@Suite("Drills of a store in which a loss that no step declares is accepted")
struct AcceptedLossTests {
    private static let (v1, v2) = (SchemaVersion(1), SchemaVersion(2))

    /// Version 2 can't tell an empty object of version 1 from an absent one. It has one event, an `E` that loses this.
    private func store() async throws -> TemporaryStore {
        func version(_ number: Int, _ members: String, _ upcast: String = "") -> String {
            let shape = "{required: [id], properties: {id: {type: string}, \(members)}}"
            return "evstore: 1\nversion: \(number)\n\(upcast)\nevents:\n  E: \(shape)\n  F: \(shape)\n"
        }
        let move = "do: [{move: {from: /o/m, path: /m}}]"
        let schemas = try SchemaFiles(
            version(1, "o: {type: object, properties: {m: {type: string}}}"),
            version(2, "m: {type: string}", "upcast: [{on: E, \(move)}, {on: F, \(move)}]"),
            projections: "evstore: 1\nprojections:\n  ids: [{since: 1, key: /id, on: {E: {set: {/id: /id}}, F: {set: {/id: /id}}}}]\n"
        ).load()
        let temporary = try await TemporaryStore.make(schemas, at: Self.v1, options: .forTests)
        try await append("E", to: temporary.store)
        return temporary
    }

    private func append(_ type: String, to store: EventStore) async throws {
        _ = try await store.append([.event("s-1", type, #"{"id":"1","o":{}}"#, at: 1)])
    }

    /// Whether a drill passes, and what it says of the losses.
    private func drill(_ store: EventStore, to version: SchemaVersion? = nil) async throws -> (passed: Bool, told: [String]) {
        let report = try await store.maintenance.drill(to: version, seed: 5)
        #expect(report.steps.allSatisfy(\.ok) && report.steps.count == 8, "\(report.steps)")
        #expect(report.passed == report.laws.allSatisfy { $0.failed == 0 })
        let detail = report.steps.first { $0.name == "laws of the steps" }?.detail ?? ""
        return (report.passed, detail.split(separator: "; ").filter { $0.hasPrefix("lost") }.map { String($0.prefix { $0 != "," }) })
    }

    private func acceptLoss(_ store: EventStore) async throws {
        _ = try await store.migrate(to: Self.v2, options: MigrationOptions(yes: true))
    }

    @Test("tell of it, and pass from the replay on that accepts it")
    func accepted() async throws {
        let temporary = try await store()
        let before = try await drill(temporary.store, to: Self.v2)
        #expect(!before.passed && before.told == ["lost"])
        await #expect(throws: EvstoreError.self) { try await temporary.store.migrate(to: Self.v2) }
        try await acceptLoss(temporary.store)
        let after = try await drill(temporary.store)
        #expect(after.passed && after.told == ["lost already: v2 E: move: what it does not give back"])
    }

    @Test("fail where an event of another type loses something that no event did before, until another replay accepts this, too")
    func another() async throws {
        let temporary = try await store()
        let store = temporary.store
        try await acceptLoss(store)
        try await append("E", to: store)
        #expect(try await drill(store).passed, "it is of a kind that was accepted")
        try await append("F", to: store)
        let other = try await drill(store)
        #expect(!other.passed && other.told == ["lost already: v2 E: move: what it does not give back", "lost"])
        _ = try await store.rollback()
        try await acceptLoss(store)
        #expect(try await drill(store).passed)
    }
}
