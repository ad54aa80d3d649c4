import Evstore
import EvstoreTesting
import Testing

@Suite("The page that says what is lost, and what a page shows")
struct SemanticsTests {
    @Test("pages after an accepted quarantine: a read at the version fails at the event, and goes on behind it")
    func quarantined() async throws {
        let number = "{type: string}"
        let schemas = try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {E: {required: [n], properties: {n: \(number)}}}",
            """
            evstore: 1
            version: 2
            upcast: [{on: E, do: [{convert: {path: /n, to: integer, using: integer-text}}]}]
            events: {E: {required: [n], properties: {n: {type: integer}}}}
            """,
            projections: "evstore: 1\nprojections:\n  sums:\n    - {since: 2, key: $stream, on: {E: {add: {/sum: /n}}}}\n"
        ).load()
        let events = try ["1", "no", "3"].map { try NewEvent.event("s-1", "E", #"{"n":"\#($0)"}"#, at: 1) }
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), events: events)
        let store = temporary.store
        let two = SchemaVersion(2)
        #expect(try await store.migrate(to: two, options: MigrationOptions(onError: .quarantine)).quarantined == 1)
        try await store.query("sums") { row in
            #expect(row.json == #"{"sum":4}"#)
            return true
        }
        let (stream, failed) = (try StreamName("s-1"), #"E {"n":"no"}"#)
        func fails(_ body: () throws -> Void) {
            #expect { try body() } throws: { error in
                guard case .noImage(let failure)? = error as? EvstoreError else { return false }
                return failure.position == Position(2) || failure.pointer == "/n"
            }
        }
        fails { _ = try store.read(stream, at: two) }
        fails { try store.readAll(at: two) { _ in true } }
        await #expect {
            try await store.export(convertedTo: two) { _ in true }
        } throws: { ($0 as? EvstoreError)?.code == "noImage" }
        #expect(try store.read(stream, at: two, limit: 1).map(\.json) == [#"{"n":1}"#])
        #expect(try store.read(stream, at: two, from: Revision(2)).map(\.json) == [#"{"n":3}"#])
        #expect(try store.read(stream, at: SchemaVersion(1)).map { "\($0.type) \($0.json)" }[1] == failed)
        var pages = store.subscribe(at: two).pages.makeAsyncIterator()
        #expect(try await pages.next()?.map(\.json) == [#"{"n":1}"#])
        await #expect(throws: EvstoreError.self) { _ = try await pages.next() }
        #expect(pages.checkpoint.position == Position(1))
        var behind = store.subscribe(after: Checkpoint(epoch: .first, position: Position(2)), at: two).pages.makeAsyncIterator()
        #expect(try await behind.next()?.map(\.json) == [#"{"n":3}"#])
    }
}
