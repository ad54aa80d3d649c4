import EventModel
import Evstore
import EvstoreTesting
import Testing

/// Events of each release, made up with the values at which steps and shapes go wrong.
@Suite("Drills of the worked examples")
struct DrillTests {
    private static let names = ["packages", "vault", "settings", "saves", "cycles", "reminders", "tickets"]

    /// A store that went through all versions, with the fixtures of each.
    private func store(_ name: String) async throws -> TemporaryStore {
        let domain = Domain(name: name)
        let head = try domain.schemas().head.number
        let temporary = try await domain.store()
        for version in 2 ..< head + 1 {
            _ = try await temporary.store.migrate(to: SchemaVersion(version))
            try await domain.load(version, into: temporary)
        }
        return temporary
    }

    @Test("show every step, whatever events are made up", arguments: names)
    func passes(_ name: String) async throws {
        let temporary = try await store(name)
        let report = try await temporary.store.maintenance.drill()
        let seed: Comment = "seed \(report.seed)"
        #expect(report.passed && report.steps.count == 8 && report.steps.allSatisfy(\.ok), seed)
        #expect(report.appended > 0 && report.notExercised.isEmpty, seed)
    }

    @Test("pass with receipts that are no numbers, born where the number is a member of its own", arguments: [3_864_457_834, 1, 2])
    func receipts(seed: UInt64) async throws {
        let temporary = try await store("tickets")
        let report = try await temporary.store.maintenance.drill(seed: seed)
        #expect(report.passed, "\(report.steps.filter { !$0.ok })")
    }

    @Test("tell of an event that a version takes and whose row its read model's shape refuses")
    func refusedRow() async throws {
        let temporary = try await store("saves")
        var told = 0
        for seed in 1 ... 12 as ClosedRange<UInt64> where told == 0 {
            let report = try await temporary.store.maintenance.drill(seed: seed)
            #expect(report.passed, "seed \(seed)")
            told = report.steps.filter { $0.detail.contains("would stop the next replay: the row") }.count
            // The same seed makes the same events.
            if told > 0 { #expect(try await temporary.store.maintenance.drill(seed: seed).steps[6].detail == report.steps[6].detail) }
        }
        #expect(told == 1)
    }
}
