internal import Bytes
internal import EventModel
internal import Evstore
internal import EvstoreTesting
internal import Foundation
internal import JSONText
internal import SchemaEvolution

/// Rows, blocks, backups and reports whose numbers are at their ends while every checksum is right: whatever is then asked of the store is
/// answered, by what is there or by an error that names the damage.
package final class StoreFuzzer {
    /// What is changed.
    package enum Kind: String, CaseIterable, Sendable { case row, block, model, backup, run, report }

    private let whole: DamagedStore
    private let seed: UInt64

    /// - Parameter directory: the one that holds a directory for each example.
    package init(_ directory: String, seed: UInt64) async throws {
        (whole, self.seed) = (try await DamagedStore(of: Seed(directory: directory + "/saves")), seed)
    }

    /// Tries a case: the same for the same seed and index.
    /// - Returns: also what was changed, and the errors that were answered.
    package func verdict(on index: UInt64) async -> (kind: Kind, what: String, verdict: Verdict) {
        var random = SeededRandom(seed: seed ^ (index &+ 1) &* 0x9e37_79b9_7f4a_7c15)
        let kind = random.pick([Kind.row, .row, .row, .row, .block, .model, .backup, .backup, .run, .report])
        do {
            let copy = try whole.copy()
            let what = try change(kind, in: copy.path, &random)
            let sight = StoreSight(whole, in: copy.path)
            let (answers, verdict) = await sight.verdict(kind, random)
            withExtendedLifetime(copy) {}
            return (kind, ([what] + answers).joined(separator: "\n"), verdict)
        } catch { return (kind, "", .wrong("the case can't be made: \(error)")) }
    }

    private func change(_ kind: Kind, in place: String, _ random: inout SeededRandom) throws -> String {
        let rows = StoreRows(place + "/store")
        switch kind {
        case .row: return try rows.changeLog(&random)
        case .block: return try rows.changeLastBlock(&random)
        case .model:
            let names = try FileManager.default.contentsOfDirectory(atPath: place + "/store/generations").sorted()
            return try rows.changeReadModel(random.pick(names), &random)
        case .backup:
            let file = URL(filePath: place + "/backup")
            let (bytes, what) = BackupFrames.changed([UInt8](try Data(contentsOf: file)), &random)
            try Data(bytes).write(to: file)
            return what
        case .run: return try changeFile(in: place + "/backups/runs", &random)
        case .report: return try changeFile(in: place + "/store/drills", &random)
        }
    }

    private func changeFile(in directory: String, _ random: inout SeededRandom) throws -> String {
        let name = random.pick(try FileManager.default.contentsOfDirectory(atPath: directory).filter { $0.hasSuffix(".json") }.sorted())
        let file = URL(filePath: "\(directory)/\(name)")
        let changed = Extremes.changed([UInt8](try Data(contentsOf: file)), &random)
        try Data(changed).write(to: file)
        return "\(name): \(String(decoding: changed, as: UTF8.self))"
    }
}
