internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// Measures on a sample of the log how events convert to a version: which have no image, and what adoption does.
struct ConversionMeasure {
    private struct Kind: Hashable {
        var type: String
        var born: SchemaVersion
    }

    private let history: History
    private let target: SchemaVersion
    private var failed: [Kind: UInt64] = [:]
    /// The number of events that were examined.
    private var seen: [Kind: UInt64] = [:]
    /// The failures of events that have no image.
    private var failures: [ImageFailure] = []
    /// The result of adopting events from before versions existed; nil where there are none.
    private(set) var adoption: AdoptionReport?

    init(_ history: History, _ target: SchemaVersion, _ sample: Sample, _ context: MigrationContext) throws(EvstoreError) {
        (self.history, self.target) = (history, target)
        let viewer = PathRunner(history)
        let merged = MergedAppends(context.log, viewer, StreamNames(context.log, history), at: target)
        let rekeys = history.rekeysStreams
        for (index, event) in sample.events.enumerated() {
            if index % 1_000 == 0 { try context.job.check() }
            let kind = Kind(type: event.type, born: event.born)
            seen[kind, default: 0] += 1
            var adopted = AdoptionReport(events: 1)
            do {
                if rekeys { _ = try history.streamName(StreamName(event.stream), from: event.born, to: target) }
                let source = SourceEvent(payload: event.payload.lent, time: event.time, metadata: event.metadata.lent)
                let path = try viewer.path(type: event.type, born: event.born, to: target)
                if path.merges {
                    try context.log.read { try merged.view(event.position ?? .start, $0) { _ in } }
                } else {
                    try viewer.run(path, source, stream: event.stream, validating: true) { _ in }
                }
                if event.born.rawValue > 0 { continue }
                adopted = AdoptionReport(
                    try viewer.adopt(type: event.type, payload: source.payload, time: event.time, metadata: source.metadata))
                adopted.unnamed = event.stream == "$unknown" ? 1 : 0
            } catch {
                switch EvstoreError(converting: error) {
                case .noImage(var failure):
                    failed[kind, default: 0] += 1
                    failure.position = event.position
                    if event.born.rawValue > 0 {
                        failures.append(failure)
                        continue
                    }
                    // Data that no case of adoption fits is quarantined and does not stop a replay.
                    adopted.quarantined = 1
                // The plan names the missing step; what it would do to these events is not known.
                case .programNeeded: continue
                case let error: throw error
                }
            }
            adoption = adoption ?? AdoptionReport()
            adoption?.add(adopted)
        }
    }

    /// What happens to the events of one type and birth version.
    func forecast(of row: CensusRow) throws(EvstoreError) -> PlannedType {
        let path = try history.path(type: row.type, born: row.born, to: target)
        return PlannedType(
            type: row.type, born: row.born, count: row.count, becomes: path.types, changes: path.description,
            failures: failed[Kind(type: row.type, born: row.born)] ?? 0,
            opByOp: try history.opByOp(row.type, born: row.born, to: target)?.words)
    }

    /// The error that would stop a strict build of read models after the position up to which the build was tried.
    func stopped(_ entries: [GenerationSet.Entry], behind measured: Position) throws(EvstoreError) -> EvstoreError? {
        for failure in failures {
            guard let position = failure.position, position > measured else { continue }
            let types = try types(failure.type, failure.born)
            guard let entry = entries.first(where: { !$0.definition.consumes.isDisjoint(with: Set(of: types)) }) else { continue }
            return .buildStopped(projection: entry.name, position: position, reason: EvstoreError.noImage(failure).message)
        }
        return nil
    }

    /// The types that events of a type may have at the target.
    private func types(_ type: String, _ born: SchemaVersion) throws(EvstoreError) -> [String] {
        try history.path(type: type, born: born, to: target).types
    }

    /// The number of events not examined that read models would consume and whose type a step changes: they may have no image.
    /// - Parameter others: events that were examined in addition.
    func notSeen(_ census: [CensusRow], for entries: [GenerationSet.Entry], others: [LawEvent]) throws(EvstoreError) -> UInt64 {
        var seen = seen
        for event in others { seen[Kind(type: event.type, born: event.born), default: 0] += 1 }
        var count: UInt64 = 0
        for row in census {
            let types = try types(row.type, row.born)
            guard entries.contains(where: { !$0.definition.consumes.isDisjoint(with: Set(of: types)) }),
                try history.path(type: row.type, born: row.born, to: target).description != "unchanged"
            else { continue }
            count += row.count - min(row.count, seen[Kind(type: row.type, born: row.born)] ?? 0)
        }
        return count
    }
}
