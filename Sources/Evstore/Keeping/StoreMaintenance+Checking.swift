internal import EventLog
public import EventModel
internal import Hashing
public import LogKeeping
public import Migration
internal import Platform
internal import Projections
internal import SchemaEvolution

extension StoreMaintenance {
    /// Returns the journal: what was registered, replayed, flipped, rolled back and so on, oldest first.
    ///
    /// Blocks the calling thread for one short read transaction.
    public func journal() throws(EvstoreError) -> [JournalRow] { try Journal.list(log) }

    /// Returns the newest rows of the journal, newest first; reads no others.
    ///
    /// Blocks the calling thread for one short read transaction.
    package func journal(newest limit: Int) throws(EvstoreError) -> [JournalRow] {
        var rows: [JournalRow] = []
        if limit < 1 { return rows }
        try Journal.readBackwards(log) { row in
            rows.append(row)
            return rows.count < limit
        }
        return rows
    }

    /// Rebuilds the read models that have events in quarantine, beside the live ones, and flips to those that lack fewer.
    ///
    /// Waits while the whole log is read for these read models, on the store's own threads.
    /// - Throws: `EvstoreError`: migrationInProgress, programNeeded, diskFull, interrupted.
    public func retryQuarantine(progress: ProgressHandler? = nil) async throws(EvstoreError) -> QuarantineRetryReport {
        try await store.working("retry the quarantine", progress) { (context) async throws(EvstoreError) in
            try await Quarantine.retry(context)
        }
    }

    /// Checks checksums, hash chain, positions and indexes. Damage is a finding, not an error.
    ///
    /// With `key`, a store without errors gets a signed head (`VerifyReport.head`). It records where the log ends, and which versions,
    /// definitions, keys and forgotten streams there are. Keep it outside the store, and pass it as the last of `heads` later: each
    /// difference from what was signed is a finding, STORE101 to STORE113. Each head but the first has to name the one before it; the new
    /// one names the last.
    ///
    /// Waits for a walk over the whole log on the store's own threads; `deep` also reads every row of the read models, and `laws` rebuilds
    /// them.
    ///
    /// - Parameters:
    ///   - deep: whether it also follows each event's pointers, opens the events of a sealed store, and computes the read models' digests
    ///     from their rows.
    ///   - laws: whether it also checks the steps, on the log's events and on events that are generated from the shapes.
    ///   - seed: the seed of the generated events: the same seed and store give the same events. Where nil, a random one, which the report
    ///     names. Without `laws` it has no effect.
    ///   - key: signs the new head; nil makes none.
    ///   - heads: the earlier heads, oldest first, such as `SignedHead.series(parsing:)` returns.
    ///   - trusted: the key that must have signed `heads`; the owner of `key` where nil.
    ///   - isAccepted: whether a cut or a changed definition (STORE104, STORE108) was intended: then it is a warning.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: signatureInvalid where another key signed `heads`, epochChanged where the log was cut meanwhile (run it
    ///   again), programNeeded with `laws`, interrupted.
    public func verify(
        deep: Bool = false, laws: Bool = false, seed: UInt64? = nil, signing key: SigningKey? = nil, since heads: [SignedHead] = [],
        trusting trusted: PublicKey? = nil, accepting isAccepted: Bool = false, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> VerifyReport {
        try await store.working("verify the store", progress) { (context) async throws(EvstoreError) in
            try Verify.run(
                context, deep: deep, laws: laws, seed: seed, signing: key, since: heads, trusting: trusted, accepting: isAccepted)
        }
    }

    /// Removes all snapshots but the newest `count` that can be gone back to; returns the names of the removed ones. Waits for one
    /// transaction.
    /// - Throws: `EvstoreError`: usage where `count` is negative, deadlinePassed, interrupted.
    public func pruneSnapshots(keeping count: Int) async throws(EvstoreError) -> [String] {
        try await store.workingWithBallast("prune the snapshots") { (context) async throws(EvstoreError) in
            try await Snapshot.prune(context, keeping: count)
        }
    }

    /// Compares a snapshot (every one where nil) with the log, and with read models that are still at its position; each difference is a
    /// finding. A snapshot that a cut took off is a note, since nothing is damaged. Blocks the calling thread for a short read of each
    /// snapshot.
    /// - Throws: `EvstoreError.unknownSnapshot`.
    public func verifySnapshots(_ name: String? = nil) throws(EvstoreError) -> [Finding] {
        let chosen = if let name { [try Snapshot.named(name, log)] } else { try Snapshot.list(log) }
        let evolution = try store.evolving.current()
        var findings: [Finding] = []
        for snapshot in chosen {
            do {
                if try !snapshot.isOf(log) {
                    findings.append(
                        Finding(
                            id: "STORE301", position: snapshot.position,
                            message: "the snapshot \(snapshot.name): the log at its position has another link",
                            advice: "it can't be gone back to: \(.pruneSnapshots), or restore a backup"))
                }
            } catch EvstoreError.epochChanged(_, let cut) {
                findings.append(
                    Finding(
                        id: "STORE303", severity: .note, position: snapshot.position,
                        message: "the snapshot \(snapshot.name): a cut at position \(cut.position) took off what it names",
                        advice: "it can't be gone back to any more: \(.pruneSnapshots) removes it"))
                continue
            }
            // Without the data that was forgotten since, read models have other digests.
            if try Journal.hasForgotten(since: snapshot, log) { continue }
            for noted in snapshot.generations where evolution.state.generations[noted.fingerprint] == noted.directory {
                guard let digest = noted.digest, let header = try store.header(of: noted.fingerprint, evolution.state),
                    header.checkpoint.position == snapshot.position, header.digest.hex != digest
                else {
                    continue
                }
                findings.append(
                    Finding(
                        id: "STORE302", position: snapshot.position,
                        message: "\(noted.projection) is not what the snapshot \(snapshot.name) noted, at the same position",
                        advice: "\(.verifyDeep)"))
            }
        }
        return findings
    }
}

/// The result of converting events to a version; nothing was changed.
public struct ConversionReport: Hashable, Sendable {
    public var version: SchemaVersion
    /// Stored events that were examined.
    public var events: UInt64 = 0
    /// Their images at the version.
    public var images: UInt64 = 0
    /// Events born at another version.
    public var converted: UInt64 = 0
    /// Events without an image at the version because a step hides or drops them.
    public var hidden: UInt64 = 0
    /// Events that could not be converted.
    public var failed: UInt64 = 0
    /// The first of these failures, at most `failuresMax`.
    public var failures: [ImageFailure] = []
    /// How long it took.
    public var duration: Duration = .zero

