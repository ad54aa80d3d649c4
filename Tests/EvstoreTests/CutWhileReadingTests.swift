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

    @Test("a read of the whole log, in either direction, fails where a cut removed events that it has returned", arguments: [false, true])
    func log(backwards: Bool) async throws {
        let temporary = try await store()
        let store = temporary.store
        let evolution = try store.evolving.current()
        let eventReader = try EventReader(store, evolution.history, at: SchemaVersion(1))
        var pages = LogPages(eventReader, through: evolution.last, from: nil, limit: nil, backwards: backwards)
        for _ in 0 ..< (backwards ? 1 : 2) { #expect(try pages.next()?.count == 2) }
        try await cut(store)
        #expect { try pages.next() } throws: { isCutAtThree($0) }
    }

    @Test("a read that has returned only events before the cut goes on, in either direction", arguments: [false, true])
    func kept(backwards: Bool) async throws {
        let temporary = try await store()
        let store = temporary.store
        let evolution = try store.evolving.current()
        let eventReader = try EventReader(store, evolution.history, at: SchemaVersion(1))
        var pages = LogPages(eventReader, through: evolution.last, from: Position(backwards ? 3 : 1), limit: nil, backwards: backwards)
        #expect(try pages.next()?.map(\.position.rawValue) == (backwards ? [3, 2] : [1, 2]))
        try await cut(store)
        #expect(try pages.next()?.map(\.position.rawValue) == (backwards ? [1] : [3, 4]))
    }

    @Test("a read of a stream, in either direction, fails where a cut removed events that it has returned", arguments: [false, true])
    func stream(backwards: Bool) async throws {
        let temporary = try await store()
        let store = temporary.store
        let eventReader = try EventReader(store, store.history, at: SchemaVersion(1))
        var place = StreamPlace(try StreamName("order-1"), backwards: backwards, limit: 2)
        for _ in 0 ..< (backwards ? 1 : 2) { _ = try store.log.read { try store.page(at: &place, eventReader, $0) } }
        try await cut(store)
        #expect { try store.log.read { try store.page(at: &place, eventReader, $0) } } throws: { isCutAtThree($0) }
    }
}
