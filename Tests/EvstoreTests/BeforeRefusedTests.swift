import EventModel
import Evstore
import EvstoreTesting
import TestSupport
import Testing

@Suite("Events before one that can't be shown", .timeLimit(.minutes(10)))
struct BeforeRefusedTests {
    private static let v2 = SchemaVersion(2)
    private static let versions = [
        "evstore: 1\nversion: 1\nevents: {E: {required: [n], properties: {n: {type: string}}}}",
        """
        evstore: 1
        version: 2
        upcast: [{on: E, do: [{convert: {path: /n, to: integer, using: integer-text}}]}]
        events: {E: {required: [n], properties: {n: {type: integer}}}}
        """,
    ]

    /// A store whose events at some positions have no image at version 2, in pages of a few events.
    private func store(_ random: inout SeededGenerator) async throws -> (TemporaryStore, refused: Set<UInt64>) {
        var options = Options.forTests
        options.pageEventsMax = Int.random(in: 1 ... 9, using: &random)
        let schemas = try SchemaFiles(versions: Self.versions).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1), options: options)
        var refused: Set<UInt64> = []
        for position in 1 ... 30 as ClosedRange<UInt64> {
            let isRefused = Int.random(in: 0 ..< 6, using: &random) == 0
            if isRefused { refused.insert(position) }
            _ = try await temporary.store.append([.event("s", "E", #"{"n":"\#(isRefused ? "x" : "1")"}"#)])
        }
        _ = try await temporary.store.migrate(to: Self.v2, options: MigrationOptions(onError: .quarantine, yes: true))
        return (temporary, refused)
    }

    /// The positions that a way of reading gives until it fails; the end where it does not.
    private func positions(_ read: (inout [UInt64]) async throws -> Void) async throws -> [UInt64] {
        var found: [UInt64] = []
        do { try await read(&found) } catch let error as EvstoreError { #expect(error.code == "noImage", "\(error)") }
        return found
    }

    @Test("every way of reading gives all events before the first one that can't be shown")
    func before() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        for _ in 0 ..< rounds(6) {
            let (temporary, refused) = try await store(&random)
            let (store, stream) = (temporary.store, try StreamName("s"))
            let start = UInt64.random(in: 1 ... 30, using: &random)
            let upwards = (start ... 30).prefix { !refused.contains($0) }
            let downwards = (1 ... start).reversed().prefix { !refused.contains($0) }
            let (from, revision) = (Position(start), Revision(start - 1))
            for backwards in [false, true] {
                let expected = backwards ? Array(downwards) : Array(upwards)
                let ways: [(inout [UInt64]) async throws -> Void] = [
                    { found in try store.readAll(from: from, backwards: backwards) { event in note(event, in: &found) } },
                    { found in try store.read(stream, from: revision, backwards: backwards) { event in note(event, in: &found) } },
                    { found in for try await event in store.events(from: from, backwards: backwards) { _ = note(event, in: &found) } },
                    { found in
                        let events = store.events(in: stream, from: revision, backwards: backwards)
                        for try await event in events { _ = note(event, in: &found) }
                    },
                ]
                for (index, way) in ways.enumerated() {
                    #expect(try await positions(way) == expected, "seed \(seed), way \(index), from \(start), backwards \(backwards)")
                }
            }
            let lines = try await positions { found in
                try await store.export(convertedTo: Self.v2, from: from) { text in
                    found += text.filter { $0 == UInt8(ascii: "\n") }.indices.map { start + UInt64($0) }
                    return true
                }
            }
            #expect(lines == Array(upwards), "seed \(seed), an export from \(start)")
        }
    }

    @Test("who goes on behind each event that can't be shown gets all others")
    func goingOn() async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        let (temporary, refused) = try await store(&random)
        var (found, next): ([UInt64], UInt64) = ([], 1)
        while next <= 30 {
            let more = try await positions { found in
                try temporary.store.readAll(from: Position(next)) { event in note(event, in: &found) }
            }
            found += more
            next = (more.last ?? next - 1) + 2
        }
        #expect(found == (1 ... 30).filter { !refused.contains($0) }, "seed \(seed)")
    }
}

private func note(_ event: RecordedEvent, in found: inout [UInt64]) -> Bool {
    found.append(event.position.rawValue)
    return true
}
