internal import EventLog
internal import EventModel
internal import Hashing
internal import LogKeeping
internal import Migration
internal import Platform
internal import Projections
internal import SchemaEvolution

/// A drill on a copy of a store. Each step proves a claim by comparing digests or events.
final class Rehearsal {
    private let original: EventStore
    /// The older and the newer version of the rehearsed migration; nil where the store knows only one version.
    private var versions: (from: SchemaVersion, to: SchemaVersion)?
    private let request: DrillRequest
    private let directory: String
    private var report: DrillReport
    private var copy: EventStore?
    /// The appended events as the newer version shows them before the rollback, and the last of them.
    private var before: (shown: Shown, last: Position) = ((0, ""), .start)

    private typealias Shown = (events: UInt64, digest: String)

    init(_ original: EventStore, _ request: DrillRequest, in directory: String) throws(EvstoreError) {
        (self.original, self.request, self.directory) = (original, request, directory)
        report = DrillReport(position: try original.last().position, seed: request.seed)
        // What can't be asked for is refused before anything is copied.
        try takeVersions(of: original)
    }

    private func takeVersions(of store: EventStore) throws(EvstoreError) {
        versions = try Self.versions(store, from: request.from, to: request.version)
        (report.from, report.to) = (versions?.from, versions?.to)
    }

    private static func versions(
        _ store: EventStore, from start: SchemaVersion?, to version: SchemaVersion?
    ) throws(EvstoreError) -> (from: SchemaVersion, to: SchemaVersion)? {
        let now = try store.versions
        let head = store.newest(now)
        let target = version ?? head
        guard target.rawValue > 0, target <= head else {
            throw .unknownVersion(target.description, known: SchemaVersion(1).through(head).map(\.description))
        }
        guard target >= now.live else {
            throw .usage(
                "\(target) is below the live version \(now.live): a drill goes up first, and then back",
                fix: "to rehearse the way back to it, say from: \(target)")
        }
        if let start {
            if start < now.floor { throw .belowFloor(start, floor: now.floor) }
            guard start <= now.live, start < target else {
                throw .usage(
                    "from \(start) is no way back: a drill to \(target) goes back to a version below it, and not above the live one",
                    fix: "the versions are \(now.floor) to \(now.live)")
            }
            return (start, target)
        }
        if target > now.live { return (now.live, target) }
        if now.floor == now.live { return nil }
        // The newest version is live: the copy is first rolled back to the version that a rollback would reach.
        return (try Rollback.target(store.context(Job("rehearse"))), now.live)
    }

    func run() async throws(EvstoreError) -> DrillReport {
        var holds = try await step("copy the store") { try await self.makeCopy() }
        if holds {
            // A replay of the original may have ended meanwhile.
            try takeVersions(of: opened())
        }
        if let (from, to) = versions {
            let rehearsed: [(String, () async throws -> String)] = [
                ("migrate \(from) -> \(to)", { try await self.migrate(from, to) }),
                ("append events born at \(to)", { try await self.append(from, to) }),
                ("roll back to \(from), keeping them", { try await self.rollBack(from) }),
                ("equal to a full \(from) replay", { try await self.compare(from) }),
                ("forward again, \(to) events byte-identical", { try await self.goForward(to) }),
                ("laws of the steps", { try await self.checkLaws() }),
            ]
            for (name, work) in rehearsed where holds { holds = try await step(name, work) }
        } else if holds {
            let live = try opened().versions.live
            report.notExercised.append("a migration and a rollback: \(live) is the only version that is promised or known")
            holds = try await step("equal to a full \(live) replay") { try await self.compareLive(live) }
        }
        if holds { holds = try await step("restore the backup, content equal") { try await self.restore() } }
        try await close()
        report.passed = holds && report.laws.allSatisfy { $0.failed == 0 }
        return report
    }

    private func step(_ name: String, _ work: () async throws -> String) async throws(EvstoreError) -> Bool {
        let began = Instant.now
        request.job.report(name)
        var step = DrillStep(name: name, ok: true, duration: .zero, detail: "")
        do {
            try request.job.check()
            step.detail = try await work()
        } catch {
            let error = EvstoreError(converting: error, at: directory)
            if case .interrupted = error {
                try await close()
                throw .interrupted(again: "rehearse again")
            }
            (step.ok, step.detail, step.error) = (false, error.message, error)
        }
        step.duration = began.duration(to: .now)
        report.steps.append(step)
        return step.ok
    }

