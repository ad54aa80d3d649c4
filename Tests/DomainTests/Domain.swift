import Evstore
import EvstoreTesting
import TestSupport
import Testing

/// One of the worked examples below `Schemas/`.
struct Domain {
    let name: String

    var path: String { Checkout.path("Schemas/\(name)") }

    func schemas() throws -> Schemas { try Schemas.load(path) }

    /// The event lines that are kept of a version.
    func fixtures(_ version: Int) throws -> String {
        try Checkout.text("Schemas/\(name)/fixtures/v\(version)/events.jsonl")
    }

    /// A store whose floor and live version is this, with the fixtures of the versions up to it.
    func store(at version: Int = 1, fixtures: ClosedRange<Int>? = nil, options: Options = .forTests) async throws -> TemporaryStore {
        let temporary = try await TemporaryStore.make(try schemas(), at: SchemaVersion(version), options: options)
        for number in fixtures ?? 1 ... version { try await load(number, into: temporary) }
        return temporary
    }

    func load(_ version: Int, into temporary: TemporaryStore) async throws {
        let file = try temporary.write(try fixtures(version), to: "v\(version).jsonl")
        _ = try await temporary.store.importLines(from: .file(file), as: SchemaVersion(version))
    }
}

extension EventStore {
    /// The digests of a version's read models, by their names.
    func digests(at version: Int) throws -> [String: String] {
        let models = try projections(at: SchemaVersion(version))
        return Dictionary(uniqueKeysWithValues: models.map { ($0.name, $0.digest ?? "none") })
    }

    /// What the digests are where a version's read models are built anew from the whole log.
    func freshDigests(at version: Int, onError: FailureRule = .stop) async throws -> [String: String] {
        try await migrate(to: SchemaVersion(version), options: MigrationOptions(dryRun: true, onError: onError, yes: true)).digests
    }

    /// The whole log as a version sees it.
    func all(at version: Int? = nil, type: String? = nil) throws -> [RecordedEvent] {
        var events: [RecordedEvent] = []
        try readAll(at: version.map { SchemaVersion($0) }, matching: type.map { .type($0) }) { event in
            events.append(event)
            return true
        }
        return events
    }

    func row(_ projection: String, _ key: String, at version: Int? = nil) async throws -> String? {
        var found: String?
        try await query(projection, at: version.map { SchemaVersion($0) }, key: key) { row in
            found = row.json
            return true
        }
        return found
    }

    /// Rolls back and checks that the older read models are those of a replay from scratch, the tail included.
    func rollBackAndCompare(to version: Int, onError: FailureRule = .stop) async throws {
        let report = try await rollback(to: SchemaVersion(version))
        #expect(report.differing.isEmpty)
        #expect(try versions.live == SchemaVersion(version))
        #expect(try digests(at: version) == (try await freshDigests(at: version, onError: onError)))
    }
}
