import Evstore
import EvstoreTesting
import Foundation
import TestSupport
import Testing

@Suite("Views: lazily, one stream, everything")
struct ViewTests {
    @Test("one event, one stream and the log are seen at a version, counted, and nothing changes")
    func views() async throws {
        let temporary = try await Orders.store(
            at: 5, events: [Orders.placed("1", at: 1), Orders.placed("1", at: 3), Orders.placed("2", at: 5)])
        defer { withExtendedLifetime(temporary) {} }
        let store = temporary.store
        #expect(
            try store.view(Position(1), at: SchemaVersion(2)).map(\.json) == [#"{"id":"1","customer":"Ann","cents":100,"currency":"USD"}"#])
        let stream = try await store.maintenance.checkConversion(of: StreamName("order-1"))
        #expect((stream.events, stream.images, stream.converted, stream.failed) == (2, 2, 2, 0))
        #expect(stream.duration > .zero)
        let all = try await store.maintenance.checkConversion(at: SchemaVersion(3))
        #expect((all.events, all.images, all.converted, all.hidden) == (3, 3, 2, 0))
        #expect(try await store.maintenance.checkConversion(of: StreamName("order-9")).events == 0)
    }

    @Test("what a version hides is counted, and what it can't show is listed")
    func failures() async throws {
        let temporary = try await Orders.store(
            at: 5, from: 5,
            events: [
                .event("order-1", "OrderVoided", #"{"id":"1"}"#), .event("order-1", "PaymentCaptured", #"{"id":"1","method":"coins"}"#),
            ])
        let report = try await temporary.store.maintenance.checkConversion(at: SchemaVersion(3))
        #expect((report.events, report.hidden, report.failed) == (2, 1, 1))
        #expect(report.failures.map(\.position) == [Position(2)])
    }
}

@Suite("Migration tests and golden fixtures")
struct MigrationTestTests {
    private func prepared() throws -> (TemporaryDirectory, Schemas) {
        let directory = try TemporaryDirectory()
        for (index, text) in ShopHistory.released.enumerated() {
            try directory.write(text, to: "v\(index + 1).yaml")
        }
        try directory.write(ShopHistory.projections(), to: "projections.yaml")
        return (directory, try Schemas.load(directory.path))
    }

    private let line = #"{"stream":"order-1","type":"OrderPlaced","data":{"id":"1","customer":"Ann","total":100}}"# + "\n"

    @Test("a store of a released version is made from fixtures, migrated, and taken back")
    func migration() async throws {
        let (directory, schemas) = try prepared()
        try directory.write(line, to: "fixtures/v1/events.jsonl")
        let test = try await MigrationTest(schemas, from: SchemaVersion(1))
        #expect(test.events == 1)
        let report = try await test.migrate()
        #expect(report.to == SchemaVersion(5))
        #expect(
            try test.store.read(StreamName("order-1")).map(\.json) == [#"{"id":"1","cents":"100","currency":"USD","buyer":{"name":"Ann"}}"#]
        )
        try await test.goBackAndCompare()
        #expect(try test.store.versions.live == SchemaVersion(1))
    }

    /// Counts orders, as it is written for events of a version.
    private struct Counting: SwiftProjection {
        struct Row: Codable { var count: Int }
        let name = "counts"
        let since: SchemaVersion
        let revision = 1
        let consumes: Set<String> = ["OrderPlaced"]

        func keys(of event: RecordedEvent) throws -> [String] { [event.stream.text] }

        func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws { row = Row(count: (row?.count ?? 0) + 1) }
    }

    @Test("a way back that production refuses for a Swift projection of the older program is refused here, and says how it goes")
    func releasedProjections() async throws {
        let (directory, schemas) = try prepared()
        try directory.write(line, to: "fixtures/v1/events.jsonl")
        let (old, new) = (Counting(since: SchemaVersion(1)), Counting(since: SchemaVersion(2)))
        let silent = try await MigrationTest(schemas, from: SchemaVersion(1), projections: [new])
        try await silent.migrate(to: SchemaVersion(2))
        await #expect(throws: ScenarioFailure.self) { try await silent.goBackAndCompare() }
        let test = try await MigrationTest(schemas, from: SchemaVersion(1), projections: [new], releasedProjections: [old])
        try await test.migrate(to: SchemaVersion(2))
        _ = try await test.store.append([try Orders.placed("2", at: 2)])
        await #expect {
            try await test.goBackAndCompare()
        } throws: { error in
            guard let error = error as? EvstoreError else { return false }
            return error.code == "programNeeded" && error.message.contains("the projection counts (since: 1) of v1")
                && error.fix?.hasSuffix(
                    #"; or leave what is lacking behind until a program that has it opens the store: rollback(without: ["counts"])"#)
                    == true
        }
        #expect(try test.store.versions.live == SchemaVersion(2))
        try await test.goBackAndCompare(without: ["counts"])
        #expect(try test.store.versions.live == SchemaVersion(1))
        let both = try await MigrationTest(schemas, from: SchemaVersion(1), projections: [old, new], releasedProjections: [old])
        try await both.migrate(to: SchemaVersion(2))
        try await both.goBackAndCompare()
    }

    @Test("a migration of nothing is refused")
    func nothing() async throws {
        let (_, schemas) = try prepared()
        await #expect(throws: ScenarioFailure.self) { try await MigrationTest(schemas, from: SchemaVersion(1)) }
    }

    @Test("a golden file is recorded only when asked, and one of a released version never again")
    func golden() throws {
        let (directory, schemas) = try prepared()
        let golden = GoldenFixtures(schemas)
        #expect(throws: ScenarioFailure.self) { try golden.check(line, is: "events.jsonl", of: SchemaVersion(1)) }
        try golden.check(line, is: "events.jsonl", of: SchemaVersion(1), isRecording: true)
        try golden.check(line, is: "events.jsonl", of: SchemaVersion(1))
        #expect(throws: ScenarioFailure.self) { try golden.check(line + line, is: "events.jsonl", of: SchemaVersion(1), isRecording: true) }
        let kept = try String(contentsOfFile: directory.path + "/fixtures/v1/events.jsonl", encoding: .utf8)
        #expect(kept == line)
        // Version 5 is not released.
        try golden.check(line, is: "events.jsonl", of: SchemaVersion(5), isRecording: true)
        try golden.check(line + line, is: "events.jsonl", of: SchemaVersion(5), isRecording: true)
        #expect(try golden.files(of: SchemaVersion(5)).count == 1)
    }

    @Test("an upcaster in one sentence: given the old event, then the new Swift value")
    func scenario() async throws {
        struct Placed: Event, Equatable {
            struct Buyer: Codable, Equatable { var name: String }
            static let type = "OrderPlaced"
            static let version = SchemaVersion(5)
            var id: String
            var buyer: Buyer
            var cents: String
            var currency: String
        }
        try await Scenario(try Orders.schemas(), at: SchemaVersion(5))
            .given(Orders.placed("1", at: 1))
            .then("order-1", last: Placed(id: "1", buyer: .init(name: "Ann"), cents: "100", currency: "USD"))
            .then("orders", key: "1", row: ["customer": "Ann", "total": "100", "state": "open"])
    }
}
