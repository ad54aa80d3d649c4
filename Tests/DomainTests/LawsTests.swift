import EventModel
import Foundation
import SchemaEvolution
import TestSupport
import Testing

private let seed = UInt64.random(in: 0 ... UInt64(UInt32.max))

/// Every worked example below `Schemas/`.
private func domains() -> [String] {
    let schemas = Checkout.url("Schemas")
    do {
        return try FileManager.default.contentsOfDirectory(atPath: schemas.path).sorted()
            .filter { FileManager.default.fileExists(atPath: schemas.appending(path: "\($0)/v1.yaml").path) }
    } catch { return [] }
}

@Suite("the laws of the domains")
struct LawsTests {
    @Test("every law holds for made events of every type and version, and every op is exercised", arguments: domains())
    func everyLaw(_ name: String) throws {
        // given
        let history = try History.load(directory: Domain(name: name).path)
        var trial = LawTrial(history, isFull: true)
        // when
        var index: UInt64 = 0
        for file in history.versions {
            for type in file.types {
                trial.check(TypeAtVersion(type: type, version: file.number), generated: 100, seed: seed &+ index)
                index += 1
            }
        }
        // then
        for failure in trial.tally.failures where failure.verdict.weight == .required {
            let small = failure.shrunk(history)
            Issue.record(
                """
                \(name), seed \(seed): \(failure.verdict.law) of \(small.event.type) from \(small.event.born) to \(failure.target): \
                \(small.example(history)) \(failure.verdict.error?.message ?? "")
                """)
        }
        for law in ["T-up", "T-down", "L1", "L2", "L3", "L5"] { #expect(trial.tally.counts[law]?.tried ?? 0 > 0, "\(name): \(law)") }
        let idle = history.cases(trial.tally.crossings).filter { $0.count == 0 }
        #expect(idle.isEmpty, "\(name), seed \(seed): \(idle)")
    }

    @Test("there are domains to try")
    func someDomains() { #expect(domains().count >= 6) }
}
