import Evstore
import EvstoreTesting
import Testing

private let lacking = EvstoreError.programNeeded(what: "the step full-name (revision 1) of v2")
private let king = #"{"id":"1","full":"Ada King"}"#

@Suite("What events keep for older versions")
struct ShadowTests {
    /// A store at v2 with a person born at each version, and a handle of a program without the step.
    private func stores() async throws -> (TemporaryStore, Schemas, bare: EventStore) {
        let (temporary, schemas) = try await Persons.store(down: "shadow")
        _ = try await temporary.store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        _ = try await temporary.store.append([.event("person-1", "Named", king, at: 2)])
        return (temporary, schemas, try await temporary.open(schemas: schemas))
    }

    @Test("a program without the step reads, exports and rolls back what was born above it, as the code would have")
    func without() async throws {
        let (temporary, _, bare) = try await stores()
        let old = SchemaVersion(1)
        #expect(try bare.read(Persons.person, at: old).map(\.json) == temporary.store.read(Persons.person, at: old).map(\.json))
        #expect(try bare.read(Persons.person, at: old).last?.json == #"{"id":"1","first":"Ada","last":"King"}"#)
        let rolled = try await bare.rollback(to: old)
        #expect(rolled.tail == 1)
        #expect(try await Persons.name(bare, at: 1) == #"{"name":"Ada"}"#)
        let kept = try bare.projections(at: old).first { $0.name == "names" }?.digest
        let rebuilt = try await temporary.store.migrate(to: old, options: MigrationOptions(dryRun: true)).digests["names"]
        #expect(kept != nil && kept == rebuilt)
        let own = try await bare.migrate(to: old, options: MigrationOptions(dryRun: true)).digests["names"]
        #expect(own == rebuilt)
        let finding = try await temporary.store.maintenance.verify(deep: true, laws: true, seed: 5)
        #expect(finding.ok, "\(finding.findings.map(\.diagnosticLine))")
    }

