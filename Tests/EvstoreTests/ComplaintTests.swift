import EventLog
import EventModel
import EvstoreTesting
import Foundation
import Migration
import TestSupport
import Testing

@testable import Evstore

@Suite("What makes a store unwell")
struct ComplaintTests {
    /// One of each; the test of the page finds a case that is missing here.
    static let samples: [Complaint] = [
        .replaced(path: "s"), .diskFull(reason: "r0"), .readOnly(path: "s"), .forked(reason: "r1"), .takenOut(node: "a", log: "l"),
        .twin(node: "a"),
        .clusterUnreachable(reason: "r", for: .seconds(1)), .drillFailed(at: .now),
        .consumerFailing("c", at: Position(1), reason: "r"), .consumerCutOff("c", seen: Position(2), cut: Position(1)),
        .longReader(OldestReader(process: 7, commitsBehind: 10_001)),
        .parked(consumer: "c", events: 2), .quarantined(events: 1, readModels: ["a", "b"]),
    ]

    @Test("the table of Operating has each, with the exit code of its weight")
    func page() throws {
        let source = try Checkout.text("Sources/Evstore/Complaint.swift")
        let declaration = try #require(source.firstMatch(of: #/enum Complaint[\s\S]*?public enum Weight/#)).0
        let cases = declaration.matches(of: #/\n    case ([A-Za-z]+)\(/#).map { String($0.1) }
        let rows = try DocPage("Operating").rows().filter { $0.count == 4 && cases.contains($0[0].filter { $0 != "`" }) }
        #expect(rows.map { $0[0].filter { $0 != "`" } } == cases && Self.samples.map(\.code) == cases)
        let exits: [Complaint.Weight: String] = [.failing: "1", .waiting: "4", .leftOut: "8"]
        #expect(rows.map { $0[2] } == Self.samples.map { exits[$0.weight] ?? "" })
        #expect(Set(Self.samples.map(\.message)).count == cases.count && Self.samples.allSatisfy { !"\($0.advice)".isEmpty })
    }

    private static let schemas = Result {
        try SchemaFiles(
            "evstore: 1\nversion: 1\nevents: {E: {properties: {a: {type: string}, b: {type: string}}}}\n",
            projections: """
                evstore: 1
                projections:
                  p: [{since: 1, key: /a, on: {E: {add: {/n: {value: 1}}}}}]
                  q: [{since: 1, key: /b, on: {E: {add: {/n: {value: 1}}}}}]
                """
        ).load()
    }

    @Test("an event that several read models have in quarantine counts once, whoever counts")
    func quarantine() async throws {
        var random = SeededGenerator.announced()
        for _ in 0 ..< 5 {
            let temporary = try await TemporaryStore.make(Self.schemas.get(), at: SchemaVersion(1))
            let store = temporary.store
            var lacking: UInt64 = 0
            var rows = 0
            for _ in 0 ..< Int.random(in: 1 ... 20, using: &random) {
                let members = ["a", "b"].filter { _ in Bool.random(using: &random) }
                lacking += members.count < 2 ? 1 : 0
                rows += 2 - members.count
                let payload = members.map { "\"\($0)\":\"1\"" }.joined(separator: ",")
                _ = try await store.append([.event("s", "E", "{\(payload)}", at: 1)])
            }
            for model in ["p", "q"] { _ = try await store.count(model) }
            let status = try store.status()
            #expect(status.quarantined == lacking && status.healthy == (lacking == 0))
            _ = try await store.append([.event("s", "E", "{}", at: 1)])
            for model in ["p", "q"] { _ = try await store.count(model) }
            (lacking, rows) = (lacking + 1, rows + 2)
            for _ in 0 ..< 2 { #expect(try store.status().quarantined == lacking) }
            #expect(try store.quarantine().count == rows)
            #expect(try await store.plan(to: SchemaVersion(1)).quarantined == lacking)
            let replayed = try await store.migrate(to: SchemaVersion(1), options: MigrationOptions(dryRun: true, onError: .quarantine))
            #expect(replayed.quarantined == lacking)
            #expect(try await store.maintenance.retryQuarantine().before == UInt64(rows))
        }
    }

    @Test("a program notices that another store was put at the path of the one that it has open, and that it was taken away")
    func replaced() async throws {
        let (here, there) = (
            try await TemporaryStore.make(Self.schemas.get(), at: SchemaVersion(1)),
            try await TemporaryStore.make(Self.schemas.get(), at: SchemaVersion(1))
        )
        _ = try await here.store.append([.event("s", "E", "{}", at: 1)])
        #expect(try here.store.status().complaints.isEmpty)
        try await there.store.close()
        try FileManager.default.moveItem(atPath: here.path, toPath: here.path + ".old")
        #expect(try here.store.status().complaints == [.replaced(path: here.path)])
        try FileManager.default.moveItem(atPath: there.path, toPath: here.path)
        let complaints = try here.store.status().complaints
        #expect(complaints == [.replaced(path: here.path)] && complaints.allSatisfy(\.endsService))
        #expect(try here.store.status().position == Position(1))
        await #expect(throws: EvstoreError.replaced(path: here.path)) { try await here.store.append([.event("s", "E", "{}", at: 1)]) }
    }

    @Test("a failed drill and a consumer that can't go on are told of, the gravest first")
    func order() async throws {
        let temporary = try await TemporaryStore.make(Self.schemas.get(), at: SchemaVersion(1))
        let store = temporary.store
        _ = try await store.append([.event("s", "E", "{}", at: 1)])
        _ = try await store.count("p")
        try await store.log.update { update in
            try Journal.append(.init(.drill, outcome: "failed: restore"), to: &update)
            var row = ConsumerRow(
                name: "mailer", number: 1, place: Checkpoint(epoch: .first, position: .start), version: SchemaVersion(1), query: nil)
            (row.failing, row.attempts, row.error) = (Checkpoint(epoch: .first, position: Position(1)), 3, "no answer")
            try update.put(.notes, row.key, row.value)
        }
        let complaints = try store.status().complaints
        #expect(complaints.map(\.code) == ["drillFailed", "consumerFailing", "quarantined"])
        // It still tries, so that nothing of it is parked.
        #expect("\(complaints[1])".hasSuffix("see consumers(), and the program that it hands events to"))
        #expect(complaints.map(\.weight) == complaints.map(\.weight).sorted())
    }
}
