import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Fixtures are recorded once and verified ever after")
struct FixturesTests {
    @Test(
        "every worked example's fixtures read at every version as they were recorded",
        arguments: ["cycles", "packages", "reminders", "saves", "settings", "tickets", "vault"])
    func domains(name: String) throws {
        let outcome = try BuiltProgram().run("schema", "fixtures", "verify", "--schemas", Checkout.path("Schemas/\(name)"), "--json")
        #expect(outcome.exit == 0, "\(outcome.output)")
        #expect(try member(outcome.line, "findings") == "[]", "\(outcome.output)")
        #expect(Int(try member(outcome.line, "images") ?? "") ?? 0 > 20)
    }

    @Test("what a version looks like at another is written beside its events, hidden ones too")
    func renderings() throws {
        let library = try Library()
        try library.must("fixtures", "record")
        #expect(
            try library.lines("fixtures/v2/seen/v1.jsonl") == [
                #"{"of":"events.jsonl:1","stream":"book-1","type":"BookLent","data":{"id":"1","title":"Emma","kind":"hc","days":"14","reader":"Ada"}}"#,
                #"{"of":"events.jsonl:2","stream":"book-1","type":"BookReturned","data":{"id":"1","at":"2026-01-11T10:00:00Z"}}"#,
                #"{"of":"events.jsonl:3","hidden":true}"#,
            ])
        #expect(try library.lines("fixtures/v1/seen/v2.jsonl").last == #"{"of":"events.jsonl:3","hidden":true}"#)
        let again = try library.run("fixtures", "record")
        #expect(again.exit == 0 && again.output.hasPrefix("0 files written"), "\(again.output)")
    }

    @Test("a file of events whose lines end in CRLF grows by the types that it lacks")
    func windowsLines() throws {
        let library = try Library()
        let lent = #"{"stream":"book-1","type":"BookLent","data":{"id":"1","title":"Emma","kind":"hc","days":"14","reader":"Ada"}}"#
        try library.shell("rm -rf fixtures && mkdir -p fixtures/v1")
        let written = "\(lent)\r\n\(lent)\r\n"
        try library.write("fixtures/v1/events.jsonl", written)
        try library.must("fixtures", "record")
        let text = try library.directory.text("fixtures/v1/events.jsonl")
        #expect(text.utf8.starts(with: written.utf8) && text.contains("BookReturned"), "\(text)")
        try library.must("fixtures", "verify")
    }

    @Test("a step that gives old events another look is found at its line, and recorded anew only where that is asked for")
    func changed() throws {
        let library = try Library()
        try library.must("fixtures", "record")
        try library.change("v2.yaml", "hc: hardcover, pb: paperback", "hc: paperback, pb: hardcover")
        let verified = try library.run("fixtures", "verify")
        #expect(verified.exit == 3)
        #expect(
            verified.output.contains(
                #/fixtures\/v1\/seen\/v2\.jsonl:1:1: error LOG005: .*"kind":"hardcover".* and is .*"kind":"paperback"/#),
            "\(verified.output)")
        let before = try library.lines("fixtures/v1/seen/v2.jsonl")
        let refused = try library.run("fixtures", "record")
        #expect(refused.exit == 3 && refused.output.contains("REFUSED") && refused.output.contains("--overwrite"), "\(refused.output)")
        #expect(try library.lines("fixtures/v1/seen/v2.jsonl") == before)
        try library.must("fixtures", "record", "--overwrite")
        try library.must("fixtures", "verify")
        #expect(try library.lines("fixtures/v1/seen/v2.jsonl") != before)
    }

    @Test("fixtures of released versions are not overwritten whatever is asked for")
    func released() throws {
        let library = try Library()
        try library.change("v2.yaml", "labels: [1.1.0]", "labels: [1.1.0]\nreleased: 2026-02-01")
        try library.must("fixtures", "record")
        try library.must("lock")
        let other = #"{"stream":"book-2","type":"BookLost","data":{"id":"2"}}"# + "\n"
        try library.write("other.jsonl", other)
        let refused = try library.run("fixtures", "record", library.url("other.jsonl").path, "--overwrite")
        #expect(
            refused.exit == 3 && refused.output.contains("RELEASED") && refused.output.contains("nothing was written"), "\(refused.output)")
        #expect(try library.lines("fixtures/v2/events.jsonl").count == 3)
        let json = try library.run("fixtures", "record", library.url("other.jsonl").path, "--overwrite", "--json")
        #expect(try member(json.line, "ok") == "false" && member(json.line, "written") == "[]")
        #expect(try keys(json.line) == ["ok", "version", "written", "refused", "unchanged", "skipped"])
    }

    @Test("an event that can't be read any more is an error, and so is a line that is none")
    func unreadable() throws {
        let library = try Library()
        let odd = #"{"stream":"book-3","type":"BookLent","data":{"id":"3","title":"Odd","kind":"hc","days":"two","reader":"Bo"}}"# + "\n"
        try library.write("fixtures/v1/odd.jsonl", odd + #"{"type":"BookLent","data":{}}"# + "\n")
        let verified = try library.run("fixtures", "verify")
        #expect(verified.exit == 3)
        #expect(verified.output.contains("odd.jsonl:1:1: error COMPAT102"), "\(verified.output)")
        #expect(verified.output.contains("odd.jsonl:2:1: error LOG005"), "\(verified.output)")
        #expect(try library.run("fixtures", "record").exit == 3)
    }

    @Test("a version without fixtures gets events made from its shapes, one for each word and absence")
    func generated() throws {
        let library = try Library()
        try FileManager.default.removeItem(at: library.url("fixtures/v2"))
        try library.must("fixtures", "record")
        let lines = try library.lines("fixtures/v2/events.jsonl")
        for word in ["hardcover", "paperback", "BookReturned", "BookLost"] { #expect(lines.contains { $0.contains("\"\(word)\"") }) }
        try library.must("fixtures", "verify")
        let verdict = try library.verdict()
        #expect(verdict.exits == [0, 0] && !verdict.output.contains(": warning "), "\(verdict.output)")
    }

    @Test(
        "without fixtures a lint says so; one record makes events of every type of every version, and the lint is content",
        arguments: ["cycles", "packages", "reminders", "saves", "settings", "tickets", "vault"])
    func everyVersion(name: String) throws {
        let library = try Library(domain: name, before: .max)
        try FileManager.default.removeItem(at: library.url("fixtures"))
        let before = try library.must("lint").output
        #expect(before.contains("v1.yaml:1:1: warning LOG005: there are no fixtures: nothing was compared"), "\(before)")
        #expect(before.contains("ok: losses, names, rules"), "\(before)")
        try library.must("fixtures", "record")
        let after = try library.must("lint").output
        #expect(after.hasSuffix("ok: fixtures, losses, names, rules\n") && !after.contains("LOG005"), "\(after)")
        #expect(try library.must("fixtures", "record").output.hasPrefix("0 files written"))
    }

    @Test("events are made of types whose names no stream's name can contain as they are")
    func oddTypes() throws {
        let library = try library("events: {\"É/t~\": {properties: {n: {type: integer}}}}")
        let recorded = try library.must("fixtures", "record").output
        #expect(!recorded.contains("skipped"), "\(recorded)")
        let lines = try library.lines("fixtures/v1/events.jsonl")
        #expect(!lines.isEmpty && lines.allSatisfy { $0.contains("\"stream\":\"%C3%89/t~-1\"") }, "\(lines)")
        try library.must("fixtures", "verify")
    }

    @Test("a type for which no event can be made is named with the reason")
    func skipped() throws {
        let library = try Library()
        for name in ["fixtures", "schemas.lock", "projections.yaml"] { try FileManager.default.removeItem(at: library.url(name)) }
        func type(_ name: String, _ members: String, _ required: String) -> String {
            "\(name): {required: [\(required)], properties: {id: {type: string}, \(members)}}"
        }
        let (named, priced) = (type("Named", "name: {type: string}", "id, name"), type("Priced", "price: {type: integer}", "id, price"))
        try library.write("v1.yaml", "evstore: 1\nversion: 1\nevents: {\(named), \(priced)}\n")
        let listed = type("Listed", "name: {type: string}, price: {type: integer}", "id, name")
        let merge = "merge-events: {types: [Named, Priced], into: Listed, on: /id}"
        try library.write("v2.yaml", "evstore: 1\nversion: 2\nupcast: [{\(merge)}]\nevents: {\(listed)}\n")
        let recorded = try library.must("fixtures", "record").output
        #expect(recorded.contains("skipped    Priced of v1: no event could be made: Priced born at v1 has no image at v2"), "\(recorded)")
        let line = try library.must("fixtures", "record", "--json").line
        #expect(try member(line, "skipped")?.hasPrefix(#"[{"version":1,"type":"Priced","why":"Priced born at v1 has no image"#) == true)
        #expect(try library.lines("fixtures/v1/events.jsonl").allSatisfy { $0.contains("Named") })
    }

    @Test("fixtures of released versions grow where a type has no event, and what was there stays")
    func grown() throws {
        let library = try Library(domain: "reminders", before: .max)
        let before = try library.lines("fixtures/v1/events.jsonl")
        let type = try #require(before.first.flatMap { try member($0, "type") })
        let kept = try before.filter { try member($0, "type") != type }
        try library.write("fixtures/v1/events.jsonl", kept.joined(separator: "\n"))
        for number in 2 ... 3 { try FileManager.default.removeItem(at: library.url("fixtures/v1/seen/v\(number).jsonl")) }
        try library.must("fixtures", "record")
        let after = try library.lines("fixtures/v1/events.jsonl")
        #expect(Array(after.prefix(kept.count)) == kept && after.count > kept.count)
        #expect(try after.dropFirst(kept.count).allSatisfy { try member($0, "type") == type })
        try library.must("fixtures", "verify")
    }

    @Test("a lint names what looks otherwise than it was recorded: a note while a version may change, else an error")
    func lintCompares() throws {
        let library = try Library()
        try library.must("fixtures", "record")
        try library.change("v2.yaml", "hc: hardcover, pb: paperback", "hc: paperback, pb: hardcover")
        let noted = try library.must("lint").output
        #expect(
            noted.contains(#/fixtures\/v1\/seen\/v2\.jsonl:1:1: note LOG005: .*"kind":"hardcover".* and is .*"kind":"paperback"/#),
            "\(noted)")
        let released = try Library(domain: "vault", before: .max)
        let seen = try released.directory.text("fixtures/v1/seen/v2.jsonl")
        try released.write("fixtures/v1/seen/v2.jsonl", String(seen.split(separator: "\n").dropFirst().joined(separator: "\n")))
        let refused = try released.run("lint")
        #expect(refused.exit == 3 && refused.output.contains("fixtures/v1/seen/v2.jsonl:1:1: error LOG005"), "\(refused.output)")
    }

    /// A library of these versions alone, without fixtures.
    private func library(_ versions: String...) throws -> Library {
        let library = try Library()
        for name in ["fixtures", "schemas.lock", "projections.yaml", "v2.yaml"] {
            try FileManager.default.removeItem(at: library.url(name))
        }
        for (index, text) in versions.enumerated() {
            try library.write("v\(index + 1).yaml", "evstore: 1\nversion: \(index + 1)\n\(text)\n")
        }
        return library
    }

    @Test("a line without a stream is of the one that its type's template names, in the images too")
    func unnamed() throws {
        let stream = #"stream: "e-{/id}""#
        let library = try library(
            "events: {E: {\(stream), required: [id], properties: {id: {type: string}}}}",
            "upcast: [{on: E, do: [{add: {path: /of, from: $stream}}]}]\n"
                + "events: {E: {\(stream), required: [id, of], properties: {id: {type: string}, of: {type: string}}}}")
        try library.write("fixtures/v1/events.jsonl", #"{"type":"E","data":{"id":"7"}}"# + "\n")
        try library.must("fixtures", "record")
        #expect(
            try library.lines("fixtures/v1/seen/v2.jsonl") == [
                #"{"of":"events.jsonl:1","stream":"e-7","type":"E","data":{"id":"7","of":"e-7"}}"#
            ])
        try library.write("more.jsonl", "\u{feff}" + #"{"type":"E","data":{"id":"8","of":"x"}}"# + "\n")
        try library.must("fixtures", "record", library.url("more.jsonl").path, "--overwrite")
        #expect(
            try library.lines("fixtures/v2/seen/v1.jsonl") == [#"{"of":"events.jsonl:1","stream":"e-8","type":"E","data":{"id":"8"}}"#])
        try library.must("fixtures", "verify")
    }

    @Test(
        "a line that an append would refuse is refused at its place, when it is verified and when it is recorded",
        arguments: [
            (#"{"stream":"e-8","type":"E","data":{"id":"7"}}"#, "belongs in stream e-7, not in e-8"),
            (#"{"stream":7,"type":"E","data":{"id":"7"}}"#, "/stream should be text"),
            (#"{"type":"E","data":{"id":"\#(String(repeating: "7", count: 199))"}}"#, "/id should be short enough for a stream name"),
            (#"{"type":"E","data":{"id":"7"},"time":7}"#, "/time should be text"),
            (#"{"type":"E","data":{"id":"7"},"metadata":[]}"#, "/metadata should be a JSON object"),
        ])
    func unappendable(_ line: String, _ words: String) throws {
        let library = try library(#"events: {E: {stream: "e-{/id}", required: [id], properties: {id: {type: string}}}}"#)
        let good = #"{"stream":"e-7","type":"E","data":{"id":"7"}}"#
        try library.write("fixtures/v1/events.jsonl", "\(good)\n\(line)\n")
        let verified = try library.run("fixtures", "verify")
        #expect(verified.exit == 3 && verified.output.contains("events.jsonl:2:1: error LOG005"), "\(verified.output)")
        #expect(verified.output.contains(words), "\(verified.output)")
        try library.write("more.jsonl", "\(good)\n\(line)\n")
        let refused = try library.run("fixtures", "record", library.url("more.jsonl").path, "--overwrite")
        #expect(refused.exit == 3 && refused.errors.contains("more.jsonl:2:1: error LOG005"), "\(refused.errors)")
    }

    @Test("a directory that can't be read is named in the system's words")
    func unreadableDirectory() throws {
        let library = try library("events: {E: {properties: {id: {type: string}}}}")
        try library.write("fixtures/v1", "")
        for command in ["record", "verify"] {
            let outcome = try library.run("fixtures", command)
            #expect(outcome.errors.contains("fixtures/v1: Not a directory") && !outcome.errors.contains("Error"), "\(outcome.errors)")
        }
    }

    @Test("what is somebody's own is replaced in the name of a stream too, where the template makes it")
    func personalStream() throws {
        let library = try library(
            #"events: {E: {stream: "of-{/name}", required: [name], properties: {name: {type: string, personal: true}}}}"#)
        try library.write("events.jsonl", #"{"stream":"of-Ann","type":"E","data":{"name":"Ann"}}"# + "\n")
        let store = library.url("store").path
        let made = try BuiltProgram().run(
            "import", library.url("events.jsonl").path, "--as", "v1", "--store", store, "--schemas", library.directory.path)
        try #require(made.exit == 0, "\(made.errors)")
        try library.must("fixtures", "record", "--store", store)
        let lines = try library.lines("fixtures/v1/events.jsonl")
        #expect(lines.count == 1 && lines[0].contains(#""stream":"of-x""#) && !lines[0].contains("Ann"), "\(lines)")
        try library.must("fixtures", "verify")
    }

    @Test("a store gives the first events of each type, without what is somebody's own")
    func store() throws {
        let library = try Library()
        try library.change("v2.yaml", "title:  {type: string}", "title:  {type: string, personal: true}")
        let events = (1 ... 5).map { number in
            #"{"stream":"book-\#(number)","type":"BookLent","data":{"id":"\#(number)","title":"Emma","kind":"paperback","days":7,"reader":"Ada","branch":1}}"#
                + "\n"
        }
        try library.write("events.jsonl", events.joined())
        let store = library.url("store").path
        let made = try BuiltProgram().run(
            "import", library.url("events.jsonl").path, "--as", "v2", "--store", store, "--schemas", library.directory.path)
        try #require(made.exit == 0, "\(made.errors)")
        try library.must("fixtures", "record", "--store", store, "--each", "2", "--overwrite")
        let lines = try library.lines("fixtures/v2/events.jsonl")
        #expect(lines.count == 2 && lines.allSatisfy { $0.contains(#""title":"x""#) && $0.contains(#""id":""#) }, "\(lines)")
        try library.must("fixtures", "verify")
    }
}

extension Library {
    func lines(_ name: String) throws -> [String] {
        try String(contentsOf: url(name), encoding: .utf8).split(separator: "\n").map(String.init)
    }
}
