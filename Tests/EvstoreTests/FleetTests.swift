import Evstore
import EvstoreTesting
import Testing

/// What the page "Versions in a running fleet" says of a program at v1 and one at v2 on one store.
@Suite("A running fleet")
struct FleetTests {
    private static let first = """
        evstore: 1
        version: 1
        events: {Counted: {stream: "c-{/id}", required: [id, n], properties: {id: {type: string}, n: {type: string}}}}
        """

    private static let second = """
        evstore: 1
        version: 2
        upcast: [{on: Counted, do: [{convert: {path: /n, to: integer, using: integer-text}}]}]
        events: {Counted: {stream: "c-{/id}", required: [id, n], properties: {id: {type: string}, n: {type: integer}}}}
        """

    /// The code with which an event of a version is refused; nil where it is appended.
    private func refusal(_ store: EventStore, _ n: String, at version: Int) async throws -> String? {
        let event = try NewEvent.event("c-1", "Counted", #"{"id":"1","n":\#(n)}"#, at: version)
        do { _ = try await store.append(event, expecting: .any) } catch { return error.code }
        return nil
    }

    private func start(_ temporary: TemporaryStore, at version: Int, _ policy: Policy = .require) async throws -> String? {
        do {
            let schemas = try SchemaFiles(Self.first, Self.second).load()
            try await temporary.open(version: SchemaVersion(version), policy: policy, schemas: version == 2 ? schemas : nil).close()
        } catch let error as EvstoreError { return error.code }
        return nil
    }

    @Test("each state of the store takes from an older and a newer program what the page says")
    func states() async throws {
        let schemas = try SchemaFiles(Self.first, Self.second).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1))
        let old = try await temporary.open(version: SchemaVersion(1))

        #expect(try await refusal(old, #""1""#, at: 1) == nil)
        #expect(try await start(temporary, at: 2) == "policyRefused")
        #expect(try await start(temporary, at: 2, .observe) == nil)

        let new = try await temporary.open(version: SchemaVersion(2), policy: .migrate(), schemas: schemas)
        for _ in 0 ..< 2 {
            #expect(try await refusal(old, #""2""#, at: 1) == nil)
            #expect(try await refusal(new, "3", at: 2) == nil)
            #expect(try await start(temporary, at: 1) == nil)
            #expect(try await start(temporary, at: 2) == nil)
            if try new.versions.live == SchemaVersion(2) {
                #expect(try await refusal(old, #""many""#, at: 1) == "noImage", "the newer version could not show it")
                _ = try await new.rollback()
            }
        }
        let seen = try old.read(StreamName("c-1")).map { $0.json.contains(#""n":""#) }
        #expect(seen == [true, true, true, true, true], "the older program sees all at its own version")
        #expect(try old.read(StreamName("c-1")).map(\.position) == new.read(StreamName("c-1")).map(\.position))

        _ = try await new.migrate(to: SchemaVersion(2))
        _ = try await new.finalize(SchemaVersion(2))
        #expect(try await refusal(old, #""4""#, at: 1) == "versionNotAllowed")
        #expect(try await refusal(new, "5", at: 2) == nil)
        #expect(try await start(temporary, at: 1) == "policyRefused")
        #expect(try await start(temporary, at: 1, .observe) == nil)
    }
}
