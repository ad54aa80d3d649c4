import EventModel
import EvstoreTesting
import Projections
import SchemaEvolution
import Testing

@testable import Evstore

@Suite("Event viewers between reads")
struct EventViewerPoolTests {
    private let stream: StreamName

    init() throws { stream = try StreamName("order-7") }

    @Test("a read takes the viewer of the one before with the paths that it compiled; two at a time have one each")
    func kept() async throws {
        let temporary = try await Orders.store(events: [try Orders.placed("7", at: 1)])
        let (store, five) = (temporary.store, SchemaVersion(5))
        let history = try store.history
        let first = store.viewers.take(store.log, history, at: five)
        let second = store.viewers.take(store.log, history, at: five)
        #expect(first !== second)
        store.viewers.give(first, of: history)
        store.viewers.give(second, of: history)
        for _ in 0 ..< 3 { #expect(try store.read(stream, at: five).map(\.version) == [five]) }
        #expect(store.viewers.count == 2, "each read gives back what it took")
        let path = try second.path(type: "OrderPlaced", born: SchemaVersion(1))
        #expect(store.viewers.take(store.log, history, at: five) === second)
        #expect(try second.path(type: "OrderPlaced", born: SchemaVersion(1)) === path)
        #expect(store.viewers.take(store.log, history, at: SchemaVersion(4)) !== first, "another version has a viewer of its own")
        #expect(store.viewers.take(store.log, history.through(SchemaVersion(5)), at: five) === first)
        #expect(store.viewers.count == 0)
    }

    @Test("no more than sixteen are kept, and those that were used last")
    func bounded() async throws {
        let temporary = try await Orders.store()
        let (store, history) = (temporary.store, try temporary.store.history)
        let taken = (0 ..< 20).map { _ in store.viewers.take(store.log, history, at: SchemaVersion(5)) }
        for viewer in taken { store.viewers.give(viewer, of: history) }
        #expect(store.viewers.count == 16)
        #expect(store.viewers.take(store.log, history, at: SchemaVersion(5)) === taken[19])
    }
}
