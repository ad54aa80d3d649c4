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
            tags: ["words:{/words}"]
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
            tags: ["text:{/text}", "note:{/id}"]
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
        _ = try await store.store.migrate(to: SchemaVersion(2))
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

    @Test("an event's tags are there and lead to the events that have them, of a version whose index is built")
    func tags() async throws {
        let temporary = try await store()
        let page = Page(temporary.store)
        let event = text(await page.answer(PageRequest(path: "/events/2", query: "at=v2")))
        #expect(event.contains("/events?tag=note:1&amp;at=v2") || event.contains("/events?tag=note%3A1&amp;at=v2"), "\(event)")
        let found = text(await page.answer(PageRequest(path: "/events", query: "tag=text:%3C1%3E&at=v2")))
        #expect(found.contains("/events/2") && !found.contains("/events/1\""))
        #expect(text(await page.answer(PageRequest(path: "/events", query: "tag=no&at=v2"))).contains("No event has this tag"))
        let stream = text(await page.answer(PageRequest(path: "/streams/note-1", query: "at=v2")))
        #expect(stream.contains("notes, event by event") && !stream.contains("$tags"))
    }

    @Test("a stream's fold is there event by event, and a row's events")
    func fold() async throws {
        let temporary = try await store()
        let steps = try temporary.store.trace("notes", of: StreamName("note-1"), at: SchemaVersion(2), limit: 10)
        #expect(steps.map { $0.row.map { String(decoding: $0, as: UTF8.self) } } == (0 ..< 3).map { #"{"text":"<\#($0)>"}"# })
        #expect(steps.map(\.position) == [1, 2, 3].map { Position($0) })
        let last = try temporary.store.trace("notes", of: StreamName("note-1"), at: SchemaVersion(2), from: Revision(2), limit: 10)
        #expect(last == [steps[2]])
    }

    @Test("a row's events are found from the newest on, with the row's states where all before them were looked at")
    func history() async throws {
        let temporary = try await store()
        let (store, two) = (temporary.store, SchemaVersion(2))
        let found = try store.events(touching: "1", of: "notes", at: two, limit: 10, examining: 2)
        #expect(found.steps.map(\.position) == [Position(3), Position(2)])
        #expect(found.rest == Position(2) && !found.isWhole)
        let more = try store.events(touching: "1", of: "notes", at: two, before: found.rest, limit: 10, examining: 2)
        #expect(more.steps.map(\.position) == [Position(1)] && more.isWhole && more.rest == nil)
        let newest = try store.events(touching: "1", of: "notes", at: two, limit: 1, examining: 100)
        #expect(newest.steps.map { $0.row.map { String(decoding: $0, as: UTF8.self) } } == [#"{"text":"<2>"}"#])
        #expect(newest.rest == Position(3))
        let text = text(await Page(store).answer(PageRequest(path: "/read-models/notes/rows/1")))
        #expect(text.contains("&lt;2&gt;") && text.contains("/events/1?at=v2"))
    }

    @Test("the log is looked through in both directions, a filter at a time")
    func stored() async throws {
        let temporary = try await store()
        let store = temporary.store
        let back = try store.storedEvents(backwards: true, limit: 2, examining: 10)
        #expect(back.events.map(\.position) == [Position(3), Position(2)] && back.last == Position(2))
        let on = try store.storedEvents(from: Position(2), backwards: false, limit: 10, examining: 1)
        #expect(on.events.map(\.position) == [Position(2)] && on.examined == 1)
        let none = try store.storedEvents(backwards: true, StoredEventFilter(stream: "other"), limit: 10, examining: 10)
        #expect(none.events.isEmpty && none.examined == 3)
        let younger = StoredEventFilter(type: "NoteTaken", born: SchemaVersion(2))
        #expect(try store.storedEvents(backwards: true, younger, limit: 9, examining: 9).events.isEmpty)
    }

    @Test("from every position, in both directions, what is found is what a filter leaves of the stored events", .timeLimit(.minutes(10)))
    func storedEverywhere() async throws {
        let temporary = try await store()
        let store = temporary.store
        for number in 4 ... 60 {
            let name = number % 3 == 0 ? "note-x\(number)" : "note-\(number)"
            _ = try await store.append([.event(name, "NoteTaken", #"{"id":"\#(name.dropFirst(5))","text":"t"}"#, at: 2)])
        }
        let all = try (1 ... 60).compactMap { try store.event(position: Position($0)) }
        for from in [nil, 0, 1, 2, 29, 59, 60, 61, UInt64.max] as [UInt64?] {
            for (limit, count) in [(1, 1), (5, 7), (100, 100), (3, 100)] {
                for prefix in [nil, "note-x", "nobody"] as [String?] {
                    for isBackwards in [false, true] {
                        let ordered = isBackwards ? Array(all.reversed()) : all
                        let here = ordered.filter { event in
                            from.map { isBackwards ? event.position.rawValue <= $0 : event.position.rawValue >= $0 } ?? true
                        }
                        var (expected, examined): ([Position], Int) = ([], 0)
                        for event in here where expected.count < limit && examined < count {
                            examined += 1
                            if prefix.map({ event.stream.text.hasPrefix($0) }) ?? true { expected.append(event.position) }
                        }
                        let found = try store.storedEvents(
                            from: from.map { Position($0) }, backwards: isBackwards, StoredEventFilter(stream: prefix), limit: limit,
                            examining: count)
                        let what = "from \(from ?? 0), \(limit) of \(count), \(prefix ?? "any"), backwards \(isBackwards)"
                        #expect(found.events.map(\.position) == expected && found.examined == examined, "\(what)")
                    }
                }
            }
        }
    }

    @Test("a read model that is not live is shown as it stands, and nothing catches it up")
    func standing() async throws {
        let temporary = try await store()
        let (store, one) = (temporary.store, SchemaVersion(1))
        _ = try await store.query("notes", at: one, key: "1")
        _ = try await store.append([.event("note-2", "NoteTaken", #"{"id":"2","text":"late"}"#, at: 2)])
        #expect(try store.builtRows(of: "notes", at: one, limit: 10)?.note.lag == 1)
        let answer = await Page(store).answer(PageRequest(path: "/read-models/notes/diff", query: "a=v1&b=v2"))
        #expect(answer.status == 200)
        #expect(try store.projections(at: one).filter { !$0.isTagIndex }.map(\.lag) == [1])
    }

    private static let indexed = """
        evstore: 1
        projections:
          notes:
            - since: 1
              key: /id
              on:
                NoteTaken: {set: {/words: /words, /place: /id}}
              indexes: {by-words: [/words, /place]}
        """

    /// The address that a page's link to the next page leads to.
    private func next(_ text: String) throws -> PageRequest? {
        guard let link = text.firstMatch(of: #/<a href="([^"?]*)\?([^"]*)" rel="next">/#) else { return nil }
        return PageRequest(path: String(link.1), query: String(link.2).replacing("&amp;", with: "&"))
    }

    @Test("rows are found by an index: of values, between two, backwards, and page by page")
    func indexes() async throws {
        let temporary = try await TemporaryStore.make(SchemaFiles(versions: [Self.versions[0]], projections: Self.indexed).load())
        let (store, page) = (temporary.store, Page(temporary.store))
        let events = try (0 ..< 120).map { number in
            try NewEvent.event("note-k\(1_000 + number)", "NoteTaken", #"{"id":"k\#(1_000 + number)","words":"<\#(number % 2)>"}"#)
        }
        _ = try await store.append(events)
        _ = try await store.query("notes", key: "k1000")
        func keys(_ text: String) -> [String] { text.matches(of: #/<bdi>k(\d+)<\/bdi>/#).map { String($0.1) } }
        func rows(_ query: String) async -> String {
            text(await page.answer(PageRequest(path: "/read-models/notes", query: query)))
        }
        let whole = await rows("")
        #expect(whole.contains("index=by-words") && whole.contains("/words, /place"))
        // 60 rows have the value: a page of 50, and one of 10.
        let first = await rows("index=by-words&is1=%3C1%3E")
        #expect(keys(first) == (0 ..< 50).map { "\(1_001 + 2 * $0)" })
        let second = text(await page.answer(try #require(try next(first))))
        #expect(try keys(second) == (50 ..< 60).map { "\(1_001 + 2 * $0)" } && next(second) == nil)
        #expect(second.contains("value=\"&lt;1&gt;\""))
        let range = "index=by-words&is1=%3C1%3E&from=k1003&to=k1109"
        #expect(keys(await rows(range)).first == "1003")
        let back = await rows(range + "&backwards=yes")
        #expect(keys(back) == (0 ..< 50).map { "\(1_107 - 2 * $0)" } && back.contains(" checked"))
        #expect(keys(text(await page.answer(try #require(try next(back))))) == ["1007", "1005", "1003"])
        #expect(keys(await rows("index=by-words&is1=null")).isEmpty)
        for (query, status) in [
            ("index=by-none", 404), ("index=by-words&is2=k1001", 400), ("index=by-words&after=zz", 400), ("index=by-words&after=k1", 400),
            ("index=by-words&is1=a&is2=b&from=c", 400),
        ] {
            #expect(await page.answer(PageRequest(path: "/read-models/notes", query: query)).status == status, "\(query)")
        }
    }

    @Test("an event whose id the store made is found by it")
    func madeID() async throws {
        let temporary = try await store()
        let event = try #require(try temporary.store.event(position: Position(2)))
        let answer = await Page(temporary.store).answer(PageRequest(path: "/find", query: "what=\(event.id)"))
        #expect(answer.location == "/events/2")
    }

    @Test("a version that only the version files have is offered with its plan, and can be replayed to")
    func pending() async throws {
        let temporary = try await TemporaryStore.make(
            SchemaFiles(versions: Self.versions, projections: Self.projections).load(), at: SchemaVersion(1))
        _ = try await temporary.store.append([.event("note-1", "NoteTaken", #"{"id":"1","words":"a"}"#, at: 1)])
        let changes = PageChanges()
        let page = Page(temporary.store, changes: changes)
        #expect(text(await page.answer(PageRequest(path: "/"))).contains(">a replay to v2</a> opens it."))
        let shown = text(await page.answer(PageRequest(path: "/migration", query: "plan=v2")))
        #expect(shown.contains("forward to v2") && shown.contains("the newest version known is v2 of the version files."))
        let secret = try #require(shown.firstMatch(of: #/name="secret" value="([0-9a-f]+)"/#)).1
        let answer = await page.answer(PageRequest(path: "/migration/replay", form: "to=v2&yes=no&secret=\(secret)"))
        #expect(answer.status == 303)
        while try temporary.store.versions.live < SchemaVersion(2) { try await Task.sleep(for: .milliseconds(5)) }
        await changes.work.end()
        #expect(text(await page.answer(PageRequest(path: "/migration"))).contains("the newest version known is v2."))
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
