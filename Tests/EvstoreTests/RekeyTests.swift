import EventLog
import EventModel
import EvstoreTesting
import JSONText
import Testing

@testable import Evstore

@Suite("Streams with other names")
struct RekeyTests {
    private static let v1 = """
        evstore: 1
        version: 1
        events:
          Set:
            stream: "pref-{/key}"
            required: [key, value]
            properties: {key: {type: string}, value: {type: integer}}
        """

    private static let v2 = """
        evstore: 1
        version: 2
        upcast:
          - rekey: {from: "pref-{key}", to: "setting-{key}"}
        events:
          Set:
            stream: "setting-{/key}"
            required: [key, value]
            properties: {key: {type: string}, value: {type: integer}}
        """

    private static let projections = """
        evstore: 1
        projections:
          settings:
            - since: 1
              key: $stream
              on: {Set: {set: {/value: /value}}}
        """

    private func store() async throws -> TemporaryStore {
        let schemas = try SchemaFiles(Self.v1, Self.v2, projections: Self.projections).load()
        return try await TemporaryStore.make(schemas, at: SchemaVersion(2), from: SchemaVersion(1))
    }

    private func set(_ stream: String, _ key: String, _ value: Int, at version: Int) throws -> NewEvent {
        try .event(stream, "Set", #"{"key":"\#(key)","value":\#(value)}"#, at: version)
    }

    @Test("a stream goes on under its older spelling with one sequence of revisions")
    func oneSequence() async throws {
        let temporary = try await store()
        let store = temporary.store
        _ = try await store.append(try set("pref-theme", "theme", 1, at: 1), expecting: .noStream)
        let second = try await store.append(try set("setting-theme", "theme", 2, at: 2), expecting: .revision(.first))
        #expect(second.revision == Revision(1))
        #expect(second.stream.text == "setting-theme")
        let third = try await store.append(try set("pref-theme", "theme", 3, at: 1), expecting: .exists)
        #expect(third.revision == Revision(2))
        for (version, name) in [(1, "pref-theme"), (2, "setting-theme")] {
            let events = try store.read(try StreamName(name), at: SchemaVersion(version))
            #expect(events.map(\.revision) == [Revision(0), Revision(1), Revision(2)])
            #expect(events.allSatisfy { $0.stream.text == name })
            var all: [String] = []
            try store.readAll(at: SchemaVersion(version)) { event in
                all.append(event.stream.text)
                return true
            }
            #expect(all == [name, name, name])
        }
        // The older name leads to the stream at the newer version, too, which shows it under its own.
        let again = try store.read(try StreamName("pref-theme"), at: SchemaVersion(2))
        #expect(again.map(\.stream.text) == ["setting-theme", "setting-theme", "setting-theme"])
        _ = try await store.append(
            [try set("setting-other", "other", 1, at: 2)],
            conditions: [StreamCondition(try StreamName("pref-theme"), .revision(Revision(2)))])
        await #expect { try await store.append(try set("pref-theme", "theme", 4, at: 2), expecting: .any) } throws: {
            "\($0)".contains("setting-theme")
        }
        var born: [String] = []
        try await store.export { lines in
            born += String(decoding: lines, as: UTF8.self).split(separator: "\n").map(String.init)
            return true
        }
        #expect(born.map { $0.contains("pref-theme") } == [true, false, true, false])
    }

