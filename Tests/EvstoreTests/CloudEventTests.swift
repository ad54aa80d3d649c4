import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("CloudEvents in and out")
struct CloudEventTests {
    private static let time = "2026-01-02T03:04:05Z"

    /// A CloudEvent of an order of version 1; `more` are further members.
    private static func line(_ source: String, _ id: String, order: String = "1", _ more: String = "") -> String {
        let data = #"{"id":"\#(order)","customer":"Ann","total":5}"#
        return #"{"specversion":"1.0","id":"\#(id)","source":"\#(source)","type":"OrderPlaced","time":"\#(time)"\#(more),"data":\#(data)}"#
    }

    private func run(
        _ temporary: TemporaryStore, _ lines: [String], as version: UInt32 = 1, _ options: ImportOptions = .init()
    ) async throws -> ImportReport {
        let file = try temporary.write(lines.map { $0 + "\n" }.joined(), to: "\(UUID().uuidString).jsonl")
        return try await temporary.store.importLines(from: .file(file), as: SchemaVersion(version), options: options)
    }

    private func events(_ store: EventStore) throws -> [RecordedEvent] {
        var all: [RecordedEvent] = []
        try store.readAll { event in
            all.append(event)
            return true
        }
        return all
    }

    private func exported(_ store: EventStore) async throws -> [String] {
        var text = ""
        try await store.export(format: .cloudevents) { lines in
            text += String(decoding: lines, as: UTF8.self)
            return true
        }
        return text.split(separator: "\n").map(String.init)
    }

    @Test("an event is known by its source and its id together, of whatever length, and comes once, in whatever order and number")
    func identity() async throws {
        let seed = UInt64.random(in: 0 ... UInt64(UInt32.max))
        var random = SeededGenerator(seed: seed)
        let parts = ["1", "2", "/till/7", "a b", "ä", "7d444840-9dc0-11d1-b245-5ffdce74fad2", String(repeating: "x", count: 82)]
        for _ in 0 ..< 5 {
            let temporary = try await Orders.store(at: 1)
            let all = (0 ..< 60).map { _ in (parts.randomElement(using: &random) ?? "", parts.randomElement(using: &random) ?? "") }
            let distinct = Set(all.map { [$0.0, $0.1] })
            #expect(try await run(temporary, all.map { Self.line($0.0, $0.1) }).added == UInt64(distinct.count), "seed \(seed)")
            let again = try await run(temporary, all.shuffled(using: &random).map { Self.line($0.0, $0.1) })
            #expect(again.added == 0, "seed \(seed)")
            let found = try events(temporary.store).map { event in
                let metadata = try JSONDecoder().decode([String: [String: String]].self, from: Data(event.metadata))
                return [metadata["cloudevents"]?["source"] ?? "", metadata["cloudevents"]?["id"] ?? ""]
            }
            #expect(Set(found) == distinct && found.count == distinct.count, "seed \(seed)")
        }
    }

    @Test("the id in the store is the source and the id, or where that is too long the UUID that the page gives")
    func ids() async throws {
        let temporary = try await Orders.store(at: 1)
        let long = String(repeating: "x", count: 82)
        _ = try await run(temporary, [Self.line("/till/7", "1"), Self.line("/till/7", long)])
        #expect(try events(temporary.store).map(\.id.text) == ["/till/7 1", "db762d85-0e30-88ff-8afc-480d63d21e3b"])
    }

