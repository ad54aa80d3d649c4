internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// How the events of a sample convert to a version: which have no image, and what adoption does.
struct ConversionMeasure: Sendable {
    private let history: History
    private let target: SchemaVersion
    private var failed: [EventKind: UInt64] = [:]
    private var seen: [EventKind: UInt64] = [:]
    /// The failures of events that have no image, in the order of the log.
    private var failures: [ImageFailure] = []
    /// The result of adopting events from before versions existed; nil where there are none.
    private(set) var adoption: AdoptionReport?

    init(_ history: History, at target: SchemaVersion) { (self.history, self.target) = (history, target) }

    mutating func see(_ type: String, born: SchemaVersion) { seen[EventKind(type: type, born: born), default: 0] += 1 }

    fileprivate mutating func fail(_ failure: ImageFailure, _ type: String, born: SchemaVersion) {
        failed[EventKind(type: type, born: born), default: 0] += 1
        // Data that no case of adoption fits is quarantined and does not stop a replay.
        if born.rawValue > 0 { failures.append(failure) }
    }

    fileprivate mutating func adopt(_ report: AdoptionReport) {
        adoption = adoption ?? AdoptionReport()
        adoption?.add(report)
    }

    /// Adds the results for later events.
    mutating func add(_ later: ConversionMeasure) {
        failed.merge(later.failed, uniquingKeysWith: +)
        seen.merge(later.seen, uniquingKeysWith: +)
        failures += later.failures
        if let report = later.adoption { adopt(report) }
    }

    /// What happens to the events of one type and birth version.
    func forecast(of row: CensusRow) throws(EvstoreError) -> PlannedType {
        let path = try history.path(type: row.type, born: row.born, to: target)
        return PlannedType(
            type: row.type, born: row.born, count: row.count, becomes: path.types, changes: path.description,
            failures: failed[EventKind(type: row.type, born: row.born)] ?? 0,
            opByOp: try history.opByOp(row.type, born: row.born, to: target)?.words)
    }

    /// The error that would stop a strict build of read models after the position up to which the build was tried.
    func stopped(_ entries: [GenerationSet.Entry], behind measured: Position) throws(EvstoreError) -> EvstoreError? {
        for failure in failures {
            guard let position = failure.position, position > measured else { continue }
            let types = try history.path(type: failure.type, born: failure.born, to: target).types
            guard let entry = entries.first(where: { !$0.definition.consumes.isDisjoint(with: Set(of: types)) }) else { continue }
            return .buildStopped(projection: entry.name, position: position, reason: EvstoreError.noImage(failure).message)
        }
        return nil
    }

    /// The number of events not examined that read models would consume and whose type a step changes: they may have no image.
    func notSeen(_ census: [CensusRow], for entries: [GenerationSet.Entry]) throws(EvstoreError) -> UInt64 {
        var count: UInt64 = 0
        for row in census {
            let path = try history.path(type: row.type, born: row.born, to: target)
            let isConsumed = entries.contains { !$0.definition.consumes.isDisjoint(with: Set(of: path.types)) }
            guard isConsumed, path.description != "unchanged" else { continue }
            count += row.count - min(row.count, seen[EventKind(type: row.type, born: row.born)] ?? 0)
        }
        return count
    }
}

/// Measures one event after another; each thread has its own.
struct ConversionTrial {
    private(set) var measure: ConversionMeasure
    private let history: History
    private let target: SchemaVersion
    private let log: EventLog
    private let viewer: PathRunner
    private let merged: MergedAppends
    private let names: StreamNames

    init(_ log: EventLog, _ history: History, at target: SchemaVersion, _ names: StreamNames) {
        (self.log, self.history, self.target, self.names) = (log, history, target, names)
        measure = ConversionMeasure(history, at: target)
        viewer = PathRunner(history)
        merged = MergedAppends(log, viewer, names, at: target)
    }

    mutating func take(_ record: borrowing RecordView, _ reader: borrowing LogReader) throws {
        let (type, born) = (log.name(ofType: record.type), record.born)
        measure.see(type, born: born)
        var adopted = AdoptionReport(events: 1)
        do {
            let stream = try names.name(of: record, at: born, reader)
            if history.rekeysStreams { _ = try history.streamName(stream, from: born, to: target) }
            let source = SourceEvent(payload: record.payload, time: record.time, metadata: record.metadata)
            let path = try viewer.path(type: type, born: born, to: target)
            if path.merges {
                try merged.view(record.position, reader) { _ in }
            } else {
                try viewer.interpreter.run(path, source, stream: stream.text, validating: true) { _ in }
            }
            if born.rawValue > 0 { return }
            adopted = AdoptionReport(try viewer.adopt(type: type, payload: source.payload, time: record.time, metadata: source.metadata))
            adopted.unnamed = stream.text == "$unknown" ? 1 : 0
        } catch {
            switch EvstoreError(converting: error) {
            case .noImage(var failure):
                failure.position = record.position
                measure.fail(failure, type, born: born)
                if born.rawValue > 0 { return }
                adopted.quarantined = 1
            // The plan names the missing step; what it would do to these events is not known.
            case .programNeeded: return
            case let error: throw error
            }
        }
        measure.adopt(adopted)
    }
}
