import EventLog
import EventModel
import TestStores
import Testing

@testable import Migration

@Suite("Quarantine")
struct QuarantineTests {
    private func quarantined() async throws -> OrdersStore {
        let store = try OrdersStore(at: 2)
        try await store.place(1, born: 2)
        try await store.place(2, amount: "many", born: 2)
        _ = try await store.migrate(to: 3, MigrationOptions(onError: .quarantine))
        return store
    }

    @Test("a retry that helps nothing leaves everything as it is")
    func retry() async throws {
        let store = try await quarantined()
        let (state, generations) = (try store.state, store.generations)
        let report = try await Quarantine.retry(store.context())
        #expect(report.rebuilt.isEmpty && report.before == 2 && report.after == 2)
        #expect(try store.state == state)
        #expect(store.generations == generations)
    }

    @Test("a retry counts the events that came since, too")
    func newest() async throws {
        let store = try await quarantined()
        try await store.place(3, amount: "more", born: 2)
        let report = try await Quarantine.retry(store.context())
        #expect(report.rebuilt.isEmpty && report.before == 4 && report.after == 4)
        #expect(try Set(Quarantine.list(store.context(), at: SchemaVersion(3)).map(\.position)) == [Position(2), Position(3)])
    }

    @Test("one projection's events can be asked for, and an unknown projection is an error")
    func list() async throws {
        let store = try await quarantined()
        #expect(try Quarantine.list(store.context(), at: SchemaVersion(3), projection: "orders").map(\.position) == [Position(2)])
        #expect(throws: EvstoreError.self) { try Quarantine.list(store.context(), at: SchemaVersion(3), projection: "nothing") }
        #expect(try Quarantine.list(store.context(), at: SchemaVersion(2)).isEmpty)
    }

    @Test("the entries of one event are those that the whole list has of it")
    func position() async throws {
        let store = try OrdersStore(at: 2)
        for number in 1 ... 12 { try await store.place(number, amount: number % 3 == 0 ? "many" : "1", born: 2) }
        _ = try await store.migrate(to: 3, MigrationOptions(onError: .quarantine))
        let all = try Quarantine.list(store.context(), at: SchemaVersion(3))
        #expect(Set(all.map(\.position)) == Set([3, 6, 9, 12].map { Position($0) }))
        for position in [0, 1, 2, 3, 4, 6, 12, 13, UInt64.max].map({ Position($0) }) {
            let found = try Quarantine.list(store.context(), at: SchemaVersion(3), position: position)
            #expect(found == all.filter { $0.position == position })
        }
    }

    @Test("a strict replay does not keep read models that a lenient one built")
    func strictAfterLenient() async throws {
        let store = try OrdersStore(at: 2)
        try await store.place(1, amount: "many", born: 2)
        _ = try await store.migrate(to: 3, MigrationOptions(only: "orders", onError: .quarantine))
        await #expect(throws: EvstoreError.self) { try await store.migrate(to: 3) }
        #expect(try store.state.live == SchemaVersion(2))
    }

    @Test("after a rollback to a version at which a quarantined event has an image, its row is there")
    func back() async throws {
        let store = try await quarantined()
        _ = try await store.rollback()
        #expect(try store.row("2", of: "orders") == #"{"amount":"many","name":"ada","state":"open"}"#)
        #expect(try Quarantine.list(store.context(), at: SchemaVersion(2)).isEmpty)
    }

    @Test("building the read models that a new store lacks changes no version number, and does nothing where none is missing")
    func complete() async throws {
        let store = try OrdersStore(at: 3)
        try await store.place(1, born: 3)
        try await MissingGenerations.build(store.context(), at: SchemaVersion(3))
        #expect(try store.numbers == [3, 3, 3, 3])
        #expect(try store.row("1", of: "orders") == #"{"amount":100,"name":"ada","state":"open"}"#)
        let state = try store.state
        try await MissingGenerations.build(store.context(), at: SchemaVersion(3))
        #expect(try store.state == state)
        await #expect(throws: EvstoreError.self) { try await MissingGenerations.build(store.context(), at: SchemaVersion(5)) }
    }
}