    /// - Throws: `EvstoreError.verificationFailed` where the claim does not hold.
    private func require(_ holds: Bool, _ reason: @autoclosure () -> String) throws(EvstoreError) {
        if !holds { throw .verificationFailed(reason: reason()) }
    }

    private func close() async throws(EvstoreError) {
        try await copy?.close()
        copy = nil
    }

    private func opened() throws(EvstoreError) -> EventStore {
        if let copy { return copy }
        let store = try open("store")
        copy = store
        return store
    }

    /// Opens a store of the scratch directory with the program's own steps and projections.
    private func open(_ name: String) throws(EvstoreError) -> EventStore {
        let evolving = original.evolving
        let log = try converting(at: directory) {
            try EventLog.open(at: "\(directory)/\(name)", options: scratchOptions, logger: original.logger)
        }
        return EventStore(
            VersionedLog(log, swiftProjections: evolving.swiftProjections, swiftSteps: evolving.swiftSteps, logger: original.logger),
            version: nil, policy: .require, schemas: original.schemas)
    }

    /// The options of scratch stores, which need no ballast.
    private var scratchOptions: Options {
        var options = original.options
        options.ballastBytes = 0
        return options
    }

    private func makeCopy() async throws -> String {
        let free = try Directory.freeBytes(directory)
        // Disk space for a backup, two stores that are restored from it, and their read models.
        let needed = try original.log.usage.bytes * 6 + UInt64(original.options.freeDiskFloorBytes)
        guard free >= needed else { throw EvstoreError.diskFull(path: directory, freeBytes: free, neededBytes: needed) }
        let made = try await original.maintenance.copy(into: directory + "/backup")
        report.position = made.position
        let restored = try await StoreMaintenance.restore(
            from: directory + "/backup", into: directory + "/store", options: scratchOptions)
        if made.position == .start { report.notExercised.append("events: the store has none") }
        try require(made.content == restored.content, "the copy has other events than the store")
        return "\(made.position) events"
    }

    private func migrate(_ from: SchemaVersion, _ to: SchemaVersion) async throws -> String {
        let copy = try opened()
        let going = MigrationOptions(onError: .quarantine, yes: true)
        if try copy.versions.live > from {
            _ = try await copy.rollback(to: from)
        } else {
            _ = try await copy.migrate(to: from, options: going)
        }
        report.loss = try await copy.plan(to: to).loss
        let done = try await copy.migrate(to: to, options: going, progress: request.job.report)
        report.quarantined = done.quarantined
        try require(try copy.versions.live == to, "\(to) is not live")
        let read = (done.rows > 0 ? "\(done.rows) rows, " : "") + "\(done.events) events"
        return read + (done.quarantined > 0 ? ", \(done.quarantined) quarantined" : "")
    }

    private func append(_ from: SchemaVersion, _ to: SchemaVersion) async throws -> String {
        let copy = try opened()
        try await DrillEvents(store: copy, version: to, isChanged: true, seed: request.seed).forEachAppend { events in
            try request.job.check()
            if try await copy.takes(events) { report.appended += UInt64(events.count) } else { report.refused += UInt64(events.count) }
            return true
        }
        if report.appended == 0 { report.notExercised.append("events born at \(to): none could be made of those of the store") }
        let last = try copy.last().position
        before = (try shown(by: copy, at: to, from: report.position.next, through: last), last)
        return "\(report.appended) events" + (report.refused > 0 ? ", \(report.refused) refused at the gate" : "")
    }

    /// The events from a position on as a version shows them.
    private func shown(by store: EventStore, at version: SchemaVersion, from start: Position, through last: Position) throws -> Shown {
        var (shown, hasher): (Shown, SHA256Hasher) = ((0, ""), SHA256Hasher())
        try readLines(store, at: version, from: start, through: last) { line in
            shown.events += 1
            hasher.update(UInt64(line.count))
            hasher.update(line)
        }
        shown.digest = hasher.finalize().hex
        return shown
    }

