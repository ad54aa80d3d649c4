import Evstore
import EvstoreTesting
import TestSupport
import Testing

@testable import EvstoreWeb

/// The page without a browser; `tools/page` looks at it in one.
@Suite("The page", .timeLimit(.minutes(10)))
struct PageTests {
    private static let versions = [
        """
        evstore: 1
        version: 1
        events:
          NoteTaken:
            stream: "note-{/id}"
            required: [id, words]
            properties:
              id: {type: string}
              words: {type: string}
        """,
        """
        evstore: 1
        version: 2
        upcast:
          - on: NoteTaken
            do:
              - move: {from: /words, path: /text}
        events:
          NoteTaken:
            stream: "note-{/id}"
            required: [id, text]
            properties:
              id: {type: string}
              text: {type: string}
        """,
    ]

    private static let projections = """
        evstore: 1
        projections:
          notes:
            - since: 1
              key: /id
              on:
                NoteTaken: {set: {/words: /words}}
            - since: 2
              key: /id
              on:
                NoteTaken: {set: {/text: /text}}
        """

    private func store() async throws -> TemporaryStore {
        let store = try await TemporaryStore.make(
            SchemaFiles(versions: Self.versions, projections: Self.projections).load(), at: SchemaVersion(1))
        for number in 0 ..< 3 {
            _ = try await store.store.append([.event("note-1", "NoteTaken", #"{"id":"1","words":"<\#(number)>"}"#, at: 1)])
        }
        _ = try await store.store.replay(to: SchemaVersion(2))
        return store
    }

    private func text(_ answer: PageAnswer) -> String { String(decoding: answer.body, as: UTF8.self) }

    @Test("an event is there as it was stored, at another version, and with what each step did")
    func event() async throws {
        let temporary = try await store()
        let page = Page(temporary.store)
        let text = text(await page.answer(PageRequest(path: "/events/2", query: "at=v2")))
        #expect(text.contains("&quot;words&quot;: &quot;&lt;1&gt;&quot;") && text.contains("&quot;text&quot;: &quot;&lt;1&gt;&quot;"))
        #expect(text.contains("/words") && text.contains("/text") && text.contains("Before: 1") && text.contains("After: 3"))
    }

    @Test("a stream's fold is there event by event, and a row's events")
    func fold() async throws {
        let temporary = try await store()
        let steps = try temporary.store.trace("notes", of: StreamName("note-1"), at: SchemaVersion(2), limit: 10)
        #expect(steps.map { $0.row.map { String(decoding: $0, as: UTF8.self) } } == (0 ..< 3).map { #"{"text":"<\#($0)>"}"# })
        #expect(steps.map(\.position) == [1, 2, 3].map { Position($0) })
        let found = try temporary.store.events(touching: "1", of: "notes", at: SchemaVersion(2), lookingAt: 2)
        #expect(found.events.map(\.position) == [Position(3), Position(2)])
        #expect(found.rest == Position(2))
        let more = try temporary.store.events(touching: "1", of: "notes", at: SchemaVersion(2), before: found.rest, lookingAt: 2)
        #expect(more.events.map(\.position) == [Position(1)])
        #expect(more.rest == nil)
    }

    @Test("nothing is changed without leave, nor by a form that is not the page's")
    func changes() async throws {
        let temporary = try await store()
        let form = PageRequest(path: "/migration/rollback", form: "to=v1&secret=x")
        #expect(await Page(temporary.store).answer(form).status == 403)
        #expect(await Page(temporary.store, changes: PageChanges()).answer(form).status == 403)
        #expect(try temporary.store.versions.live == SchemaVersion(2))
    }

    @Test(
        "what is not there is 404, and what is no position 400",
        arguments: [
            ("/events/99", "", 404), ("/streams/none", "", 404), ("/read-models/none", "", 404), ("/read-models/notes", "at=v9", 404),
            ("/nowhere", "", 404), ("/events", "from=x", 400), ("/events", "time=x", 400), ("/streams/%20", "", 400),
        ])
    func missing(_ path: String, _ query: String, _ status: Int) async throws {
        let temporary = try await store()
        #expect(await Page(temporary.store).answer(PageRequest(path: path, query: query)).status == status)
    }

    @Test(
        "every place answers, also of a store without events",
        arguments: [
            "", "events", "read-models", "migration", "consumers", "quarantine", "drills", "census", "storage",
        ])
    func empty(_ place: String) async throws {
        let temporary = try await TemporaryStore.make(SchemaFiles(versions: Self.versions, projections: Self.projections).load())
        let answer = await Page(temporary.store).answer(PageRequest(path: "/" + place))
        #expect(answer.status == 200 && text(answer).hasSuffix("</html>\n"))
    }
}
