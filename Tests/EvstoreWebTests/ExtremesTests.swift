import Evstore
import EvstoreService
import EvstoreTesting
import Foundation
import Synchronization
import TestSupport
import Testing

@testable import EvstoreWeb

/// What a store, its reports, its backups and an address can hold, at the ends of what can be written down.
@Suite("The page at extremes", .timeLimit(.minutes(10)))
struct ExtremesTests {
    private static let version = """
        evstore: 1
        version: 1
        events:
          NoteTaken:
            stream: "note-{/id}"
            required: [id]
            properties:
              id: {type: string}
              text: {type: string}
              deep: {any: true}
        """
    private static let projections = """
        evstore: 1
        projections:
          notes:
            - since: 1
              key: /id
              on:
                NoteTaken: {set: {/text: /text}}
              indexes: {by-text: [/text]}
        """
    private static let places = [
        "", "events", "events/1", "streams/note-1", "read-models", "read-models/notes", "read-models/notes/rows/1",
        "read-models/notes/diff", "migration", "consumers", "quarantine", "drills", "census", "storage",
    ]

    private func store() async throws -> TemporaryStore {
        try await TemporaryStore.make(SchemaFiles(versions: [Self.version], projections: Self.projections).load())
    }

    private func note(_ json: String) throws -> NewEvent { try .event("note-1", "NoteTaken", json) }

