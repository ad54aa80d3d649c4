internal import EventLog
public import EventModel
internal import Migration
internal import Projections
internal import SchemaEvolution

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
            let (began, evolution) = (ContinuousClock.now, try store.evolving.current())
            let version = store.effective(version, evolution)
            let converter = try EventConverter(
                store, store.history(serving: version, evolution.history), .version(version), in: stream == nil ? .log : .stream)
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

    var storedTypes: Set<Name>? { nil }

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