    /// Calls `body` with each event as a line at a version. For one without an image there, the line says why.
    private func readLines(
        _ store: EventStore, at version: SchemaVersion, from start: Position, through last: Position, _ body: ([UInt8]) -> Void
    ) throws {
        var next = start
        while next <= last {
            try request.job.check()
            try store.log.read { reader in
                let converter = try EventConverter(store, store.evolving.history(reader), at: version)
                let end = min(next.plus(1_000), last.next)
                try reader.blocks(from: next) { block in
                    for index in block.indices {
                        let record = block.record(index)
                        guard record.position >= next, record.position < end else { continue }
                        var events: [RecordedEvent] = []
                        do { try converter.read(record, reader, into: &events) } catch EvstoreError.noImage(let failure) {
                            body(Array(EvstoreError.noImage(failure).message.utf8))
                        }
                        for event in events { body(store.line(event)) }
                        next = record.position.next
                    }
                    return next < end
                }
            }
        }
    }

    private func digests(_ store: EventStore, at version: SchemaVersion) async throws(EvstoreError) -> [String: String] {
        var digests: [String: String] = [:]
        let evolution = try store.evolution(at: version)
        for definition in try evolution.definitions(at: version) {
            _ = try await store.readModel(of: definition, evolution, to: nil, mayLag: false)
        }
        for model in try store.projections(at: version) { digests[model.name] = model.digest ?? "" }
        return digests
    }

    private func rollBack(_ from: SchemaVersion) async throws -> String {
        let last = try opened().last()
        if let olderProgram = request.olderProgram {
            try await close()
            try olderProgram(directory + "/store", from)
        } else {
            _ = try await opened().rollback(to: from)
        }
        let copy = try opened()
        try require(try copy.versions.live == from, "\(from) is not live")
        // Losses of the newer version's events at the older version.
        for loss in try await copy.plan(to: from).loss where loss.count > 0 && loss.version > from {
            let isSame = { (other: PlannedLoss) in
                other.version == loss.version && other.type.isSame(as: loss.type) && other.what == loss.what
            }
            report.loss.removeAll { $0.count == 0 && isSame($0) }
            var told = loss
            // A step may declare one loss for both directions.
            if report.loss.contains(where: isSame) { told.what += ", on the way back" }
            report.loss.append(told)
        }
        let end = try copy.last()
        try require(end == last, "the log ended at \(last.position) and ends at \(end.position)")
        // The older release continues to write until the next attempt.
        var (more, tries) = (0, 0)
        let gate = try copy.validator(AppendRules(version: from, gatesThroughTop: true))
        try await DrillEvents(store: copy, version: from, isChanged: false, seed: request.seed).forEachAppend { events in
            if gate.shows(events), try await copy.takes(events) { more += events.count }
            tries += 1
            return tries < 200
        }
        return "\(report.appended) events kept, \(more) more born at \(from)"
    }

