internal import Bytes
internal import EventLog
internal import EventModel
internal import Platform
internal import Projections
internal import SchemaEvolution

/// The laws on a sample of the log, tried once: while read models are built, or when the result is asked for.
final class SampleTrial: Sendable {
    private let context: MigrationContext
    private let evolving: VersionedLog
    private let version: SchemaVersion
    private let windows: SampleWindows
    private let known = Monitor<LawTally?>(nil)

    /// - Parameter jobs: the number of threads; where nil, as the store's options say.
    init(_ context: MigrationContext, _ generationSet: GenerationSet, jobs: Int?) throws(EvstoreError) {
        var context = context
        context.options.replayJobs = jobs ?? context.options.replayJobs
        (self.context, evolving, version) = (context, generationSet.evolving, generationSet.version)
        windows = try SampleWindows(context)
    }

    /// Tries the laws beside other work, which an error here must not stop: `result` tries again and throws the error.
    func begin() {
        // Two steps run at the same time, but only the other one reports its progress.
        var silent = context
        silent.job = silent.job.silent
        do {
            let tally = try run(silent)
            known.withLock { $0 = tally }
        } catch { return }
    }

    /// - Parameter witnesses: additional events, in order; those in the sample are not tried again.
    func result(with witnesses: [Position]) throws(EvstoreError) -> LawTally {
        var tally = if let known = known.withLock({ $0 }) { known } else { try run(context) }
        let others = witnesses.filter { !windows.contain($0) }
        if !others.isEmpty { tally.add(try Laws.check(context, evolving.current().history, events: others, at: version)) }
        return tally
    }

    private func run(_ context: MigrationContext) throws(EvstoreError) -> LawTally {
        try Laws.sample(context, evolving.current().history, windows, at: version, measuring: false).laws
    }
}

/// The parts of the log that a sample is taken from: windows of consecutive events.
struct SampleWindows: Sendable {
    /// By 98 in 100 they hold what one event in a thousand has, wherever it lies; a build notes what is rarer (`Witnesses`). A plan takes the
    /// same, so that a replay of the same log meets all that its plan has met.
    static let eventsMax = 4_000
    /// A log of so many events is tried whole.
    static let wholeMax: UInt64 = 10_000
    private static let windows: UInt64 = 40

    private(set) var ranges: [ClosedRange<UInt64>] = []
    /// Only events born above this version are sampled.
    let bornAbove: SchemaVersion?

    /// All events of a log of up to `wholeMax`, else windows of `eventsMax`.
    init(_ context: MigrationContext) throws(EvstoreError) {
        let last = try context.last().position
        let isSmall = last.events(after: .start) <= Self.wholeMax
        self.init(after: .start, through: last, eventsMax: isSmall ? Self.wholeMax : UInt64(Self.eventsMax))
    }

    /// The windows behind a position (the log's start by default): all events where there are at most `eventsMax`, else evenly spaced
    /// windows, no two of which have an event in common.
    init(
        _ context: MigrationContext, eventsMax: Int, after start: Position = .start, bornAbove: SchemaVersion? = nil
    ) throws(EvstoreError) {
        self.init(after: start, through: try context.last().position, eventsMax: UInt64(clamping: eventsMax), bornAbove: bornAbove)
    }

    init(after start: Position, through last: Position, eventsMax: UInt64, bornAbove: SchemaVersion? = nil) {
        self.bornAbove = bornAbove
        let count = last.events(after: start)
        if count == 0 || eventsMax == 0 { return }
        if count <= eventsMax {
            ranges = [start.next.through(last)]
            return
        }
        let windows = min(Self.windows, eventsMax)
        let length = eventsMax / windows
        // As the windows together are shorter than the log, each begins behind the end of the one before.
        let (step, rest) = (count - length).quotientAndRemainder(dividingBy: max(1, windows - 1))
        for window in 0 ..< windows {
            let begin = start.plus(1 + window * step + window * rest / max(1, windows - 1))
            ranges.append(begin.through(begin.plus(length - 1)))
        }
    }

    /// The number of events in the windows, before any is left out.
    var count: UInt64 { ranges.sum { $0.upperBound - $0.lowerBound + 1 } }

    func contain(_ position: Position) -> Bool { ranges.contains { $0.contains(position.rawValue) } }

    /// The part of one of several threads. An append that is divided is complete in neither part: events merged in it are not tried.
    func part(_ part: Int, of parts: Int) -> [ClosedRange<UInt64>] {
        guard ranges.count == 1, parts > 1 else { return Array(ranges[part * ranges.count / parts ..< (part + 1) * ranges.count / parts]) }
        let first = Position(ranges[0].lowerBound)
        func begin(_ part: Int) -> Position { first.plus(UInt64(part) * count / UInt64(parts)) }
        return begin(part) < begin(part + 1) ? [begin(part).through(begin(part + 1).previous)] : []
    }
}

/// Reads events for a sample, so many in a transaction that none is long and none has many bytes in memory.
enum Sample {
    private static let (eventsAtOnce, bytesAtOnce) = (1_000, 1 << 23)

    /// Hands over the events between two positions, up to about a thousand at a time.
    static func read(
        from start: UInt64, through end: UInt64, _ history: History, _ context: MigrationContext,
        _ body: ([LawEvent]) throws(EvstoreError) -> Void
    ) throws(EvstoreError) {
        guard start <= end else { return }
        let names = StreamNames(context.log, history)
        var found: [LawEvent] = []
        try visit(start ... end, context) { () throws(EvstoreError) in
            try body(found)
            found.removeAll(keepingCapacity: true)
        } _: { record, reader in
            found.append(try event(record, names, context, reader))
        }
    }

    /// Lends the events between two positions, up to about a thousand in a transaction; calls `pause` after each transaction.
    static func visit(
        _ range: ClosedRange<UInt64>, _ context: MigrationContext, pause: () throws(EvstoreError) -> Void,
        _ body: (borrowing RecordView, borrowing LogReader) throws -> Void
    ) throws(EvstoreError) {
        var next = range.lowerBound
        while next <= range.upperBound {
            var (count, bytes, last) = (0, 0, next)
            try context.log.reading { reader in
                try reader.blocks(from: Position(next)) { block in
                    for index in 0 ..< block.count {
                        let record = block.record(index)
                        guard (next ... range.upperBound).contains(record.position.rawValue) else { continue }
                        try body(record, reader)
                        (count, bytes, last) = (count + 1, bytes + record.payload.byteCount, record.position.rawValue)
                    }
                    return count < eventsAtOnce && bytes < bytesAtOnce && block.last.rawValue < range.upperBound
                }
            }
            if count == 0 { return }
            try pause()
            next = last + 1
        }
    }

    static func event(
        _ record: borrowing RecordView, _ names: StreamNames, _ context: MigrationContext, _ reader: borrowing LogReader
    ) throws -> LawEvent {
        LawEvent(
            origin: .log, position: record.position, stream: try names.name(of: record, at: record.born, reader).text,
            type: context.log.name(ofType: record.type), born: record.born, time: record.time, payload: [UInt8](copying: record.payload),
            metadata: [UInt8](copying: record.metadata), continuesAppend: record.continuesAppend, hasShadow: record.hasShadow)
    }
}
