import EventLog
import EventModel
import Foundation
import Projections
import SchemaEvolution
import Synchronization
import TestStores
import Testing

@testable import Migration

/// Counts what it has seen in a memory of its own, so that no two builds give the same rows.
private final class Moody: SwiftProjection {
    typealias Row = [String: Int]

    let name = "moody"
    let since = SchemaVersion(1)
    let revision = 1
    let consumes: Set = ["OrderPlaced"]
    private let seen = Mutex(0)

    func keys(of event: RecordedEvent) throws -> [String] { [event.stream.text] }

    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws {
        row = seen.withLock { seen in
            seen += 1
            return ["seen": seen]
        }
    }
}

/// Keeps the version that its events are seen at, by which no two versions can share it.
private struct Dated: SwiftProjection {
    typealias Row = [String: Int]

    let name = "dated"
    let since = SchemaVersion(1)
    let revision = 1
    let consumes: Set = ["OrderPaid"]

    func keys(of event: RecordedEvent) throws -> [String] { [event.stream.text] }

    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws { row = ["seenAt": event.version.number] }
}

@Suite("The laws of read models")
struct ReplayLawsTests {
    @Test("replays in other chunks and a following in several parts give the digest that the store has")
    func hold() async throws {
        let store = try OrdersStore()
        for order in 1 ... 200 { try await store.place(order, amount: "\(order)", born: 1) }
        _ = try await store.migrate(to: 5)
        var laws = try ReplayLaws(store.context())
        let state = try store.state
        try laws.check(state, at: state.live)
        #expect(laws.findings.isEmpty && laws.events == 200)
        let models = UInt64(try GenerationSet.registered(store.context(), at: state.live, state).entries.count)
        #expect(laws.tally.counts["L6"]?.tried == models)
        #expect(laws.tally.counts["L7"]?.tried == 2 * models, "followed, and as the store has it")
    }

    @Test("L6 and L7 find a projection that depends on more than its events, and name it")
    func moody() async throws {
        let store = try OrdersStore()
        for order in 1 ... 20 { try await store.place(order, born: 1) }
        let context = MigrationContext(
            VersionedLog(store.log, swiftProjections: [Moody()]), options: store.log.options, Job("verify"))
        var laws = try ReplayLaws(context)
        try laws.check(try store.state, at: SchemaVersion(1))
        #expect(laws.tally.counts["L6"]?.failed == 1 && laws.tally.counts["L7"]?.failed == 1)
        #expect(laws.findings.map(\.id) == ["LAW103", "LAW103"])
        #expect(laws.findings.allSatisfy { $0.severity == .error && $0.message.contains("moody at v1") })
    }

    @Test("L7 finds a read model that promised versions share and that has other rows at each")
    func shared() async throws {
        let store = try OrdersStore(knowing: 3)
        for order in 1 ... 3 { try await store.pay(order, born: 1) }
        _ = try await store.migrate(to: 3)
        var laws = try ReplayLaws(store.context())
        try laws.checkShared(try store.state)
        #expect(laws.findings.isEmpty)
        #expect(laws.tally.counts["L7"]?.tried == 2, "methods, built at versions 1, 2 and 3")
        let dated = MigrationContext(
            VersionedLog(store.log, swiftProjections: [Dated()]), options: store.log.options, Job("verify"))
        laws = try ReplayLaws(dated)
        try laws.checkShared(try store.state)
        #expect(laws.findings.map(\.id) == ["LAW103", "LAW103"])
        #expect(laws.findings.allSatisfy { $0.message.contains("dated at v") && $0.message.contains("shared with v1") })
    }

    @Test("the laws compare a read model as the store has it, also where it lags behind the log")
    func behind() async throws {
        let store = try OrdersStore()
        for order in 1 ... 4 { try await store.place(order, born: 1) }
        _ = try await store.migrate(to: 2)
        try await store.place(5, born: 2)
        var laws = try ReplayLaws(store.context())
        let state = try store.state
        try laws.check(state, at: state.live)
        let models = UInt64(try GenerationSet.registered(store.context(), at: state.live, state).entries.count)
        #expect(laws.findings.isEmpty && laws.tally.counts["L7"]?.tried == 2 * models, "followed, and as the store has it")
    }

    @Test("a verification that is cancelled while it builds read models says what to run again, and leaves nothing behind")
    func cancelled() async throws {
        let store = try OrdersStore()
        for order in 1 ... 20 { try await store.place(order, born: 1) }
        let job = Job("verify")
        job.cancel()
        var laws = try ReplayLaws(store.context(job))
        #expect { try laws.check(try store.state, at: SchemaVersion(1)) } throws: {
            if case EvstoreError.interrupted = $0 { true } else { false }
        }
        #expect(try FileManager.default.contentsOfDirectory(atPath: store.directory + "/store/scratch").isEmpty)
    }
}