    @Test("what an earlier program imported by the id alone is known again, and no other event is taken for it")
    func plainIDs() async throws {
        let temporary = try await Orders.store(at: 1)
        let own = #"{"stream":"order-1","type":"OrderPlaced","id":"7","time":"\#(Self.time)","data":{"id":"1","customer":"Ann","total":5}}"#
        _ = try await run(temporary, [own])
        let report = try await run(temporary, [Self.line("/a", "7"), Self.line("/b", "7", order: "2"), Self.line("/a", "8")])
        #expect((report.added, report.skipped) == (2, 1))
        let later = Self.line("/c", "7").replacing(Self.time, with: "2026-01-02T03:04:06Z")
        let timeless = Self.line("/d", "7").replacing(#","time":"\#(Self.time)""#, with: "")
        #expect(try await run(temporary, [later, timeless]).added == 2)
    }

    @Test("what an earlier program imported is the event of one source only, also where another says the same at the same time")
    func plainIDOfOne() async throws {
        let temporary = try await Orders.store(at: 1)
        let own = #"{"stream":"order-1","type":"OrderPlaced","id":"7","time":"\#(Self.time)","data":{"id":"1","customer":"Ann","total":5}}"#
        _ = try await run(temporary, [own])
        for round in 0 ..< 2 {
            let report = try await run(temporary, [Self.line("/a", "7"), Self.line("/b", "7")])
            #expect(report.added == (round == 0 ? 1 : 0))
        }
        let sources = try await exported(temporary.store).filter { $0.contains(#""id":"7""#) }
        #expect(sources.count == 2 && sources[1].contains(#""source":"/b""#))
    }

    @Test("what an earlier program imported by the id alone is known again although the live version has no image of it")
    func plainIDRefusedNow() async throws {
        let temporary = try await ImportTests.textStore()
        let event = #""type":"E","id":"7","time":"\#(Self.time)","data":{"n":"x"}}"#
        _ = try await run(temporary, [#"{"stream":"s","# + event])
        _ = try await temporary.store.migrate(to: SchemaVersion(2), options: MigrationOptions(onError: .quarantine))
        let lines = ["/a", "/b"].map { #"{"specversion":"1.0","source":"\#($0)","subject":"s","# + event }
        let report = try await run(temporary, lines, ImportOptions(onError: .quarantine))
        #expect((report.added, report.skipped, report.quarantined) == (0, 1, 1))
    }

    @Test("only a dataschema of a store names the version; one of anybody else is kept, and --as counts")
    func schemas() async throws {
        let temporary = try await Orders.store(at: 2)
        let foreign = Self.line("/a", "1", #","dataschema":"https://shop.example/schemas/order/v2""#)
        let data = #"{"id":"1","customer":"Ann","cents":5,"currency":"USD"}"#
        let ours = #"{"specversion":"1.0","id":"2","source":"/a","type":"OrderPlaced","dataschema":"urn:evstore:x/v2","data":\#(data)}"#
        _ = try await run(temporary, [foreign, ours])
        #expect(try events(temporary.store).map(\.born) == [SchemaVersion(1), SchemaVersion(2)])
        #expect(try await exported(temporary.store)[0].contains("https://shop.example/schemas/order/v2"))
    }

    @Test("an export gives attributes as they came, also over several stores; what an export itself says stays in the metadata")
    func roundTrip() async throws {
        let first = try await Orders.store(at: 1)
        let own = #"{"id":"9","customer":"Zoë","total":1}"#
        _ = try await first.store.append([try .event("order-9", "OrderPlaced", own, id: "own", metadata: #"{"by":"me"}"#)])
        let attributes = #","traceparent":"00-ab-cd-01","partitionkey":"7","sampled":true,"priority":3"#
        let kept = #","position":"12","dataschema":"https://shop.example/v2","datacontenttype":"text/json","metadata":"{\"by\":\"us\"}""#
        _ = try await run(first, [Self.line("/till/7", "1", attributes), Self.line("/till/8", "1", attributes + kept)])
        let lines = try await exported(first.store)
        #expect(lines[1].contains(#""id":"1","source":"/till/7""#) && lines[1].contains(attributes) && !lines[1].contains("metadata"))
        #expect(lines[2].contains(#""id":"1","source":"/till/8""#) && lines[2].contains(attributes))
        let second = try await Orders.store(at: 1)
        #expect(try await run(second, lines).added == 3)
        #expect(try await plain(exported(second.store)) == plain(lines))
        #expect(try await run(first, exported(second.store)).added == 0)
        #expect(try await run(first, lines).added == 0)
    }

    @Test(
        "an extension is an attribute where CloudEvents allow its value, and in the metadata where not; both ways it comes back",
        arguments: [
            ("true", true), ("false", true), ("0", true), ("-7", true), ("2147483647", true), ("-2147483648", true),
            ("2147483648", false), ("-2147483649", false), ("12345678901234567890", false), ("1.5", false), ("1.0", false), ("1e3", false),
            ("\"\"", true), (#""é😀""#, true), (#""say \"hi\" \\""#, true), ("\"\u{a0}\"", true), (#""a\tb""#, false),
            (#""\u0000""#, false), ("\"\u{7f}\"", false), (#""\u0085""#, false), (#""\ufdd0""#, false), (#""\ud83f\udfff""#, false),
            ("[1]", false), (#"{"a":1}"#, false),
        ])
    func extensionValues(_ value: String, _ isAllowed: Bool) async throws {
        let first = try await Orders.store(at: 1)
        _ = try await run(first, [Self.line("/till/7", "1", ",\"extra\":\(value)")])
        let line = try await exported(first.store)[0]
        #expect(line.contains(",\"extra\":\(value),\"position\":") == isAllowed && line.contains("\"metadata\":") != isAllowed, "\(line)")
        let second = try await Orders.store(at: 1)
        #expect(try await run(second, [line]).added == 1)
        #expect(try await plain(exported(second.store)) == plain([line]))
    }

    /// Lines without what names the store.
    private func plain(_ lines: [String]) -> [String] { lines.map { $0.replacing(#/urn:evstore:[^\/"]*\/v/#, with: "/v") } }

    @Test(
        "metadata that has a member of the envelope's name is lost at no hop",
        arguments: [#"{"cloudevents":5}"#, #"{"cloudevents":{"source":"/s","id":"1"},"by":"me"}"#, #"{"cloudevents":{"x":[1]}}"#])
    func ownMember(metadata: String) async throws {
        var store = try await Orders.store(at: 1)
        _ = try await store.store.append([
            try .event("order-9", "OrderPlaced", #"{"id":"9","customer":"Ann","total":1}"#, id: "own", metadata: metadata)
        ])
        let own = metadata.dropFirst().prefix { $0 != "]" && $0 != "}" }
        for _ in 0 ..< 3 {
            let lines = try await exported(store.store)
            store = try await Orders.store(at: 1)
            #expect(try await run(store, lines).added == 1)
            let kept = try events(store.store).map { String(decoding: $0.metadata, as: UTF8.self) }
            #expect(kept[0].replacing("\\", with: "").contains(own), "\(kept)")
            #expect(try await exported(store.store)[0].contains(#""id":"own","source":"urn:evstore:"#))
        }
    }

    @Test("an event that is nearly as large as one may be comes back, though its line is twice as long")
    func largest() async throws {
        let (first, second) = (try await Orders.store(at: 1), try await Orders.store(at: 1))
        let payload = #"{"id":"1","customer":"Ann","total":1}"#
        let quotes = String(repeating: #"\""#, count: first.store.options.eventBytesMax / 2 - 500)
        _ = try await first.store.append([try .event("order-1", "OrderPlaced", payload, metadata: #"{"a":"\#(quotes)"}"#)])
        let lines = try await exported(first.store)
        #expect(lines[0].utf8.count > 2_000_000)
        #expect(try await run(second, lines).added == 1)
        #expect(try await exported(second.store)[0].contains(quotes.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"")))
    }

    @Test("where a line names no stream the type's template does, of an event line too")
    func streams() async throws {
        let temporary = try await Orders.store(at: 1)
        let own = #"{"type":"OrderPlaced","data":{"id":"4","customer":"Ann","total":5}}"#
        #expect(try await run(temporary, [Self.line("/a", "1", order: "3"), own]).added == 2)
        #expect(try events(temporary.store).map(\.stream.text) == ["order-3", "order-4"])
        let appended = try temporary.store.events(ofLines: Array(own.utf8))
        #expect(appended.map(\.stream.text) == ["order-4"])
    }

    @Test("data in base64 is taken where it is a JSON object, a batch by --each, and each says what it is where it is not taken")
    func forms() async throws {
        let temporary = try await Orders.store(at: 1)
        func binary(_ text: String) -> String {
            #"{"specversion":"1.0","id":"1","source":"/a","type":"OrderPlaced","data_base64":"\#(Data(text.utf8).base64EncodedString())"}"#
        }
        #expect(try await run(temporary, [binary(#"{"id":"1","customer":"Ann","total":5}"#)]).added == 1)
        let batch = "[" + [Self.line("/a", "2"), Self.line("/a", "3")].joined(separator: ", \n") + "]"
        #expect(try await run(temporary, [batch], ImportOptions(each: "")).added == 2)
        for (line, words) in [(binary("no JSON"), "/data_base64 is binary"), (batch.replacing("\n", with: ""), "a list is no event")] {
            await #expect {
                try await run(temporary, [line])
            } throws: { error in
                let error = error as? EvstoreError
                return error?.message.contains(words) == true && error?.fix?.contains("each: ") == true
            }
        }
        let wrong = [#","id2":null,"source":"""#, #","source":5"#].map { Self.line("/a", "9").replacing(#","source":"/a""#, with: $0) }
        for line in wrong { await #expect(throws: EvstoreError.self) { try await run(temporary, [line]) } }
    }
}
