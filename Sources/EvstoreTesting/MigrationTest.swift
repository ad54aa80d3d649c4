public import Evstore
internal import Foundation

/// Migrates a store as a released version left it: given its fixtures, when migrated, then what is asserted.
///
///     let test = try await MigrationTest(schemas, from: SchemaVersion(1))
///     try await test.migrate(to: SchemaVersion(2))
///     try await test.goBackAndCompare()
///
/// The fixtures are the event lines in `fixtures/vN/*.jsonl` beside the version files, for every version up to `from`; each line is born at
/// its file's version.
///
/// The way back needs what the released program has in Swift even if this program no longer has it, as in production: where a projection of
/// this program begins above `from`, pass the projections of the program of that version as `releasedProjections`, `[]` for none.
public final class MigrationTest: Sendable {
    private let temporary: TemporaryStore
    private let steps: [any SwiftStep]
    private let projections: [any SwiftProjection]
    private let releasedProjections: [any SwiftProjection]?
    public let from: SchemaVersion
    /// The number of events in the fixtures.
    public let events: UInt64

    /// The store as this program has opened it.
    public let store: EventStore

    /// - Throws: `ScenarioFailure` where there are no fixtures: a migration of no events proves nothing.
    public init(
        _ schemas: Schemas, from: SchemaVersion, steps: [any SwiftStep] = [], projections: [any SwiftProjection] = [],
        releasedProjections: [any SwiftProjection]? = nil, options: Options = .forTests
    ) async throws {
        (self.from, self.steps, self.projections, self.releasedProjections) = (from, steps, projections, releasedProjections)
        temporary = try await TemporaryStore.make(
            schemas, at: from, from: SchemaVersion(1), steps: steps, projections: releasedProjections ?? projections, options: options)
        var events: UInt64 = 0
        for number in 1 ... from.number {
            for file in try GoldenFixtures(schemas).files(of: SchemaVersion(number)) {
                events += try await temporary.store.importLines(from: .file(file), as: SchemaVersion(number)).added
            }
        }
        self.events = events
        // The read models of the released program exist, as if it had run.
        try await temporary.store.follow()
        store = try await temporary.open(schemas: schemas, steps: steps, projections: projections)
        if events == 0 { throw ScenarioFailure(description: "no fixtures of v1 … \(from) lie in \(schemas.directory)/fixtures") }
    }

    /// Replays to a version (the newest where nil), and then requires that every event of the store has an image there.
    @discardableResult
    public func migrate(to version: SchemaVersion? = nil, yes: Bool = true) async throws -> MigrationReport {
        let target = version ?? temporary.schemas.head
        let report = try await store.migrate(to: target, options: MigrationOptions(yes: yes))
        let sweep = try await store.maintenance.checkConversion(at: target)
        if let failure = sweep.failures.first {
            throw ScenarioFailure(
                description: "\(sweep.failed) of \(sweep.events) events have no image at \(target), the first: \(failure)")
        }
        return report
    }

    /// Rolls back to the version where the test began. Requires that read models equal a replay from scratch, and that events read as
    /// before.
    ///
    /// - Parameter without: Swift projections that are left behind; they are compared, too, once the released program has followed.
    public func goBackAndCompare(without: Set<String> = []) async throws {
        if releasedProjections == nil, let newer = projections.first(where: { $0.since > from }) {
            throw ScenarioFailure(
                description: """
                    \(newer.name) begins at \(newer.since): say with releasedProjections which projections in Swift the program of \
                    \(from) has, [] for none; a way back needs them, or goes without them
                    """)
        }
        let before = try await lines(at: from)
        _ = try await store.rollback(to: from, without: without)
        let released = try await temporary.open(steps: steps, projections: releasedProjections ?? projections)
        try await released.follow(at: from)
        let rows = Dictionary(uniqueKeysWithValues: try released.projections(at: from).map { ($0.name, $0.digest) })
        let fresh = try await released.migrate(to: from, options: MigrationOptions(dryRun: true, yes: true)).digests
        for (name, digest) in fresh where rows[name] != digest {
            throw ScenarioFailure(description: "\(name) at \(from) is not what a replay from scratch gives")
        }
        if try await lines(at: from) != before { throw ScenarioFailure(description: "events read at \(from) are others than before") }
        try await released.close()
    }

    private func lines(at version: SchemaVersion) async throws -> [UInt8] {
        var text: [UInt8] = []
        try await store.export(convertedTo: version) { lines in
            text += lines
            return true
        }
        return text
    }
}
