internal import EventLog
public import EventModel
internal import Migration
internal import Projections
internal import SchemaEvolution

/// What looking at events at a version came to; nothing was changed.
public struct ViewReport: Hashable, Sendable {
    public var version: SchemaVersion
    /// Stored events that were looked at.
    public var events: UInt64 = 0
    /// What they are seen as at the version.
    public var images: UInt64 = 0
    /// Events born at another version.
    public var converted: UInt64 = 0
    /// Events that the version does not see because a step hides or drops them.
    public var hidden: UInt64 = 0
    /// Events that have no image: these could not be converted.
    public var failed: UInt64 = 0
    /// The first of them, at most `failuresMax`.
    public var failures: [ImageFailure] = []
    public var seconds: Double = 0

    public static let failuresMax = 100

    public var eventsPerSecond: Double { seconds > 0 ? Double(events) / seconds : 0 }
}

extension EventStore {
    /// One event as it is seen at a version: none where a step hides it, several where one was split.
    ///
    /// Every read does the same for each event that it comes to. Blocks the calling thread for one short read transaction.
    /// - Throws: `EvstoreError`: noImage, programNeeded.
    public func view(_ position: Position, at version: SchemaVersion? = nil) throws(EvstoreError) -> [RecordedEvent] {
        var images: [RecordedEvent] = []
        try converting(at: path) {
            try log.read { reader in
                let eventReader = try eventReader(at: version, reader)
                _ = try reader.record(at: position) { record in try eventReader.read(record, reader, into: &images) }
            }
        }
        return images
    }

    /// Converts every event of one stream to a version, counts what comes of it, and notes the result in the journal; stores no image.
    ///
    /// Reads on the calling thread, page by page, and then awaits the transaction of the journal's row. An event that has no image is
    /// counted in the report and is no error.
    /// - Throws: `EvstoreError`: programNeeded, deadlinePassed, interrupted.
    public func checkConversion(of stream: StreamName, at version: SchemaVersion? = nil) async throws(EvstoreError) -> ViewReport {
        let report = try look(through: stream, at: version)
        if isReadOnly { return report }
        let outcome = "stream \(stream): \(report.events) events, \(report.converted) converted, \(report.failed) failed"
        let (live, seconds) = (try versions.live, report.seconds)
        do {
            try await log.update { update in
                let entry = Journal.Entry(
                    "replay", from: live, to: report.version, position: update.last.position, seconds: seconds, outcome: outcome)
                try Journal.append(entry, to: &update)
            }
        } catch { throw EvstoreError(converting: error, at: path) }
        return report
    }

    private func look(through stream: StreamName, at version: SchemaVersion?) throws(EvstoreError) -> ViewReport {
        let version = try effective(version)
        let eventReader = try EventReader(self, history(serving: version, evolving.history), at: version)
        var looking = Looking(eventReader, at: version)
        var next: Revision? = .first
        while let from = next {
            next = nil
            try converting(at: path) {
                try log.read { reader in
                    guard let stream = try eventReader.storedName(of: stream, reader), let head = try reader.head(of: stream),
                        from <= head.revision
                    else { return }
                    try reader.stream(stream, from: from, limit: options.pageEventsMax) { record in
                        try looking.look(record, reader)
                        next = record.revision.next
                        return true
                    }
                }
            }
        }
        return looking.finished()
    }

    /// Converts every event of the log to a version and counts what comes of it, as `migrate(to:)` would meet it; stores nothing.
    ///
    /// Works on the calling thread for as long as there are events. An event that has no image is counted in the report and is no error.
    /// - Throws: `EvstoreError`: programNeeded, interrupted.
    ///
    /// Blocks the calling thread for as long as there are events; it waits for the disk alone.
    public func checkConversions(at version: SchemaVersion? = nil, cancellation: Cancellation? = nil) throws(EvstoreError) -> ViewReport {
        let version = try effective(version)
        let evolution = try evolving.current()
        var looking = Looking(try EventReader(self, history(serving: version, evolution.history), at: version), at: version)
        var seen = Position.start
        while seen < evolution.last.position {
            if cancellation?.isCancelled == true { throw .interrupted(again: "run it again") }
            let begin = seen
            var left = options.followBatchEvents
            try converting(at: path) {
                try log.scan(after: seen, through: evolution.last.position) { block, reader in
                    for index in block.indices {
                        let record = block.record(index)
                        try looking.look(record, reader)
                        (seen, left) = (record.position, left - 1)
                    }
                    return left > 0
                }
            }
            // A cut took the rest off meanwhile.
            if seen == begin { break }
        }
        return looking.finished()
    }
}

/// Counts what an event reader shows.
private struct Looking {
    private let eventReader: EventReader
    private let begin = ContinuousClock.now
    private var report: ViewReport
    private var images: [RecordedEvent] = []

    init(_ eventReader: EventReader, at version: SchemaVersion) {
        (self.eventReader, report) = (eventReader, ViewReport(version: version))
    }

    mutating func look(_ record: borrowing RecordView, _ reader: borrowing LogReader) throws {
        images.removeAll(keepingCapacity: true)
        report.events += 1
        if record.born != report.version { report.converted += 1 }
        do {
            try eventReader.read(record, reader, into: &images)
            report.images += UInt64(images.count)
            if images.isEmpty { report.hidden += 1 }
        } catch EvstoreError.noImage(let failure) {
            report.failed += 1
            if report.failures.count < ViewReport.failuresMax { report.failures.append(failure) }
        }
    }

    func finished() -> ViewReport {
        var report = report
        let elapsed = (ContinuousClock.now - begin).components
        report.seconds = Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18
        return report
    }
}
