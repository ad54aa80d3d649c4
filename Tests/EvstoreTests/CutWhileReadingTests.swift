import EventLog
import EventModel
import EvstoreTesting
import SchemaEvolution
import Testing

@testable import Evstore

@Suite("A cut while somebody reads")
struct CutWhileReadingTests {
    /// A store of six events of one stream, with a snapshot behind the third, whose pages hold two events.
    private func store() async throws -> TemporaryStore {
        var options = Options.forTests
        options.pageEventsMax = 2
        let temporary = try await TemporaryStore.make(try Orders.schemas(1), options: options)
        for _ in 0 ..< 3 { _ = try await temporary.store.append([try Orders.placed("1", at: 1)]) }
        _ = try await temporary.store.takeSnapshot("here")
        for _ in 3 ..< 6 { _ = try await temporary.store.append([try Orders.placed("1", at: 1)]) }
        return temporary
    }

    private func cut(_ store: EventStore) async throws {
        _ = try await store.rollback(toSnapshot: "here", discardTail: true)
        _ = try await store.append([try Orders.placed("1", at: 1)])
    }

    private func isCutAtThree(_ error: any Error) -> Bool {
        if case EvstoreError.epochChanged(_, let cut) = error { cut.position == Position(3) } else { false }
    }

    private func cursor(_ store: EventStore, from: Position? = nil, backwards: Bool) throws -> (EventCursor, EventConverter, Checkpoint) {
        let evolution = try store.evolving.current()
        let converter = try EventConverter(store, evolution.history, at: 1)
        let cursor = EventCursor(store, through: evolution.last, from: from, backwards: backwards, limit: nil)
        return (cursor, converter, evolution.last)
    }

    @Test("a read of the whole log, in either direction, fails where a cut removed events that it has returned", arguments: [false, true])
    func log(backwards: Bool) async throws {
        let temporary = try await store()
        let store = temporary.store
        var (cursor, reader, end) = try cursor(store, backwards: backwards)
        for _ in 0 ..< (backwards ? 1 : 2) { #expect(try cursor.page(reader, through: end).count == 2) }
        try await cut(store)
        #expect { try cursor.page(reader, through: end) } throws: { isCutAtThree($0) }
    }

    @Test("a read that has returned only events before the cut goes on, in either direction", arguments: [false, true])
    func kept(backwards: Bool) async throws {
        let temporary = try await store()
        let store = temporary.store
        var (cursor, reader, end) = try cursor(store, from: Position(backwards ? 3 : 1), backwards: backwards)
        #expect(try cursor.page(reader, through: end).map(\.position.rawValue) == (backwards ? [3, 2] : [1, 2]))
        try await cut(store)
        #expect(try cursor.page(reader, through: end).map(\.position.rawValue) == (backwards ? [1] : [3, 4]))
    }

    @Test("a read of a stream, in either direction, fails where a cut removed events that it has returned", arguments: [false, true])
    func stream(backwards: Bool) async throws {
        let temporary = try await store()
        let store = temporary.store
        let reader = try EventConverter(store, store.history, at: 1)
        var cursor = EventCursor(store, of: try StreamName("order-1"), backwards: backwards)
        for _ in 0 ..< (backwards ? 1 : 2) { _ = try cursor.page(reader) }
        try await cut(store)
        #expect { try cursor.page(reader) } throws: { isCutAtThree($0) }
    }

    @Test("a sequence of events that a cut has shortened ends with the error, never as if it were whole", arguments: [false, true])
    func sequence(ofStream: Bool) async throws {
        let temporary = try await store()
        let store = temporary.store
        var events = (ofStream ? store.events(in: try StreamName("order-1")) : store.events()).makeAsyncIterator()
        for position in 1 ... 4 { #expect(try await events.next()?.position == Position(UInt64(position))) }
        try await cut(store)
        await #expect { while try await events.next() != nil {} } throws: { isCutAtThree($0) }
    }
}
