internal import EventModel
internal import Evstore
internal import EvstoreTesting
internal import Projections
internal import SchemaEvolution

/// Builds the read models of definitions from an example's events: in one go, and event by event.
struct ReadModels {
    private let seed: Seed
    private let schemas: Schemas

    init(_ seed: Seed, _ definitions: DefinitionSet) {
        self.seed = seed
        schemas = Schemas(directory: seed.schemas.directory, history: seed.history, definitions: definitions)
    }

    /// What was folded bit by bit is what a replay builds from the whole log.
    func verdict() async -> Verdict {
        do {
            let temporary = try await TemporaryStore.make(schemas)
            let store = temporary.store
            for (index, file) in seed.history.versions.enumerated() {
                let lines = seed.lines.filter { $0.version == file.number }.map { String(decoding: $0.text, as: UTF8.self) + "\n" }
                let path = try temporary.write(lines.joined(), to: "lines-\(index).jsonl")
                _ = try await store.importLines(from: .file(path), as: file.number, options: ImportOptions(takesAnyStream: true))
                try await store.follow()
            }
            var digests: [String: String] = [:]
            for model in try store.projections() { digests[model.name] = model.digest }
            let fresh = try await store.migrate(to: schemas.head, options: MigrationOptions(dryRun: true, onError: .quarantine, yes: true))
                .digests
            let differing = digests.filter { fresh[$0.key] != $0.value }.keys.sorted()
            return differing.isEmpty ? .accepted : .wrong("folded bit by bit, \(differing) is not what a replay builds")
        } catch { return Judge.verdict(error) == .refused ? .refused : Judge.verdict(error) }
    }
}
