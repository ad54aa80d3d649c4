import Evstore
import EvstoreTesting
import Synchronization
import Testing

@Suite("An error of a caller's closure is thrown on unchanged")
struct CallerErrorTests {
    struct Own: Error, Equatable { var number: Int }

    struct Paid: Event {
        static let type = "OrderPaid"
        static let version = SchemaVersion(1)
        var id: String
        var method: String
    }

    /// Gives bytes up to a place where it fails.
    final class Source: Sendable {
        let bytes: [UInt8]
        let failsAt: Int
        let given = Mutex(0)

        init(bytes: [UInt8], failsAt: Int) { (self.bytes, self.failsAt) = (bytes, failsAt) }

        func take(_ count: Int) throws -> [UInt8] {
            try given.withLock { given in
                if given + count > failsAt { throw Own(number: 2) }
                defer { given += count }
                return Array(bytes[given ..< given + count])
            }
        }
    }

    func store() async throws -> TemporaryStore {
        try await Orders.store(events: [
            try Orders.placed("1", at: 1), try .event("order-1", "OrderPaid", #"{"id":"1","method":"card"}"#, at: 1),
        ])
    }

    @Test("of reads, in both directions, of all events and of a stream")
    func reads() async throws {
        let temporary = try await store()
        let store = temporary.store
        for backwards in [false, true] {
            #expect(throws: Own(number: 1)) { try store.readAll(backwards: backwards) { _ in throw Own(number: 1) } }
            #expect(throws: Own(number: 2)) {
                try store.read(StreamName("order-1"), limit: nil, backwards: backwards) { _ in throw Own(number: 2) }
            }
        }
        #expect(throws: CancellationError.self) { try store.readAll { _ in throw CancellationError() } }
        #expect(throws: EvstoreError.usage("mine")) { try store.readAll { _ in throw EvstoreError.usage("mine") } }
    }

    @Test("of handlers and of folds")
    func handlers() async throws {
        let temporary = try await store()
        let store = temporary.store
        let handlers = try EventHandlers { EventHandler(Paid.self) { _, _ in throw Own(number: 1) } }
        #expect(throws: Own(number: 1)) { try store.read(StreamName("order-1"), with: handlers) }
        let fold = try StreamFold("paid", revision: 1, initial: 0) { StateHandler(Paid.self) { _, _, _ in throw Own(number: 2) } }
        #expect(throws: Own(number: 2)) { try store.state(of: StreamName("order-1"), fold) }
    }

    @Test("of queries, with and without a key, and of what differs between versions")
    func queries() async throws {
        let temporary = try await store()
        let store = temporary.store
        for key in [nil, "1"] {
            await #expect(throws: Own(number: 1)) { try await store.query("orders", key: key) { _ in throw Own(number: 1) } }
            await #expect(throws: Own(number: 2)) {
                try await store.diff("orders", a: SchemaVersion(4), b: SchemaVersion(5), key: key) { _ in throw Own(number: 2) }
            }
        }
    }

    @Test("of exports, by one thread and by several")
    func exports() async throws {
        let temporary = try await store()
        let store = temporary.store
        await #expect(throws: Own(number: 1)) { try await store.export { _ in throw Own(number: 1) } }
        var lines = ""
        for number in 10 ..< 4_200 {
            lines += #"{"stream":"order-\#(number)","type":"OrderPaid","data":{"id":"\#(number)","method":"card"}}"# + "\n"
        }
        let directory = try TemporaryDirectory()
        _ = try await store.importLines(from: .file(try directory.write(lines, to: "lines.jsonl")), as: SchemaVersion(1))
        await #expect(throws: Own(number: 2)) { try await store.export { _ in throw Own(number: 2) } }
    }

    @Test("of what a backup is given to and of what a restore takes from")
    func backups() async throws {
        let temporary = try await store()
        let store = temporary.store
        await #expect(throws: Own(number: 1)) { try await store.maintenance.backUp { _ in throw Own(number: 1) } }
        var whole: [UInt8] = []
        _ = try await store.maintenance.backUp { whole += $0 }
        let directory = try TemporaryDirectory()
        for failsAt in [0, whole.count / 2] {
            let source = Source(bytes: whole, failsAt: failsAt)
            await #expect(throws: Own(number: 2)) {
                try await StoreMaintenance.restore(named: "mine", into: directory.path + "/restored", options: .forTests) {
                    try source.take($0)
                }
            }
        }
    }

    @Test("of a loop over a subscription")
    func subscriptions() async throws {
        let temporary = try await store()
        let store = temporary.store
        await #expect(throws: Own(number: 1)) { for try await _ in store.subscribe() { throw Own(number: 1) } }
    }
}
