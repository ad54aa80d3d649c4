import Evstore
import EvstoreTesting
import TestSupport
import Testing

/// Consumers in what is made of a store.
@Suite("Copies of consumers", .timeLimit(.minutes(10)))
struct ConsumerCopiesTests {
    @Test("a backup and a salvage keep the place and what is parked")
    func copies() async throws {
        let temporary = try await Orders.store(at: 1, events: (0 ..< 6).map { try Orders.placed("\($0)", at: 1) })
        let store = temporary.store
        var options = ConsumerOptions()
        (options.retry, options.endsAtLogEnd) = (RetryPolicy(attemptsMax: 1), true)
        try await store.consume("mailer", options: options) { event, _ in if event.position == Position(2) { throw CancellationError() } }
        let directory = try TemporaryDirectory()
        func expectKept(_ path: String, _ what: String) async throws {
            let copy = try await EventStore.open(path, options: .forTests)
            #expect(try copy.consumers().map(\.place.position) == [Position(6)], "\(what)")
            #expect(try copy.parked(of: "mailer").map(\.position) == [Position(2)], "\(what)")
            try await copy.close()
        }
        _ = try await store.maintenance.backUp(into: directory.path + "/backups")
        _ = try await StoreMaintenance.restore(from: directory.path + "/backups", into: directory.path + "/restored")
        try await expectKept(directory.path + "/restored", "a backup")
        try await store.close()
        _ = try await StoreMaintenance.salvage(temporary.path, into: directory.path + "/salvaged")
        try await expectKept(directory.path + "/salvaged", "a salvage")
    }

    @Test("recipher keeps them too, and in a sealed store nothing of an event is in the reason")
    func recipher() async throws {
        let directory = try TemporaryDirectory()
        var options = Options.forTests
        options.secret = .key(Array(repeating: 7, count: 32))
        let store = try await EventStore.create(directory.store, schemas: try Orders.schemas(1), options: options)
        for number in 0 ..< 3 { _ = try await store.append([try Orders.placed("\(number)", at: 1)]) }
        var consuming = ConsumerOptions()
        (consuming.retry, consuming.endsAtLogEnd) = (RetryPolicy(attemptsMax: 1), true)
        struct Told: Error, CustomStringConvertible { var description: String }
        try await store.consume("mailer", options: consuming) { event, _ in
            if event.position == Position(2) { throw Told(description: String(decoding: event.payload, as: UTF8.self)) }
        }
        #expect(try store.parked(of: "mailer").map(\.error) == ["Told"])
        let findings = try await store.maintenance.verify(deep: true).findings
        #expect(findings.filter { $0.severity == .error } == [])
        _ = try await store.maintenance.recipher(into: directory.path + "/other", secret: .key(Array(repeating: 9, count: 32)))
        try await store.close()
        options.secret = .key(Array(repeating: 9, count: 32))
        let other = try await EventStore.open(directory.path + "/other", options: options)
        #expect(try other.consumers().map(\.place.position) == [Position(3)])
        #expect(try other.parked(of: "mailer").map(\.position) == [Position(2)])
        try await other.close()
    }
}