    public static let failuresMax = 100
}

extension StoreMaintenance {
    /// Converts every event of a stream, or of the log where nil, to a version (the working one where nil), and counts the results, as
    /// `migrate(to:)` would see them. Stores no image. The journal records the check of a stream.
    ///
    /// Waits while the events are read on the store's own threads. An event without an image is counted in the report; it is not an error.
    /// - Throws: `EvstoreError`: programNeeded, deadlinePassed, interrupted; epochChanged where a cut took off what was read.
    public func checkConversion(
        of stream: StreamName? = nil, at version: SchemaVersion? = nil, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> ConversionReport {
        let report = try await store.working("convert the events", progress) { (context) async throws(EvstoreError) in
            let (began, evolution) = (Instant.now, try store.evolving.current())
            let version = store.effective(version, evolution)
            let converter = try EventConverter(
                store, store.history(serving: version, evolution.history), at: version, in: stream == nil ? .log : .stream)
            var cursor =
                stream.map { EventCursor(store, of: $0) }
                ?? EventCursor(store, through: evolution.last, from: nil, backwards: false, limit: nil)
            let tally = ConversionTally(converter, at: version, context.job, of: stream == nil ? evolution.last.position : .start)
            while !cursor.isEnded { _ = try cursor.page(tally, through: evolution.last) }
            tally.report.duration = began.duration(to: .now)
            return tally.report
        }
        guard let stream, !store.isReadOnly else { return report }
        let outcome = "stream \(stream): \(report.events) events, \(report.converted) converted, \(report.failed) failed"
        let live = try store.versions.live
        try await log.changing { update in
            let entry = JournalRow(
                .replay, from: live, to: report.version, position: update.last.position, duration: report.duration, outcome: outcome)
            try Journal.append(entry, to: &update)
        }
        return report
    }
}

/// Counts the images that a converter makes of records, and keeps none of them.
private final class ConversionTally: RecordVisitor {
    var report: ConversionReport
    private let converter: EventConverter
    private let job: Job
    private let total: UInt64
    private var images: [RecordedEvent] = []

    init(_ converter: EventConverter, at version: SchemaVersion, _ job: Job, of end: Position) {
        (self.converter, self.job, report, total) = (converter, job, ConversionReport(version: version), end.rawValue)
    }

    func storedName(of stream: StreamName, _ reader: borrowing LogReader) throws -> StreamName? {
        try converter.storedName(of: stream, reader)
    }

    func read(_ record: borrowing RecordView, _ reader: borrowing LogReader, into events: inout [RecordedEvent]) throws {
        if report.events % 4_096 == 0 { try job.advance("convert", done: report.events, total: total) }
        images.removeAll(keepingCapacity: true)
        report.events += 1
        if record.born != report.version { report.converted += 1 }
        do {
            try converter.read(record, reader, into: &images)
            report.images += UInt64(images.count)
            if images.isEmpty { report.hidden += 1 }
        } catch EvstoreError.noImage(let failure) {
            report.failed += 1
            if report.failures.count < ConversionReport.failuresMax { report.failures.append(failure) }
        }
    }
}
