internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText
internal import LMDB
internal import Migration
internal import Platform
internal import Projections

/// Runs the program of another release, which rolls the store at a path back to a version.
public typealias OlderProgram = @Sendable (_ store: String, _ version: SchemaVersion) throws(EvstoreError) -> Void

extension StoreMaintenance {
    /// Rehearses a migration, its rollback and a restore on a copy, and compares digests after each. In the store itself it only writes the
    /// report, in `drills/`, and a row of the journal.
    ///
    /// Takes several times as long as a replay, on the store's own threads, and needs disk space for about six copies of the log.
    ///
    /// - Parameters:
    ///   - version: the version to migrate to. Where nil, the newest that the schemas given at opening or the store know.
    ///   - from: the version that the rehearsed rollback leads to, from the floor up to the live one. Where nil, the live version if a
    ///     newer one is rehearsed, else the one that a rollback would lead to.
    ///   - backups: a directory whose newest run is restored; where nil, the drill makes a backup of its own.
    ///   - olderProgram: rolls the copy back instead of this program.
    ///   - seed: the seed of the generated events: the same seed and store give the same events. Where nil, a random one, which the report
    ///     names.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: readOnly; unknownVersion, usage where `version` is below the live one or `from` is no way back from it,
    ///   belowFloor; interrupted. A failure of the rehearsal, also for lack of room, is a failed step in the report, not an error.
    public func drill(
        to version: SchemaVersion? = nil, from: SchemaVersion? = nil, backups: String? = nil, olderProgram: OlderProgram? = nil,
        seed: UInt64? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> DrillReport {
        if store.isReadOnly { throw .readOnly(path: path) }
        return try await working("rehearse", progress) { (job) async throws(EvstoreError) in
            try await rehearse(
                DrillRequest(
                    from: from, version: version, backups: backups, olderProgram: olderProgram,
                    seed: seed ?? .random(in: 0 ... UInt64(UInt32.max)), job: job), store.context(job))
        }
    }

    private func rehearse(_ request: DrillRequest, _ context: MigrationContext) async throws(EvstoreError) -> DrillReport {
        let began = ContinuousClock.now
        let scratch = try ScratchDirectory.make(context)
        defer { scratch.remove() }
        let rehearsal = try Rehearsal(store, request, in: scratch.path)
        var report = try await rehearsal.run()
        report.report = try write(report)
        let (noted, last) = (report, report.position)
        let duration = began.duration(to: .now)
        try await log.changing { update in
            try Journal.append(
                .init(.drill, from: noted.from, to: noted.to, position: last, duration: duration, outcome: noted.outcome), to: &update)
        }
        return report
    }

    /// Writes the report below the store, completely or not at all; returns its path.
    private func write(_ report: DrillReport) throws(EvstoreError) -> String {
        try converting(at: path) {
            let directory = try StoreFiles.directory("drills", of: path)
            try Directory.sync(path)
            let time = Timestamp.now.description.replacing(":", with: "-")
            let name = "\(directory)/\(time)\(report.to.map { "-\($0)" } ?? "").json"
            try WholeFile.write(Array((report.json(detailed: keys().isEmpty).text + "\n").utf8), to: name)
            return name
        }
    }
}

/// The parameters of `drill`.
struct DrillRequest {
    let from: SchemaVersion?
    let version: SchemaVersion?
    let backups: String?
    let olderProgram: OlderProgram?
    let seed: UInt64
    let job: Job
}

extension DrillReport {
    fileprivate var outcome: String {
        if passed { return "passed" }
        return "failed: " + (steps.first { !$0.ok }?.name ?? laws.first { $0.failed > 0 }.map { "law \($0.law)" } ?? "nothing was shown")
    }

    /// The report as JSON, in the form that the store keeps.
    /// - Parameter isDetailed: false where events are sealed: details may quote an event's content.
    fileprivate func json(detailed isDetailed: Bool) -> JSONValue {
        func number(_ value: some BinaryInteger) -> JSONValue { .number(String(value)) }
        func seconds(_ value: Duration) -> JSONValue { .number(String((value.inSeconds * 1_000).rounded() / 1_000)) }
        func object(_ members: [(String, JSONValue)]) -> JSONValue { .object(members.map { .init(name: $0.0, value: $0.1) }) }
        func list<T>(_ values: [T], _ members: (T) -> [(String, JSONValue)]) -> JSONValue { .array(values.map { object(members($0)) }) }
        let steps = list(steps) { step in
            let detail = isDetailed ? step.detail : ""
            return [("name", .string(step.name)), ("ok", .bool(step.ok)), ("seconds", seconds(step.duration)), ("detail", .string(detail))]
        }
        let laws = list(laws) { law in
            [("law", .string(law.law)), ("tried", number(law.tried)), ("failed", number(law.failed)), ("lossy", number(law.lossy))]
        }
        let loss = list(loss) { loss in
            [
                ("version", number(loss.version.rawValue)), ("type", .string(loss.type)), ("what", .string(loss.what)),
                ("declared", .bool(loss.declared)), ("asks", .bool(loss.asks)), ("count", number(loss.count)),
                ("first", loss.first.map { number($0.rawValue) } ?? .null),
            ]
        }
        return object([
            ("passed", .bool(passed)), ("from", from.map { number($0.rawValue) } ?? .null), ("to", to.map { number($0.rawValue) } ?? .null),
            ("position", number(position.rawValue)), ("steps", steps), ("laws", laws),
            ("notExercised", .array(notExercised.map { .string($0) })), ("appended", number(appended)), ("refused", number(refused)),
            ("loss", loss), ("quarantined", number(quarantined)), ("seed", number(seed)),
            ("recoverySeconds", recovery.map(seconds) ?? .null),
            ("recoveryPointEvents", recoveryPointEvents.map { number($0) } ?? .null),
        ])
    }
}
