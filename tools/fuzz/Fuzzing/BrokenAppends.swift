internal import Bytes
internal import EventModel
internal import Evstore
internal import EvstoreTesting
internal import Foundation
internal import JSONText
internal import SchemaEvolution

/// A store of one example that broken events come to, by appends and as lines of an import.
final class BrokenAppends {
    private let seed: Seed
    private var temporary: TemporaryStore?
    private var uses = 0
    private static let usesMax = 500

    init(_ seed: Seed) { self.seed = seed }

    /// A store that is live at the newest version and promises every one.
    private func store() async throws -> TemporaryStore {
        uses += 1
        if let temporary, uses % Self.usesMax != 0 { return temporary }
        let made = try await TemporaryStore.make(seed.schemas, from: SchemaVersion(1))
        temporary = made
        return made
    }

    /// What was appended is there as it came, and can be seen at every version.
    func append(_ input: Case) async -> Verdict {
        guard let version = input.version else { return .refused }
        let store: EventStore
        do { store = try await self.store().store } catch { return .wrong("no store: \(error)") }
        let receipt: AppendReceipt
        do {
            let shape = try seed.history.requireShape(of: input.type, at: version)
            receipt = try await store.append([
                NewEvent(stream: try name(shape, input.text), type: input.type, payload: input.text, version: version)
            ])
        } catch { return Judge.verdict(error) }
        do {
            guard let event = try store.event(position: receipt.position) else { return .wrong("what was appended is not there") }
            if event.payload != input.text { return .wrong("what was appended is \(event.json)") }
            for file in seed.history.versions { _ = try store.view(receipt.position, at: file.number) }
            return .accepted
        } catch { return .wrong("what was appended can't be seen: \(error)") }
    }

    /// The stream that the template names, so that not every event is refused for being in another.
    private func name(_ shape: EventShape, _ payload: [UInt8]) throws -> StreamName {
        do { return try StreamName(try shape.stream?.name(for: payload.lent) ?? "made-1") } catch { return try StreamName("made-1") }
    }

    /// Every line is added, known or refused with its number, and the log is sound afterwards.
    func lines(_ input: Case) async -> Verdict {
        guard let version = input.version else { return .refused }
        var random = input.random
        let (rule, dry) = (random.once(in: 2) ? FailureRule.stop : .quarantine, random.once(in: 4))
        do {
            let temporary = try await store()
            let file = try temporary.write("", to: "lines.jsonl")
            try Data(input.text).write(to: URL(filePath: file))
            let before = try temporary.store.last().position.rawValue
            let report: ImportReport
            do {
                report = try await temporary.store.importLines(
                    from: .file(file), as: version, options: ImportOptions(onError: rule, dryRun: dry, takesAnyStream: true))
            } catch { return Judge.verdict(error) }
            if report.read != report.added + report.skipped + report.quarantined { return .wrong("lines are not accounted for: \(report)") }
            let after = try temporary.store.last().position.rawValue
            if after - before != (dry ? 0 : report.added) { return .wrong("\(after - before) events of \(report.added) lines") }
            let checked = try await temporary.store.maintenance.verify()
            return checked.ok ? .accepted : .wrong("the log is not sound: \(checked.findings)")
        } catch { return .wrong("\(error)") }
    }
}
