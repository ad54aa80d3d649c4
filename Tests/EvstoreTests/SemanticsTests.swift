import Evstore
import EvstoreTesting
import Foundation
import Testing

/// An example of the page "What each op does, exactly": versions, and cases that say what is seen of what.
struct SemanticsExample: Sendable, CustomTestStringConvertible {
    /// One line: `v1 E {…} + F {…} => v2 G {…}`; `<=>` for both directions.
    struct Case: Sendable {
        let text, left, right: String
        let isBothWays: Bool
    }

    /// The line of the page that it begins at.
    let line: Int
    private(set) var members: [(name: String, text: String)] = []
    private(set) var cases: [Case] = []

    var testDescription: String { "line \(line)" }

    static let page = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .appending(path: "Sources/Evstore/Evstore.docc/Semantics.md")

    static let all: [SemanticsExample] = {
        guard let text = try? String(contentsOf: page, encoding: .utf8) else { return [] }
        var examples: [SemanticsExample] = []
        var isInside = false
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            if line == "```example" { examples.append(SemanticsExample(line: index + 1)) }
            if isInside, line != "```" { examples[examples.count - 1].add(String(line)) }
            if line.hasPrefix("```") { isInside = line == "```example" }
        }
        return examples
    }()

    private init(line: Int) { self.line = line }

    private mutating func add(_ line: String) {
        if line.hasPrefix(" ") {
            members[members.count - 1].text += "\n" + line
        } else if let both = line.firstRange(of: " <=> ") {
            cases.append(
                Case(text: line, left: String(line[..<both.lowerBound]), right: String(line[both.upperBound...]), isBothWays: true))
        } else if let way = line.firstRange(of: " => ") {
            cases.append(Case(text: line, left: String(line[..<way.lowerBound]), right: String(line[way.upperBound...]), isBothWays: false))
        } else if let colon = line.firstRange(of: ": ") {
            members.append((String(line[..<colon.lowerBound]), String(line[colon.upperBound...])))
        }
    }

    private func member(_ name: String) -> String? { members.first { $0.name == name }?.text }

    /// The version files that `v1`, `v2`, … describe; `do` are ops of version 2 on every type, `upcast` and `upcast v3` are whole steps.
    func schemas() throws -> Schemas {
        var versions: [String] = []
        while let events = member("v\(versions.count + 1)") {
            let number = versions.count + 1
            let step = number == 2 ? member("do").map { "[{on: all, do: \($0)}]" } ?? member("upcast") : member("upcast v\(number)")
            versions.append("evstore: 1\nversion: \(number)\n" + (step.map { "upcast: \($0)\n" } ?? "") + "events: \(events)\n")
        }
        let rows = member("rows").map { "evstore: 1\nprojections:\n  rows:\n    - \($0)\n" }
        return try SchemaFiles(versions: versions, projections: rows).load()
    }

    func run() async throws {
        let schemas = try schemas()
        let temporary = try await TemporaryStore.make(schemas, at: schemas.head, from: SchemaVersion(1))
        for (number, one) in cases.enumerated() {
            try await check(one.left, one.right, in: "s-\(number)", temporary.store, one.text)
            if one.isBothWays { try await check(one.right, one.left, in: "t-\(number)", temporary.store, one.text) }
        }
    }

    private func check(_ given: String, _ wanted: String, in stream: String, _ store: EventStore, _ text: String) async throws {
        let name = try StreamName(stream)
        let (born, events) = try versioned(given)
        var seen: String
        do {
            _ = try await store.append(
                events.components(separatedBy: " + ").map { event in
                    let cut = try #require(event.firstIndex(of: " "))
                    return NewEvent(
                        stream: name, type: String(event[..<cut]), payload: Array(event[cut...].dropFirst().utf8), version: born)
                })
            if wanted.hasPrefix("row ") {
                seen = "row none"
                try await store.query("rows", key: stream) { row in
                    seen = "row \(row.json)"
                    return true
                }
            } else {
                let (version, _) = try versioned(wanted)
                let images = try store.read(name, at: version).map { "\($0.type) \($0.json)" }
                seen = "\(version) " + (images.isEmpty ? "nothing" : images.joined(separator: " + "))
            }
        } catch EvstoreError.noImage(let failure) {
            seen = "refused \(failure.pointer)"
        } catch EvstoreError.invalidEvent(_, _, let pointer, _) {
            seen = "invalid \(pointer)"
        }
        #expect(seen == wanted, "line \(line): \(text)")
    }

    private func versioned(_ text: String) throws -> (SchemaVersion, String) {
        let cut = try #require(text.firstIndex(of: " "), "\(text)")
        let number = try #require(Int(text[..<cut].dropFirst()), "\(text)")
        return (SchemaVersion(number), String(text[cut...].dropFirst()))
    }
}

@Suite("The page that says what each op does, exactly")
struct SemanticsTests {
    @Test("every example of the page is as it says, in each direction that it says", arguments: SemanticsExample.all)
    func example(_ example: SemanticsExample) async throws {
        #expect(!example.cases.isEmpty && !example.members.isEmpty)
        try await example.run()
    }

    @Test("the page has examples of every op on payloads and of every codec")
    func whole() throws {
        let text = try String(contentsOf: SemanticsExample.page, encoding: .utf8)
        #expect(SemanticsExample.all.count > 20)
        for word in [
            "add", "remove", "move", "copy", "wrap", "head", "unset", "convert", "split", "join", "compute", "each", "when", "allow",
            "merge-events", "add-event", "rename-event", "drop-event", "integer-text", "number-text", "boolean-text", "decimal",
            "epoch-seconds", "epoch-millis", "rfc3339-date", "local-time", "scale", "table",
        ] { #expect(text.contains("{\(word): ") || text.contains("using: \(word)"), "\(word)") }
    }

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
        #expect(try await store.replay(to: two, options: ReplayOptions(onError: .quarantine)).quarantined == 1)
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
        fails { try store.export(at: two) { _ in true } }
        #expect(try store.read(stream, at: two, limit: 1).map(\.json) == [#"{"n":1}"#])
        #expect(try store.read(stream, at: two, from: Revision(2)).map(\.json) == [#"{"n":3}"#])
        #expect(try store.read(stream, at: SchemaVersion(1)).map { "\($0.type) \($0.json)" }[1] == failed)
        var pages = store.subscribe(at: two).makeAsyncIterator()
        await #expect(throws: EvstoreError.self) { _ = try await pages.next() }
        #expect(pages.checkpoint == .start)
        var behind = store.subscribe(after: Checkpoint(epoch: .first, position: Position(2)), at: two).makeAsyncIterator()
        #expect(try await behind.next()?.map(\.json) == [#"{"n":3}"#])
    }
}
