import EventLog
import EventModel
import EvstoreTesting
import Projections
import SchemaEvolution
import TestSupport
import Testing

@testable import Evstore

@Suite("A stream whose events a step merges", .timeLimit(.minutes(10)))
struct MergedStreamsTests {
    private static let streams = 4

    /// At version 1, which takes any event: some have no image at version 2.
    private func store(_ options: Options = .forTests) async throws -> TemporaryStore {
        let schemas = try SchemaFiles(MergeTests.v1, MergeTests.v2, projections: MergeTests.projections).load()
        return try await TemporaryStore.make(schemas, at: SchemaVersion(1), options: options)
    }

    private static func named(_ id: String, _ name: String = "N") throws -> NewEvent {
        try .event("item-\(id)", "Named", #"{"id":"\#(id)","name":"\#(name)"}"#, at: 1)
    }

    private static func priced(_ id: String) throws -> NewEvent {
        try .event("item-\(id)", "Priced", #"{"id":"\#(id)","price":1}"#, at: 1)
    }

    /// An append of events of several streams, which may need several blocks.
    private static func append(_ random: inout SeededGenerator) throws -> [NewEvent] {
        var events: [NewEvent] = []
        for _ in 0 ..< Int.random(in: 1 ... 60, using: &random) {
            let id = "\(Int.random(in: 0 ..< streams, using: &random))"
            if Bool.random(using: &random) {
                events.append(try priced(id))
            } else {
                events.append(try named(id, String(repeating: "n", count: Int.random(in: 1 ... 3_000, using: &random))))
            }
        }
        return events
    }

    /// The images of an event, or why it has none.
    private static func outcome(
        _ record: borrowing RecordView, _ converter: EventConverter, _ reader: borrowing LogReader
    ) throws -> String {
        var events: [RecordedEvent] = []
        do { try converter.read(record, reader, into: &events) } catch EvstoreError.noImage(let failure) { return "\(failure)" }
        return events.map { "\($0.position) \($0.revision) \($0.type) \($0.json)" }.joined(separator: "\n")
    }

    private static func converter(_ store: EventStore, in order: ReadOrder, _ reader: borrowing LogReader) throws -> EventConverter {
        let version = SchemaVersion(2)
        let history = try store.history(serving: version, store.evolving.history(reader))
        return try EventConverter(store, history, at: version, in: order)
    }

    /// What each event gives where the log is read from its first event to its last.
    private static func inOrder(_ store: EventStore, _ reader: borrowing LogReader) throws -> [Position: String] {
        let converter = try converter(store, in: .log, reader)
        var seen: [Position: String] = [:]
        try reader.blocks(from: Position(1)) { block in
            for index in block.indices {
                let record = block.record(index)
                seen[record.position] = try outcome(record, converter, reader)
            }
            return true
        }
        return seen
    }

    /// What each event of a stream gives where the stream is read.
    private static func alone(
        _ store: EventStore, _ stream: StreamName, backwards: Bool, _ reader: borrowing LogReader
    ) throws -> [Position: String] {
        let converter = try converter(store, in: .stream, reader)
        var seen: [Position: String] = [:]
        try reader.stream(stream, from: backwards ? Revision(.max) : .first, limit: .max, backwards: backwards) { record in
            seen[record.position] = try outcome(record, converter, reader)
            return true
        }
        return seen
    }

    @Test("its events are the same whether the log is read, the stream from either side, or one event after the other", arguments: 0 ..< 6)
    func alone(round: Int) async throws {
        let seed = UInt64.random(in: .min ... .max)
        var random = SeededGenerator(seed: seed)
        var options = Options.forTests
        // Every other store is sealed.
        if round % 2 == 1 { options.secret = .key([UInt8](repeating: 0x4d, count: 32)) }
        let temporary = try await store(options)
        let store = temporary.store
        // Appends that are made at once may be in one commit, and in one block.
        for _ in 0 ..< 10 {
            var appends: [[NewEvent]] = []
            for _ in 0 ..< Int.random(in: 1 ... 5, using: &random) { appends.append(try Self.append(&random)) }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for events in appends { group.addTask { _ = try await store.append(events) } }
                try await group.waitForAll()
            }
        }
        var positions = (1 ... (try store.last().position.rawValue)).map { Position($0) }
        positions.shuffle(using: &random)
        try store.log.read { reader in
            let wanted = try Self.inOrder(store, reader)
            #expect(wanted.count == positions.count, "seed \(seed)")
            for backwards in [false, true] {
                var seen: [Position: String] = [:]
                for number in 0 ..< Self.streams {
                    let stream = try StreamName("item-\(number)")
                    seen.merge(try Self.alone(store, stream, backwards: backwards, reader)) { first, _ in first }
                }
                #expect(seen == wanted, "seed \(seed)")
            }
            let single = try Self.converter(store, in: .stream, reader)
            for position in positions.prefix(200) {
                let seen = try reader.record(at: position) { record in try Self.outcome(record, single, reader) }
                #expect(seen == wanted[position], "seed \(seed)")
            }
        }
    }

    @Test("an append of a whole stream is seen as a stream, from either side, in pages of any size", arguments: [1, 7, 1_000])
    func long(page: Int) async throws {
        var options = Options.forTests
        options.pageEventsMax = page
        let temporary = try await store(options)
        var events: [NewEvent] = []
        for _ in 0 ..< 300 { events += [try Self.named("a"), try Self.priced("a")] }
        _ = try await temporary.store.append([try Self.named("a")])
        _ = try await temporary.store.append(events)
        _ = try await temporary.store.append([try Self.named("a")])
        let stream = try StreamName("item-a")
        let wanted: [UInt64] = [0] + (1 ... 300).map { UInt64(2 * $0) } + [601]
        let read = try temporary.store.read(stream, at: SchemaVersion(2)).map(\.revision.rawValue)
        #expect(read == wanted)
        let backwards = try temporary.store.read(stream, at: SchemaVersion(2), backwards: true).map(\.revision.rawValue)
        #expect(backwards == wanted.reversed())
    }

    @Test("a read with a limit does not meet the events behind it, in the log and in a stream, from either side")
    func limit() async throws {
        let temporary = try await store()
        let store = temporary.store
        // Without an image at version 2 on either side.
        _ = try await store.append([try Self.priced("a")])
        _ = try await store.append([try Self.named("a"), try Self.priced("a")])
        _ = try await store.append([try Self.priced("a")])
        let (stream, version) = (try StreamName("item-a"), SchemaVersion(2))
        for type in [nil, "Listed"] {
            for backwards in [false, true] {
                let from: UInt64 = backwards ? 3 : 2
                var found: [Position] = []
                try store.readAll(at: version, from: Position(from), limit: 1, backwards: backwards, matching: type.map { .type($0) }) {
                    event in
                    found.append(event.position)
                    return true
                }
                #expect(found == [Position(3)])
                let alone = try store.read(
                    stream, at: version, from: Revision(from - 1), limit: 1, backwards: backwards, matching: type.map { .type($0) })
                #expect(alone.map(\.position) == [Position(3)])
                #expect(throws: EvstoreError.self) {
                    try store.readAll(at: version, from: Position(from), limit: 2, backwards: backwards, matching: type.map { .type($0) }) {
                        _ in true
                    }
                }
            }
        }
    }
}
