import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("The id of a part into which a step splits an event")
struct PartIDTests {
    private static let sale = "Sale: {required: [id, cents], properties: {id: {type: string}, cents: {type: integer}}}"
    private static let versions = [
        "evstore: 1\nversion: 1\nevents: {\(sale)}",
        """
        evstore: 1
        version: 2
        upcast:
          - split-event:
              type: Sale
              into: [{type: Sale, pick: [/id, /cents], down: as}, {type: Paid, pick: [/id], down: {hide: it is of the sale}}]
        events:
          \(sale)
          Paid: {required: [id], properties: {id: {type: string}}}
        """,
    ]

    private static func store() async throws -> TemporaryStore {
        try await TemporaryStore.make(SchemaFiles(versions: versions).load(), at: SchemaVersion(2), from: SchemaVersion(1))
    }

    private func sale(_ name: String, _ id: String?, at version: UInt32 = 1) throws -> NewEvent {
        try NewEvent(
            stream: StreamName("s-\(name)"), type: "Sale", payload: Array(#"{"id":"\#(name)","cents":5}"#.utf8),
            id: id.map { try EventID($0) }, version: SchemaVersion(version))
    }

    private func paid(_ name: String, _ id: String) throws -> NewEvent {
        try NewEvent(
            stream: StreamName("s-\(name)"), type: "Paid", payload: Array(#"{"id":"\#(name)"}"#.utf8), id: EventID(id),
            version: SchemaVersion(2))
    }

    @Test("what a store has exported at a version that splits adds nothing to it, with ids of the caller's and of the store's own")
    func exported() async throws {
        let temporary = try await Self.store()
        let store = temporary.store
        _ = try await store.append([sale("1", "e1")])
        _ = try await store.append([sale("2", nil), sale("2", nil)])
        _ = try await store.append([sale("3", "e3"), sale("3", nil)])
        var lines = ""
        _ = try await store.export(convertedTo: SchemaVersion(2)) { part in
            lines += String(decoding: part, as: UTF8.self)
            return true
        }
        #expect(lines.split(separator: "\n").count == 10)
        let file = try temporary.write(lines, to: "own.jsonl")
        for again in 0 ..< 2 {
            let report = try await store.importLines(from: .file(file), as: SchemaVersion(2), options: ImportOptions(again: again == 1))
            #expect(report.added == 0 && report.refused.isEmpty, "\(report)")
        }
        #expect(try store.last().position == Position(5))
        // Where it is new, each part is an event of its own.
        let other = try await Self.store()
        #expect(try await other.store.importLines(from: .file(file), as: SchemaVersion(2)).added == 10)
        #expect(try await other.store.importLines(from: .file(file), as: SchemaVersion(2), options: ImportOptions(again: true)).added == 0)
    }

    @Test("may be longer than that of a whole event: exported lines add nothing here, and are events elsewhere", arguments: [62, 63, 64])
    func long(bytes: Int) async throws {
        let temporary = try await Self.store()
        let id = String(repeating: "x", count: bytes)
        let first = try await temporary.store.append([sale("1", id)])
        for format in EventFormat.allCases {
            var lines = ""
            _ = try await temporary.store.export(convertedTo: SchemaVersion(2), format: format) { part in
                lines += String(decoding: part, as: UTF8.self)
                return true
            }
            #expect(lines.contains("\"\(id)#1\""))
            let file = try temporary.write(lines, to: "own.jsonl")
            let again = ImportOptions(again: true)
            let report = try await temporary.store.importLines(from: .file(file), as: SchemaVersion(2), options: again)
            #expect(report.added == 0 && report.refused.isEmpty, "\(report)")
            let other = try await Self.store()
            #expect(try await other.store.importLines(from: .file(file), as: SchemaVersion(2)).added == 2)
            #expect(try await other.store.importLines(from: .file(file), as: SchemaVersion(2), options: again).added == 0)
            let events = try other.store.read(StreamName("s-1"), at: SchemaVersion(2))
            if format == .jsonl { #expect(events.map(\.id.text) == [id, "\(id)#1"]) }
            #expect(try await other.store.maintenance.verify(deep: true).ok)
        }
        let part = try await temporary.store.append([paid("1", "\(id)#1")])
        #expect(part.duplicate && part.positions == first.positions)
    }

    @Test("of a CloudEvent whose source and id are long is exported in a way that adds nothing when it is imported again")
    func ofCloudEvent() async throws {
        let temporary = try await Self.store()
        for bytes in [3, 55, 56, 80] {
            let id = String(repeating: "x", count: bytes)
            let data = #""data":{"id":"1","cents":5}"#
            let line = #"{"specversion":"1.0","id":"\#(id)","source":"/till/7","type":"Sale","subject":"s-1",\#(data)}"#
            let came = try temporary.write(line, to: "\(bytes).jsonl")
            #expect(try await temporary.store.importLines(from: .file(came), as: SchemaVersion(1)).added == 1)
        }
        var lines = ""
        _ = try await temporary.store.export(convertedTo: SchemaVersion(2), format: .cloudevents) { part in
            lines += String(decoding: part, as: UTF8.self)
            return true
        }
        #expect(lines.split(separator: "\n").count == 8)
        let file = try temporary.write(lines, to: "own.jsonl")
        let report = try await temporary.store.importLines(from: .file(file), as: SchemaVersion(2), options: ImportOptions(again: true))
        #expect(report.added == 0 && report.refused.isEmpty, "\(report)")
    }

    @Test("is taken: an append with it is told as made before, or refused where it says something else")
    func appended() async throws {
        let temporary = try await Self.store()
        let store = temporary.store
        let first = try await store.append([sale("1", "e1")])
        let part = try await store.append([paid("1", "e1#1")])
        #expect(part.duplicate && part.positions == first.positions && part.id.text == "e1#1")
        let both = try await store.append([sale("1", "e1", at: 2), paid("1", "e1#1")])
        let whole = try await store.append([sale("1", "e1", at: 2)])
        #expect(both.duplicate && whole.duplicate)
        for (events, id) in try [
            ([paid("2", "e1#1")], "e1#1"), ([sale("1", "e1#1", at: 2)], "e1#1"), ([sale("9", nil), paid("1", "e1#1")], "e1#1"),
        ] {
            await #expect { try await store.append(events) } throws: {
                if case .idReused(let reused, _, _)? = $0 as? EvstoreError { reused.text == id } else { false }
            }
        }
        // The event has no third part, and at version 1 no second one.
        #expect(try await !store.append([paid("1", "e1#2")]).duplicate)
        #expect(try await !store.append([sale("1", "e1#1")]).duplicate)
        #expect(try await store.append([sale("1", "e1#1")]).duplicate, "an id of its own now")
        #expect(try store.last().position == Position(3))
    }

    @Test("that a caller gave itself stays its own, also once a step splits the event whose part it could be")
    func own() async throws {
        let temporary = try await Self.store()
        let store = temporary.store
        for id in ["e1", "e1#1"] { _ = try await store.append([sale("1", id)]) }
        let again = try await store.append([sale("1", "e1#1")])
        #expect(again.duplicate && again.position == Position(2))
        let other = try await store.append([sale("1", "e1#1", at: 2)])
        #expect(other.duplicate && other.position == Position(2))
    }

    @Test("may be among those of an append that is repeated: with all parts of its events, or the first ones")
    func repeated() async throws {
        let temporary = try await Self.store()
        let store = temporary.store
        let first = try await store.append([sale("1", "e1"), sale("2", "e2")])
        for events in try [
            [sale("1", "e1"), sale("2", "e2")], [sale("1", "e1", at: 2), sale("2", "e2", at: 2)],
            [sale("1", "e1", at: 2), paid("1", "e1#1"), sale("2", "e2", at: 2), paid("2", "e2#1")],
        ] {
            let again = try await store.append(events)
            #expect(again.duplicate && again.positions == first.positions)
        }
        #expect(try store.last().position == Position(2))
    }

    @Test("has a number behind its last # that is written as numbers are")
    func form() throws {
        let wholes = ["a#1": "a", "a#1#12": "a#1", "a#0": nil, "a#01": nil, "a#": nil, "#1": nil, "a#-1": nil, "a#99999": nil, "a1": nil]
        for (id, whole) in wholes { #expect(try EventID(id).whole?.text == whole, "\(id)") }
        let longest = String(repeating: "x", count: EventID.longestBytes)
        for id in ["\(longest)#1", "\(longest)#65535", "\(longest)#1#1"] { #expect(try EventID(id).text == id) }
        for id in ["\(longest)#0", "\(longest)x#1", "\(longest)#", longest + String(repeating: "#1", count: 96)] {
            #expect(throws: EvstoreError.invalidEventID(id)) { try EventID(id) }
        }
        for part in [1, 12, 999] { #expect(try EventID("x").ofPart(part).whole?.text == "x") }
    }
}
