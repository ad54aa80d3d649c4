import Evstore
import EvstoreTesting
import TestSupport
import Testing

/// Counts the visits of a person; the program that has it is another one than the one without.
private struct Visits: SwiftProjection {
    struct Row: Codable { var count: Int }
    let name = "visitors"
    let since = SchemaVersion(1)
    let revision = 1
    let consumes: Set<String> = ["Visited"]

    func keys(of event: RecordedEvent) throws -> [String] { [event.stream.text] }

    func apply(_ event: RecordedEvent, key: String, to row: inout Row?) throws { row = Row(count: (row?.count ?? 0) + 1) }
}

@Suite("What plan says of going back")
struct PlannedRollbackTests {
    /// What a call ends with: a version, or the error's code.
    private func outcome(_ call: () async throws -> SchemaVersion?) async throws -> String {
        do { return try await call().map { "\($0)" } ?? "none" } catch let error as EvstoreError { return error.code }
    }

    private func told(_ planned: PlannedRollback) -> String { planned.refused?.code ?? planned.to.map { "\($0)" } ?? "none" }

    @Test("is what the rollback then does, whatever program asks, of whatever store")
    func kept() async throws {
        var random = SeededGenerator.announced()
        for _ in 0 ..< 12 {
            let down = ["inverse", "shadow"].randomElement(using: &random) ?? ""
            let schemas = try Persons.schemas(down: down).load()
            let temporary = try await TemporaryStore.make(
                schemas, at: SchemaVersion(1), steps: [Persons.step], projections: Bool.random(using: &random) ? [Visits()] : [])
            let store = temporary.store
            _ = try await store.append([.event("person-1", "Named", Persons.ada, at: 1)])
            let target = SchemaVersion(Int.random(in: 1 ... 2, using: &random))
            // Upwards: the plan of the replay tells of the rollback after it.
            let planned = try await store.plan(to: target).rollback
            _ = try await store.migrate(to: target, options: MigrationOptions(yes: true))
            if target == SchemaVersion(2), Bool.random(using: &random) {
                _ = try await store.append([.event("person-1", "Named", #"{"id":"1","full":"Ada King"}"#, at: 2)])
            }
            let isClosed = Int.random(in: 0 ..< 4, using: &random) == 0
            if isClosed { _ = try await store.finalize(target) }
            // Another program may go back: one without the step, without the read model, with both.
            let steps: [any SwiftStep] = Bool.random(using: &random) ? [Persons.step] : []
            let projections: [any SwiftProjection] = Bool.random(using: &random) ? [Visits()] : []
            let other = try await temporary.open(schemas: schemas, steps: steps, projections: projections)
            let before = try other.versions
            let said = try await outcome {
                let plan = try await other.planRollback()
                if let refused = plan.refused.first { throw refused.error }
                return plan.to
            }
            #expect(try other.versions == before)
            let done = try await outcome { try await other.rollback().to }
            #expect(said == done, "\(down), \(target), \(steps.count) steps, \(projections.count) projections")
            if !isClosed, !steps.isEmpty, !projections.isEmpty { #expect(told(planned) == done, "\(down), \(target)") }
            try await other.close()
        }
    }

    @Test("counts, by name, what the older version does not show, and the rollback's report says it, too")
    func loss() async throws {
        func version(_ number: Int, _ members: String, _ upcast: String, _ more: String = "") -> String {
            "evstore: 1\nversion: \(number)\n\(upcast)events:\n  E: {properties: {a: {type: string}\(members)}}\n\(more)"
        }
        let schemas = try SchemaFiles(
            version(1, "", ""), version(2, ", b: {type: integer}", "upcast: [{on: E, do: [{add: {path: /b, value: 1}}]}]\n"),
            version(
                3, ", b: {type: integer}", "upcast: [{add-event: {type: F, down: {hide: it is new}}}]\n",
                "  F: {properties: {a: {type: string}}}\n"),
            projections: """
                evstore: 1
                projections:
                  all: [{since: 1, key: $stream, on: {E: {set: {/a: /a}}}}]
                  new: [{since: 3, key: $stream, on: {F: {set: {/a: /a}}}}]
                """
        ).load()
        let temporary = try await TemporaryStore.make(schemas, at: SchemaVersion(1))
        let store = temporary.store
        _ = try await store.append([.event("s", "E", #"{"a":"1"}"#, at: 1)])
        _ = try await store.count("all")
        for version in 2 ... 3 { _ = try await store.migrate(to: SchemaVersion(version)) }
        for number in 0 ..< 7 {
            _ = try await store.append([
                .event("s", number < 3 ? "F" : "E", number < 3 ? #"{"a":"1"}"# : #"{"a":"1","b":\#(number)}"#, at: 3)
            ])
        }
        let plan = try await store.planRollback(to: SchemaVersion(1))
        #expect((plan.tail, plan.bornAbove, plan.sample, plan.events) == (7, 7, 7, 7))
        #expect(plan.gone == ["new"] && plan.carry == ["all"] && plan.rows == 1 && plan.duration > .zero && plan.refused.isEmpty)
        #expect(Dictionary(uniqueKeysWithValues: plan.loss.map { ($0.type, $0.count) }) == ["E": 4, "F": 3], "\(plan.loss)")
        // The one-step way back loses the hidden events alone.
        #expect(try await store.planRollback().loss.map(\.type) == ["F"])
        #expect(try await store.plan(to: SchemaVersion(1)).loss == plan.loss)
        let report = try await store.rollback(to: SchemaVersion(1))
        #expect(report.loss == plan.loss && report.tail == plan.tail)
    }

    @Test(
        "names the step without which an older program can't read afterwards; with a shadow there is none",
        arguments: ["inverse", "shadow"])
    func readers(down: String) async throws {
        let (temporary, schemas) = try await Persons.store(down: down)
        let store = temporary.store
        let planned = try await store.plan(to: SchemaVersion(2)).rollback.readsRefused
        _ = try await store.migrate(to: SchemaVersion(2), options: MigrationOptions(yes: true))
        _ = try await store.append([.event("person-1", "Named", #"{"id":"1","full":"Ada King"}"#, at: 2)])
        let plan = try await store.planRollback()
        _ = try await store.rollback()
        let old = try await temporary.open(schemas: schemas)
        let reading = try await outcome { try old.read(Persons.person).last?.version }
        #expect(planned.map(\.types) == (reading == "v1" ? [] : [["Named"]]))
        #expect(plan.rollback.readsRefused.map(\.events) == (reading == "v1" ? [] : [1]))
        #expect((reading == "v1") == (down == "shadow"))
    }
}