    private func compare(_ version: SchemaVersion) async throws -> String {
        let copy = try opened()
        let here = try await digests(copy, at: version)
        let replayed = try await copy.migrate(
            to: version, options: takingAnyRow(dryRun: true))
        if here.isEmpty, replayed.digests.isEmpty { return try compareEvents(version) }
        for (name, digest) in replayed.digests.sorted(by: { $0.key < $1.key }) {
            try require(
                here[name] == digest,
                "\(name) is \(here[name]?.prefix(12) ?? "missing"), and \(digest.prefix(12)) replayed from the first event")
        }
        try require(replayed.digests.count == here.count, "\(here.count) read models, and \(replayed.digests.count) replayed")
        return here.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.prefix(12))" }.joined(separator: ", ")
    }

    /// For a version without read models: compares the events of the copy with those of the store, as that version shows them.
    private func compareEvents(_ version: SchemaVersion) throws -> String {
        let note = "read models at \(version): it has none"
        if !report.notExercised.contains(note) { report.notExercised.append(note) }
        guard try version <= original.versions.head else { return "no read models" }
        let here = try shown(by: opened(), at: version, from: Position(1), through: report.position)
        let there = try shown(by: original, at: version, from: Position(1), through: report.position)
        try require(here == there, "\(version) does not show the events of the copy as those of the store")
        return "no read models; \(counted(report.position.rawValue, "event")) shown as in the store, \(here.digest.prefix(12))"
    }

    /// Compares the store's own read models, if they are at the copy's position, with those that the copy rebuilds.
    private func compareLive(_ version: SchemaVersion) async throws -> String {
        let shown = try await compare(version)
        guard let copy else { return shown }
        let made = try await digests(copy, at: version)
        for model in try original.projections(at: version) {
            if model.checkpoint?.position == report.position {
                try require(made[model.name] == model.digest, "the store's \(model.name) is not what a replay makes of its events")
            } else {
                report.notExercised.append("the store's own \(model.name): it has not followed up to position \(report.position)")
            }
        }
        return shown
    }

    /// Replay options that report rows of generated events which a read model's shape refuses, instead of stopping.
    private func takingAnyRow(dryRun: Bool = false) -> MigrationOptions {
        var options = MigrationOptions(dryRun: dryRun, onError: .quarantine, yes: true)
        options.refusesRows = false
        return options
    }

    private func goForward(_ to: SchemaVersion) async throws -> String {
        let copy = try opened()
        _ = try await copy.migrate(to: to, options: takingAnyRow())
        let shown = try shown(by: copy, at: to, from: report.position.next, through: before.last)
        try require(shown == before.shown, "the events born at \(to) are not what they were before the rollback")
        return "\(shown.events) events; " + (try await compare(to))
    }

    private func checkLaws() async throws -> String {
        // Events without an image at the version that is live in the store are in its quarantine: whoever migrated has accepted that.
        let (quarantine, seed) = (try original.versions.live, request.seed)
        let found = try await opened().working("verify the store", request.job.report) { (context) async throws(EvstoreError) in
            try Verify.run(context, deep: true, laws: true, seed: seed, quarantine: quarantine)
        }
        report.laws = found.laws
        report.notExercised += found.notExercised
        if let finding = found.findings.first(where: { $0.severity == .error }) {
            throw EvstoreError.verificationFailed(reason: finding.message)
        }
        // Where no finding is an error, L1 fails only by losses that no step declares.
        let undeclared = found.loss.filter { $0.asks && $0.count > 0 }
        let lacking = try Consent.lacking(for: undeclared, original.context(request.job))
        if !undeclared.isEmpty, lacking.isEmpty {
            for index in report.laws.indices where report.laws[index].law == "L1" {
                report.laws[index].lossy += report.laws[index].failed
                report.laws[index].failed = 0
            }
        }
        let losses = undeclared.map { loss in
            let standing = lacking.contains(loss) ? "lost, and nobody has accepted it" : "lost already"
            return "\(standing): \(loss.version) \(loss.type): \(loss.what)"
        }
        // A generated event that is valid at the newer version gave a row that its read model's shape refuses.
        let refused = found.findings.filter { $0.id == "ROW101" }.map(\.message)
        let notes = refused.map { "an event like the made-up ones would stop the next replay: \($0)" }
        return (["seed \(seed)"] + losses + notes).joined(separator: "; ")
    }

    private func restore() async throws -> String {
        try await close()
        let (backup, began) = (request.backups ?? directory + "/backup", Instant.now)
        let restored = try await StoreMaintenance.restore(
            from: backup, into: directory + "/restored", options: scratchOptions)
        let store = try open("restored")
        let models: [String: String]
        do { models = try await digests(store, at: try store.versions.live) } catch {
            try await store.close()
            throw error
        }
        report.recovery = began.duration(to: .now)
        let isSame = store.log.storeID == original.log.storeID
        try await store.close()
        if !isSame { throw EvstoreError.otherBackup(path: backup) }
        if restored.position == .start, report.position > .start {
            report.notExercised.append("events of the backup: it was made before the store had any")
        }
        let content = try converting(at: original.path) {
            try original.log.contentDigest(through: restored.position) { _ in try request.job.check() }.hex
        }
        try require(content == restored.content, "the backup's events are not those of the store up to position \(restored.position)")
        let last = try original.last().position
        report.recoveryPointEvents = last.events(after: restored.position)
        return "up to position \(restored.position), \(models.count) read models, \(report.recoveryPointEvents ?? 0) events behind"
    }
}
