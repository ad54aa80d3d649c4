import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Names in a log")
struct NameTests {
    @Test("types that only look alike stay two: read by type, over a restart, in read models and for handlers")
    func types() async throws {
        let (one, other) = ("Caf\u{e9}", "Cafe\u{301}")
        let shape = #"{"stream":"s-{/id}","required":["id"],"properties":{"id":{"type":"string"}}}"#
        let directory = try TemporaryDirectory()
        try directory.write(#"{"evstore":1,"version":1,"events":{"\#(one)":\#(shape),"\#(other)":\#(shape)}}"#, to: "v1.json")
        let folds = [(one, "one"), (other, "other")].map { #""\#($0)":{"set":{"/type":{"value":"\#($1)"}}}"# }.joined(separator: ",")
        try directory.write(
            #"{"evstore":1,"projections":{"rows":[{"since":1,"key":"/id","on":{\#(folds)}}]}}"#, to: "projections.json")
        let temporary = try await TemporaryStore.make(try Schemas.load(directory.path), at: SchemaVersion(1), options: .forTests)
        _ = try await temporary.store.append([try .event("s-1", one, #"{"id":"1"}"#)])
        _ = try await temporary.store.append([try .event("s-2", other, #"{"id":"2"}"#)])
        func check(_ store: EventStore) async throws {
            var found: [[UInt8]] = []
            try store.readAll { event in
                found.append(Array(event.type.utf8))
                return true
            }
            #expect(found == [Array(one.utf8), Array(other.utf8)])
            for (type, stream) in [(one, "s-1"), (other, "s-2")] {
                var streams: [String] = []
                try store.readAll(matching: .type(type)) { event in
                    streams.append(event.stream.text)
                    return true
                }
                #expect(streams == [stream])
            }
            for (key, word) in [("1", "one"), ("2", "other")] {
                var rows: [String] = []
                try await store.query("rows", key: key) { row in
                    rows.append(row.json)
                    return true
                }
                #expect(rows == [#"{"type":"\#(word)"}"#])
            }
        }
        try await check(temporary.store)
        // Another process's view: what this one has met is not known there.
        let outcome = try BuiltProgram().must(["--store", temporary.path, "read"])
        for type in [one, other] { #expect(outcome.lines.count { Array($0.utf8).firstRange(of: Array(type.utf8)) != nil } == 1) }
        try await check(try await temporary.open(readOnly: true))
    }
    @Test("types and ids that only look alike stay two in one append")
    func oneAppend() async throws {
        let (one, other) = ("Caf\u{e9}", "Cafe\u{301}")
        let shape = #"{"stream":"s-{/id}","required":["id"],"properties":{"id":{"type":"string"}}}"#
        let directory = try TemporaryDirectory()
        try directory.write(#"{"evstore":1,"version":1,"events":{"\#(one)":\#(shape),"\#(other)":\#(shape)}}"#, to: "v1.json")
        let temporary = try await TemporaryStore.make(try Schemas.load(directory.path), at: SchemaVersion(1), options: .forTests)
        let ids = try [one, other].map { try EventID($0) }
        #expect(Set(ids).count == 2)
        let events = try zip([one, other], ids).map { type, id in
            try NewEvent(stream: StreamName("s-1"), type: type, payload: Array(#"{"id":"1"}"#.utf8), id: id)
        }
        _ = try await temporary.store.append(events)
        for type in [one, other] {
            var found: [[UInt8]] = []
            try temporary.store.readAll(matching: .type(type)) { event in
                found += [Array(event.type.utf8), Array(event.id.text.utf8)]
                return true
            }
            #expect(found == [Array(type.utf8), Array(type.utf8)])
        }
    }
}
