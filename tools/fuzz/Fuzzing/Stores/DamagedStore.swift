internal import EventModel
internal import Evstore
internal import EvstoreTesting
internal import Foundation
internal import SchemaEvolution

/// A store in which everything happened once, closed, with a backup in each of its forms: what cases copy and change.
struct DamagedStore {
    private let directory: TemporaryDirectory
    let versions: Int
    let projections: [String]
    let streams: [StreamName]

    /// Where the whole one lies; a case works on a copy.
    var path: String { directory.path + "/whole" }

    static var options: Options {
        var options = Options.forTests
        (options.mapBytes, options.pollInterval, options.appendDeadline) = (1 << 26, .milliseconds(10), .seconds(5))
        (options.readModelDeadline, options.sweepDueEvents) = (.seconds(5), 1)
        return options
    }

    /// Makes it of an example: events of every version, imports, consumers that have parked events, snapshots, a rollback, a drill.
    init(of seed: Seed) async throws {
        // Nothing is in the way of the whole one but a busy machine.
        var options = Self.options
        (options.appendDeadline, options.readModelDeadline) = (.seconds(300), .seconds(300))
        directory = try TemporaryDirectory()
        let whole = directory.path + "/whole"
        try FileManager.default.createDirectory(atPath: whole, withIntermediateDirectories: true)
        let store = try await EventStore.create(
            whole + "/store", schemas: seed.schemas, version: SchemaVersion(1), options: options)
        versions = seed.versions.count
        for version in 1 ... versions {
            let number = SchemaVersion(version)
            if version > 1 { _ = try await store.migrate(to: number, options: MigrationOptions(yes: true)) }
            let lines = seed.lines.filter { $0.version == number }.map(\.text)
            let file = "\(directory.path)/\(version).jsonl"
            try Data(lines.joined(separator: [10])).write(to: URL(filePath: file))
            _ = try await store.importLines(
                from: .file(file), as: number, options: ImportOptions(onError: .quarantine, dryRun: false, takesAnyStream: true))
        }
        var retries = ConsumerOptions()
        (retries.retry, retries.endsAtLogEnd) = (RetryPolicy(attemptsMax: 1), true)
        try await store.consume("parks", options: retries) { event, _ in
            if event.position.rawValue % 3 == 0 { throw EvstoreError.usage("it is full") }
        }
        if let parked = try store.parked(of: "parks").first {
            try await store.maintenance.retryParked(of: "parks", position: parked.position)
        }
        try await store.consume("takes", options: retries) { _, _ in }
        _ = try await store.takeSnapshot("one")
        if versions > 1 { _ = try await store.rollback(to: SchemaVersion(versions - 1)) }
        if versions > 1 { _ = try await store.migrate(to: SchemaVersion(versions), options: MigrationOptions(yes: true)) }
        _ = try await store.maintenance.backUp(into: whole + "/backups")
        _ = try await store.maintenance.drill(backups: whole + "/backups", seed: 1)
        _ = try await store.maintenance.backUp(into: whole + "/backups")
        var bytes: [UInt8] = []
        _ = try await store.maintenance.backUp { bytes += $0 }
        try Data(bytes).write(to: URL(filePath: whole + "/backup"))
        projections = try store.projections().map(\.name)
        var streams: Set<StreamName> = []
        try store.readAll { event in
            streams.insert(event.stream)
            return true
        }
        self.streams = Array(streams.sorted { $0.text < $1.text }.prefix(4))
        try await store.close()
    }

    /// A copy of its own for a case, removed with the reference.
    func copy() throws -> TemporaryDirectory {
        let copy = try TemporaryDirectory()
        for name in ["store", "backups", "backup"] {
            try FileManager.default.copyItem(atPath: "\(path)/\(name)", toPath: "\(copy.path)/\(name)")
        }
        return copy
    }
}