    @Test("a program without the step is shown the same by every way of reading")
    func everyWay() async throws {
        let (temporary, _, bare) = try await stores()
        let old = SchemaVersion(1)
        func shown(_ store: EventStore) async throws -> [[String]] {
            var (all, lines): ([String], [UInt8]) = ([], [])
            try store.readAll(at: old) { event in
                all.append(event.json)
                return true
            }
            try await store.export(convertedTo: old) {
                lines += $0
                return true
            }
            let views = try (1 ... 3).flatMap { try store.view(Position($0), at: old) }.map(\.json)
            var pages = store.subscribe(at: old).pages.makeAsyncIterator()
            return [all, views, try #require(await pages.next()).map(\.json), [String(decoding: lines, as: UTF8.self)]]
        }
        let ways = try await shown(bare)
        #expect(ways == (try await shown(temporary.store)))
        for way in ways { #expect(way.last?.contains(#"{"id":"1","first":"Ada","last":"King"}"#) == true, "\(way)") }
    }

    @Test("what is kept stays what the code said at the append, whatever the code says later")
    func kept() async throws {
        let (temporary, schemas, _) = try await stores()
        let other = TypedStep("full-name", revision: 1, up: Persons.whole) { (_: Persons.Whole) in Persons.Parts(first: "Nobody", last: nil)
        }
        let changed = try await temporary.open(schemas: schemas, steps: [other])
        #expect(try changed.read(Persons.person, at: SchemaVersion(1)).last?.json.contains("King") == true)
    }

    @Test("an append that can't be shown to an older version is refused by a program that has the step and by one that has not")
    func gate() async throws {
        let (temporary, _, bare) = try await stores()
        let empty = try NewEvent.event("person-1", "Named", #"{"id":"1","full":""}"#, at: 2)
        await #expect { try await temporary.store.append([empty]) } throws: { ($0 as? EvstoreError)?.code == "noImage" }
        await #expect(throws: lacking) { try await bare.append([.event("person-1", "Named", king, at: 2)]) }
        #expect(try bare.last().position == Position(3))
    }

    @Test("nothing is kept once the older version is no longer promised")
    func finalized() async throws {
        let (temporary, schemas, _) = try await stores()
        _ = try await temporary.store.finalize(SchemaVersion(2))
        _ = try await temporary.store.append([.event("person-2", "Named", #"{"id":"2","full":"Alan"}"#, at: 2)])
        let bare = try await temporary.open(schemas: schemas)
        #expect(throws: lacking) { try bare.read(StreamName("person-2"), at: SchemaVersion(1)) }
        #expect(try bare.read(Persons.person, at: SchemaVersion(1)).count == 3, "what was kept before is still read")
        _ = try await bare.append([.event("person-2", "Named", #"{"id":"2","full":"Alan T"}"#, at: 2)])
    }

    @Test("imported events keep it too")
    func imported() async throws {
        let (temporary, _, bare) = try await stores()
        let line = #"{"stream":"person-3","type":"Named","version":2,"data":{"id":"3","full":"Grace Hopper"}}"#
        let file = try temporary.write(line + "\n", to: "lines.jsonl")
        _ = try await temporary.store.importLines(from: .file(file), as: SchemaVersion(2))
        #expect(try bare.read(StreamName("person-3"), at: SchemaVersion(1)).map(\.json) == [#"{"id":"3","first":"Grace","last":"Hopper"}"#])
    }

    @Test("the steps on either side of it run as ever, and hidden stays hidden")
    func between() async throws {
        let shapes = ["a: {type: integer}", "a: {type: integer}, b: {type: integer}", "c: {type: integer}, b: {type: integer}"]
        let required = ["[a]", "[a, b]", "[c, b]"]
        let steps = [
            "do: [{add: {path: /b, value: 5}}]",
            "do: [{swift: {id: rename, revision: 1, class: iso, reads: [/a], writes: [/a, /c], down: shadow}}]",
            "do: [{add: {path: /d, value: 1}}]\n  - add-event: {type: F, down: {hide: \"v3 has no F\"}}",
        ]
        let versions = (0 ..< 4).map { index in
            let base = index < 3 ? shapes[index] : shapes[2] + ", d: {type: integer}"
            let names = index < 3 ? required[index] : "[c, b, d]"
            let upcast = index == 0 ? "" : "upcast:\n  - on: E\n    \(steps[index - 1])\n"
            let more = index < 3 ? "" : "\n  F: {properties: {x: {type: string}}}"
            return "evstore: 1\nversion: \(index + 1)\n\(upcast)events:\n  E: {required: \(names), properties: {\(base)}}\(more)\n"
        }
        let files = try SchemaFiles(versions: versions)
        let schemas = try files.load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(4), from: SchemaVersion(1), steps: [Rename()])
        _ = try await temporary.store.append([.event("s-1", "E", #"{"c":7,"b":6,"d":1}"#, at: 4)])
        _ = try await temporary.store.append([.event("s-1", "F", #"{"x":"y"}"#, at: 4)])
        let bare = try await temporary.open(schemas: schemas)
        let stream = try StreamName("s-1")
        #expect(try bare.read(stream, at: SchemaVersion(3)).map(\.json) == [#"{"c":7,"b":6}"#])
        #expect(try bare.read(stream, at: SchemaVersion(2)).map(\.json) == temporary.store.read(stream, at: SchemaVersion(2)).map(\.json))
        #expect(try bare.read(stream, at: SchemaVersion(1)).map(\.json) == [#"{"a":7}"#])
    }
}

@Test("what keeps a shadow is merged on the way up and is its shadow on the way down, for who reads and for read models")
func shadowOfMerged() async throws {
    let (a, b) = ("required: [k, a], properties: {k: {type: string}, a: {type: integer}}", "b: {type: integer}")
    let c = a.replacing("a]", with: "c]").replacing("a:", with: "c:")
    let other = "B: {required: [k, b], properties: {k: {type: string}, \(b)}}"
    let schemas = try SchemaFiles(
        "evstore: 1\nversion: 1\nevents:\n  A: {\(a)}\n  \(other)\n",
        """
        evstore: 1
        version: 2
        upcast:
          - on: A
            do: [{swift: {id: rename, revision: 1, class: iso, reads: [/a], writes: [/a, /c], down: shadow}}]
        events:
          A: {\(c)}
          \(other)
        """,
        """
        evstore: 1
        version: 3
        upcast: [{merge-events: {types: [A, B], into: C, on: /k}}]
        events:
          C: {required: [k], properties: {k: {type: string}, c: {type: integer}, \(b)}}
        """,
        projections: """
            evstore: 1
            projections:
              sums:
                - {since: 1, key: /k, on: {A: {set: {/a: /a}}, B: {set: {/b: /b}}}}
                - {since: 2, key: /k, on: {A: {set: {/a: /c}}, B: {set: {/b: /b}}}}
                - {since: 3, key: /k, on: {C: {set: {/a: /c, /b: /b}}}}
            """
    ).load()
    let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(3), from: SchemaVersion(1), steps: [Rename()])
    let (bare, stream) = (try await temporary.open(schemas: schemas), try StreamName("s-1"))
    for version in 1 ... 3 { #expect(try await bare.count("sums", at: SchemaVersion(version)).rows == 0) }
    _ = try await temporary.store.append([
        .event("s-1", "A", #"{"k":"x","c":7}"#, at: 2), .event("s-1", "B", #"{"k":"x","b":8}"#, at: 2),
    ])
    let seen = try (1 ... 3).map { try bare.read(stream, at: SchemaVersion($0)).map(\.json) }
    #expect(
        seen == [[#"{"k":"x","a":7}"#, #"{"k":"x","b":8}"#], [#"{"k":"x","c":7}"#, #"{"k":"x","b":8}"#], [#"{"c":7,"k":"x","b":8}"#]])
    for version in 1 ... 3 {
        let row = try await bare.query("sums", at: SchemaVersion(version), key: "x")
        #expect(row?.json == #"{"a":7,"b":8}"#, "at v\(version)")
        let built = try await temporary.store.migrate(to: SchemaVersion(version), options: MigrationOptions(dryRun: true)).digests["sums"]
        #expect(try bare.projections(at: SchemaVersion(version)).first?.digest == built)
    }
}

private struct Rename: ReversibleSwiftStep {
    let id = "rename"
    let revision = 1

    func up(_ members: inout StepMembers) throws { try members.write("/c", members.read("/a", as: Int.self)) }
    func down(_ members: inout StepMembers) throws { try members.write("/a", members.read("/c", as: Int.self)) }
}