    @Test("an event of any time, a report and a run of any numbers: each place answers", arguments: [Int64.min, -1, .max])
    func stored(_ microseconds: Int64) async throws {
        let temporary = try await store()
        var event = try note(#"{"id":"1"}"#)
        event.time = Timestamp(microseconds: microseconds)
        // An append may refuse it; logs that were written before hold it.
        do { _ = try await temporary.store.append([event]) } catch { #expect(error.code == "invalidLine", "\(error)") }
        _ = try await temporary.store.append([note(#"{"id":"1","text":"x"}"#)])
        _ = try await temporary.store.query("notes", key: "1")
        let directory = try TemporaryDirectory()
        _ = try await temporary.store.maintenance.backUp(into: directory.path + "/copies")
        let number = String(microseconds)
        let run = try directory.text("copies/runs/0000000001.json").replacing(#/"bytes":\d+/#, with: "\"bytes\":\(number)")
            .replacing(#/,"xxh3":"[^"]*"/#, with: "")
        try directory.write(run, to: "copies/runs/0000000001.json")
        let step = #"{"name":"a","ok":true,"seconds":1e300,"detail":""}"#
        let report = #"{"passed":true,"steps":[\#(step),\#(step)],"recoverySeconds":1e300,"recoveryPointEvents":18446744073709551615}"#
        try FileManager.default.createDirectory(atPath: temporary.store.path + "/drills", withIntermediateDirectories: true)
        try Data(report.utf8).write(to: URL(fileURLWithPath: temporary.store.path + "/drills/20260101T000000Z.json"))
        let page = Page(temporary.store, backups: BackupLook(directory.path + "/copies", patience: .patience))
        for place in Self.places {
            let answer = await page.answer(PageRequest(path: "/" + place))
            #expect(answer.status == 200, "\(place): \(String(decoding: answer.body, as: UTF8.self).suffix(300))")
        }
    }

    @Test("a run of the backups that can't be read is shown as one, and the newest that can be is the last backup")
    func unreadableRun() async throws {
        let temporary = try await store()
        let directory = try TemporaryDirectory()
        for id in 1 ... 2 {
            _ = try await temporary.store.append([note(#"{"id":"1","text":"\#(id)"}"#)])
            _ = try await temporary.store.maintenance.backUp(into: directory.path + "/copies")
        }
        let page = Page(temporary.store, backups: BackupLook(directory.path + "/copies", patience: .patience))
        func text(of place: String) async -> String { String(decoding: await page.answer(PageRequest(path: place)).body, as: UTF8.self) }
        #expect(await !text(of: "/").contains("can't be read"))
        try directory.write("{", to: "copies/runs/0000000002.json")
        #expect(await text(of: "/").contains("up to position 1, <strong class=\"bad\">and the newest run, 2, can't be read"))
        #expect(await text(of: "/storage").contains("<strong class=\"bad\">can't be read</strong>"))
    }

    @Test(
        "a directory of backups that hangs is shown as one, since when, with what was found before; one thread waits for it",
        .timeLimit(.minutes(5)))
    func hanging() async throws {
        let temporary = try await store()
        let directory = try TemporaryDirectory()
        _ = try await temporary.store.append([note(#"{"id":"1","text":"x"}"#)])
        _ = try await temporary.store.maintenance.backUp(into: directory.path + "/copies")
        let (hangs, answers) = (Flag(), Flag())
        let looks = Atomic(0)
        let look = BackupLook(directory.path + "/copies", patience: .milliseconds(50)) { directory, answered in
            looks.add(1, ordering: .relaxed)
            while hangs.isSet, !answers.isSet { usleep(1_000) }
            return BackupLook.newestRuns(in: directory, answered: answered)
        }
        let page = Page(temporary.store, backups: look)
        func text(of place: String) async -> String { String(decoding: await page.answer(PageRequest(path: place)).body, as: UTF8.self) }
        while await text(of: "/storage").contains("not answered") {}
        hangs.set()
        let before = looks.load(ordering: .relaxed)
        for _ in 0 ..< 10 {
            let overview = await text(of: "/")
            #expect(overview.contains("up to position 1; <strong class=\"bad\">their directory has not answered since</strong> <time"))
            let storage = await text(of: "/storage")
            #expect(storage.contains("/copies has not answered since <time") && storage.contains("Backups in"))
        }
        #expect(looks.load(ordering: .relaxed) == before + 1 && look.isSilent)
        answers.set()
        while await text(of: "/").contains("not answered") {}
        #expect(looks.load(ordering: .relaxed) > before + 1)
    }

    @Test("an address may say any number, version, key and cursor: each place answers, or says what is wrong with it")
    func asked() async throws {
        let temporary = try await store()
        _ = try await temporary.store.append([note(#"{"id":"1","text":"x"}"#)])
        _ = try await temporary.store.query("notes", key: "1")
        let page = Page(temporary.store, changes: PageChanges())
        let values = [
            "18446744073709551615", "18446744073709551616", "9223372036854775807", "-1", "0", "1", "v4294967295", "v0", "v1", "ff", "%00",
            "1e300", "9999-12-31T23:59:59.999999Z", "0000-01-01T00:00:00%2B23:59", "%F0%9F%98%80", "yes",
        ]
        let fields = ["from", "before", "time", "born", "at", "a", "b", "after", "prefix", "is1", "to", "index", "order", "plan", "type"]
        var random = SeededGenerator.announced()
        for place in Self.places + values.map({ "events/" + $0 }) + values.map({ "streams/" + $0 }) + values.map({ "find?what=" + $0 }) {
            for _ in 0 ..< 25 {
                let pairs = (0 ..< Int.random(in: 1 ... 3, using: &random)).map { _ in
                    "\(fields[Int.random(in: fields.indices, using: &random)])=\(values[Int.random(in: values.indices, using: &random)])"
                }
                let parts = place.split(separator: "?").map(String.init)
                let query = (parts.dropFirst() + pairs).joined(separator: "&")
                let answer = await page.answer(PageRequest(path: "/" + (parts.first ?? ""), query: query))
                #expect([200, 303, 400, 404, 409].contains(answer.status), "\(place)?\(query): \(answer.status)")
            }
        }
    }

    @Test("events that are nested deep, and many large ones, make pages that a browser can show, which say what is left out")
    func large() async throws {
        let temporary = try await store()
        let many = String(repeating: #""<<<<","#, count: 9_000) + "1"
        let deep = String(repeating: #"{"a":["#, count: 28) + many + String(repeating: "]}", count: 28)
        let text = String(repeating: "'", count: 200_000)
        for _ in 0 ..< 12 { _ = try await temporary.store.append([note(#"{"id":"1","text":"\#(text)","deep":\#(deep)}"#)]) }
        _ = try await temporary.store.query("notes", key: "1")
        for place in ["events/1", "streams/note-1", "read-models/notes/rows/1"] {
            let answer = await Page(temporary.store).answer(PageRequest(path: "/" + place))
            let text = String(decoding: answer.body, as: UTF8.self)
            #expect(answer.status == 200 && answer.body.count < 2_500_000, "\(place): \(answer.status), \(answer.body.count) bytes")
            #expect(text.contains(" more") || text.contains("no room"), "\(place)")
        }
    }
}