    @Test("a condition that a stream does not exist holds for its other names too, until the commit")
    func absentUnderEachName() async throws {
        let temporary = try await store()
        let store = temporary.store
        let condition = StreamCondition(try StreamName("setting-theme"), .noStream)
        let resolved = try store.resolved([], [condition], at: SchemaVersion(2), store.history)
        #expect(Set(resolved.conditions.map(\.stream.text)) == ["setting-theme", "pref-theme"])
        // An older program makes the stream between the look at its names and the commit.
        _ = try await store.append(try set("pref-theme", "theme", 1, at: 1), expecting: .noStream)
        let late = StoredEvent(
            stream: try StreamName("setting-late"), type: "Set", born: SchemaVersion(2), payload: Array(#"{"key":"late","value":1}"#.utf8),
            time: .now)
        await #expect { try await store.log.append(AppendRequest(events: [late], conditions: resolved.conditions)) } throws: {
            guard let error = $0 as? EvstoreError, case .expectationFailed(let stream, _, _) = error else { return false }
            return stream.text == "pref-theme" && resolved.failure(error) == nil
        }
        await #expect(throws: EvstoreError.self) {
            try await store.append([try set("setting-other", "other", 1, at: 2)], conditions: [condition])
        }
    }

    @Test(
        "a text that is encoded for a stream's name is what the template makes of it", arguments: ["a b", "50%", "é\"{}", "plain", "%20"])
    func encoded(_ key: String) async throws {
        let temporary = try await store()
        let payload = #"{"key":\#(JSONValue.string(key).text),"value":1}"#
        let name = "setting-" + StreamName.encoded(key)
        _ = try await temporary.store.append(.event(name, "Set", payload, at: 2), expecting: .noStream)
    }

    @Test("a stream that is named by an empty text is one stream under both names, appended, imported, read, folded and verified")
    func emptyCapture() async throws {
        let temporary = try await store()
        let store = temporary.store
        _ = try await store.append(try set("pref-", "", 1, at: 1), expecting: .noStream)
        let second = try await store.append(try set("setting-", "", 2, at: 2), expecting: .revision(.first))
        #expect(second.revision == Revision(1))
        let file = try temporary.write(#"{"type":"Set","stream":"setting-","data":{"key":"","value":3}}"#, to: "input.jsonl")
        #expect(try await store.importLines(from: .file(file), as: SchemaVersion(2)).added == 1)
        for (version, name) in [(1, "pref-"), (2, "setting-")] {
            let events = try store.read(try StreamName(name), at: SchemaVersion(version))
            #expect(events.map(\.revision) == [Revision(0), Revision(1), Revision(2)])
            var rows: [String] = []
            _ = try await store.query("settings", at: SchemaVersion(version)) { row in
                rows.append("\(row.key) \(row.json)")
                return true
            }
            #expect(rows == [name + #" {"value":3}"#])
        }
        #expect(try await store.maintenance.verify(laws: true).findings.filter { $0.severity == .error }.isEmpty)
    }

    @Test("a failed expectation names the stream as the caller does")
    func failedExpectation() async throws {
        let temporary = try await store()
        _ = try await temporary.store.append(try set("pref-a", "a", 1, at: 1), expecting: .noStream)
        await #expect {
            try await temporary.store.append(try set("setting-a", "a", 2, at: 2), expecting: .noStream)
        } throws: { error in
            guard case EvstoreError.expectationFailed(let stream, _, let actual)? = error as? EvstoreError else { return false }
            return stream.text == "setting-a" && actual == .first
        }
    }

    @Test("a stream made at the newer version is found under its older name")
    func newerFirst() async throws {
        let temporary = try await store()
        let store = temporary.store
        _ = try await store.append([try set("setting-a", "a", 1, at: 2), try set("pref-a", "a", 2, at: 1)])
        #expect(try store.read(try StreamName("pref-a"), at: SchemaVersion(1)).map(\.revision) == [Revision(0), Revision(1)])
        #expect(try store.read(try StreamName("setting-a"), at: SchemaVersion(2)).count == 2)
    }

    @Test("two callers that make one stream under two spellings make one stream")
    func racing() async throws {
        let temporary = try await store()
        let store = temporary.store
        for number in 0 ..< 20 {
            async let old = store.append([try set("pref-\(number)", "\(number)", 1, at: 1)])
            async let new = store.append([try set("setting-\(number)", "\(number)", 2, at: 2)])
            let revisions = [try await old.revision, try await new.revision].sorted()
            #expect(revisions == [Revision(0), Revision(1)])
        }
    }

    @Test("a read model keyed by the stream has the names of its version")
    func projected() async throws {
        let temporary = try await store()
        let store = temporary.store
        _ = try await store.append([try set("pref-a", "a", 1, at: 1), try set("setting-a", "a", 2, at: 2)])
        for (version, name) in [(1, "pref-a"), (2, "setting-a")] {
            var rows: [String] = []
            _ = try await store.query("settings", at: SchemaVersion(version)) { row in
                rows.append("\(row.key) \(row.json)")
                return true
            }
            #expect(rows == [name + #" {"value":2}"#])
        }
    }

    @Test("a subscription to a stream follows it under its older spelling")
    func watched() async throws {
        let temporary = try await store()
        let store = temporary.store
        _ = try await store.append([try set("pref-a", "a", 1, at: 1)])
        var pages = store.subscribe(to: try StreamName("setting-a"), at: SchemaVersion(2)).pages.makeAsyncIterator()
        #expect(try await pages.next()?.map(\.stream.text) == ["setting-a"])
        _ = try await store.append([try set("pref-a", "a", 2, at: 1)])
        #expect(try await pages.next()?.map(\.revision) == [Revision(1)])
    }

    @Test("the name that a stream has at another version is refused, and its own is named")
    func refused() async throws {
        let temporary = try await store()
        await #expect {
            try await temporary.store.append([try .event("setting-a", "Set", #"{"key":"a","value":1}"#, at: 1)])
        } throws: { ($0 as? EvstoreError)?.code == "streamMismatch" }
    }

    @Test("the laws tell of an event that a rekey takes into a stream which its template does not name")
    func captures() async throws {
        func version(_ number: Int, _ upcast: String, _ stream: String) -> String {
            """
            evstore: 1
            version: \(number)
            \(upcast)
            events:
              E: {stream: "\(stream)", required: [a, b], properties: {a: {type: string}, b: {type: string}}}
            """
        }
        let schemas = try SchemaFiles(
            version(1, "", "u_{/a}-{/b}"), version(2, #"upcast: [{rekey: {from: "u_{x}-{y}", to: "w/{x}/{y}"}}]"#, "w/{/a}/{/b}")
        ).load()
        for (a, isNamed) in [("p", true), ("p-q", false)] {
            let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(2), from: SchemaVersion(1))
            let store = temporary.store
            _ = try await store.append([.event("u_\(a)-r", "E", #"{"a":"\#(a)","b":"r"}"#, at: 1)])
            let report = try await store.maintenance.verify(laws: true, seed: 3)
            let failed = report.laws.filter { $0.failed > 0 }.map(\.law)
            #expect(failed == (isNamed ? [] : ["L5"]) && report.ok == isNamed, "\(report.findings)")
        }
    }
}
