import EventLog
import EvstoreTesting
import Testing

@testable import Evstore

private struct Priced: Event {
    static let type = "Priced"
    static let version = SchemaVersion(1)
    var id: String
    var price: Int
}

@Suite("Events that belong together, after a rollback")
struct MergedGateTests {
    /// Version 2 was live, and merges; version 1 is live again.
    private func store() async throws -> TemporaryStore {
        let schemas = try SchemaFiles(MergeTests.v1, MergeTests.v2, projections: MergeTests.projections).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(2), from: SchemaVersion(1), options: .forTests)
        _ = try await temporary.store.rollback(to: SchemaVersion(1))
        return temporary
    }

    private static func named(_ id: String, eventID: String? = nil) -> String { line("Named", id, #""name":"N""#, eventID) }
    private static func priced(_ id: String, eventID: String? = nil) -> String { line("Priced", id, #""price":1"#, eventID) }

    private static func line(_ type: String, _ id: String, _ more: String, _ eventID: String?) -> String {
        let eventID = eventID.map { #""id":"\#($0)","# } ?? ""
        return #"{\#(eventID)"stream":"item-\#(id)","type":"\#(type)","data":{"id":"\#(id)",\#(more)}}"# + "\n"
    }

    private func append(_ store: EventStore, _ lines: String...) async throws -> AppendReceipt {
        try await store.append(store.events(ofLines: Array(lines.joined().utf8)))
    }

    private func importing(
        _ temporary: TemporaryStore, _ text: String, pipe: Bool = false, _ onError: FailureRule = .stop
    ) async throws -> ImportReport {
        let pipe = try pipe ? FilledPipe(text) : nil
        let source = try pipe.map { .descriptor($0.descriptor) } ?? ImportSource.file(temporary.write(text, to: "input.jsonl"))
        return try await temporary.store.importLines(from: source, as: SchemaVersion(1), options: ImportOptions(onError: onError))
    }

    @Test("a lone half is refused, whichever way it comes, a pair is taken, and the next replay works")
    func afterRollback() async throws {
        let temporary = try await store()
        let store = temporary.store
        func refused(_ body: () async throws -> Void) async {
            await #expect { try await body() } throws: { error in
                guard let error = error as? EvstoreError else { return false }
                if case .refusedLine(_, _, let cause) = error { return cause.code == "noImage" }
                return error.code == "noImage"
            }
        }
        await refused { _ = try await append(store, Self.priced("a")) }
        await refused { _ = try await append(store, Self.named("b"), Self.priced("a")) }
        await refused { _ = try await store.append(Priced(id: "a", price: 1), to: StreamName("item-a"), expecting: .any) }
        await refused { _ = try await importing(temporary, Self.priced("a")) }
        await refused { _ = try await importing(temporary, Self.priced("a"), pipe: true) }
        #expect(try await importing(temporary, Self.priced("a") + Self.named("c"), .quarantine).quarantined == 1)
        #expect(try store.last().position == Position(1))

        _ = try await append(store, Self.named("a"), Self.priced("a"))
        _ = try await importing(temporary, Self.priced("d") + Self.named("d"))
        #expect(try await store.plan(to: SchemaVersion(2)).refused.isEmpty)
        #expect(try await store.migrate(to: SchemaVersion(2)).quarantined == 0)
        var prices = 0
        try store.readAll(at: SchemaVersion(2)) { event in
            prices += event.json.contains("price") ? 1 : 0
            return true
        }
        #expect(prices == 2)
    }

    @Test("a half whose other half is in the store by its id is a lone one, in files and in pipes", arguments: [false, true])
    func otherHalfIsThere(pipe: Bool) async throws {
        let temporary = try await store()
        _ = try await append(temporary.store, Self.named("a", eventID: "n"))
        let text = Self.named("b") + Self.named("a", eventID: "n") + Self.priced("a", eventID: "p")
        await #expect { _ = try await importing(temporary, text, pipe: pipe) } throws: { ($0 as? EvstoreError)?.place.line == 3 }
        let report = try await importing(temporary, text, pipe: pipe, .quarantine)
        #expect(report.quarantined == 1)
        #expect(try await temporary.store.migrate(to: SchemaVersion(2)).quarantined == 0)
        #expect(try temporary.store.last().position == Position(2))
    }

    @Test("a half without an image that is there is skipped, and is the half of no other line", arguments: [false, true])
    func loneHalfIsThere(pipe: Bool) async throws {
        let schemas = try SchemaFiles(MergeTests.v1, MergeTests.v2, projections: MergeTests.projections).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), options: .forTests)
        _ = try await append(temporary.store, Self.priced("a", eventID: "p"))
        _ = try await temporary.store.migrate(to: SchemaVersion(2), options: MigrationOptions(onError: .quarantine))
        let alone = try await importing(temporary, Self.priced("a", eventID: "p") + Self.named("b"), pipe: pipe)
        #expect((alone.added, alone.skipped) == (1, 1))
        // Were the first one new, it would be merged with the second, and the third would be alone.
        let text = Self.priced("a", eventID: "p") + Self.named("a", eventID: "n") + Self.priced("a", eventID: "q")
        let pair = try await importing(temporary, text, pipe: pipe)
        #expect((pair.added, pair.skipped) == (2, 1))
        await #expect(throws: EvstoreError.self) { _ = try await importing(temporary, Self.priced("a", eventID: "r"), pipe: pipe) }
        #expect(try temporary.store.last().position == Position(4))
    }

    @Test("a half that was taken before the version that merges was live is told by plan as the replay tells it")
    func told() async throws {
        let schemas = try SchemaFiles(MergeTests.v1, MergeTests.v2, projections: MergeTests.projections).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), options: .forTests)
        let store = temporary.store
        _ = try await append(store, Self.priced("a"))
        for _ in 0 ..< 2 {
            let planned = try #require(try await store.plan(to: SchemaVersion(2)).refused.first)
            await #expect { _ = try await store.migrate(to: SchemaVersion(2)) } throws: {
                ($0 as? EvstoreError) == planned.error
            }
            // And once the read models are there, and went past it, after a rollback.
            if try store.versions.live == SchemaVersion(1), try store.versions.top == SchemaVersion(1) {
                _ = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(onError: .quarantine))
                _ = try await store.rollback()
            }
        }
    }
}
