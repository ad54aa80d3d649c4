internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// Events taken from all over the log, to measure and to try the laws on.
struct Sample: Sendable {
    /// Enough to meet what one event in a thousand has, in less time than rows take to be loaded.
    static let eventsMax = 10_000
    private static let windows: UInt64 = 40

    var events: [LawEvent] = []

    /// The events behind a position, the whole log where it is nil: all where they are at most `eventsMax`, else windows of consecutive
    /// events, evenly apart.
    /// - Parameter version: leaves out what was not born above it.
    init(
        _ site: MigrationSite, eventsMax: Int = Sample.eventsMax, after start: Position = .start, bornAbove version: SchemaVersion? = nil
    ) throws(EvstoreError) {
        let last = try site.last().position
        let history = try site.evolving.current().history
        var found: [LawEvent] = []
        let take = { (events: [LawEvent]) in found += version.map { version in events.filter { $0.born > version } } ?? events }
        let count = last.events(after: start)
        if count <= UInt64(clamping: eventsMax) {
            try Self.read(from: start.next.rawValue, through: last.rawValue, history, site, take)
        } else {
            let length = max(1, UInt64(clamping: eventsMax) / Self.windows)
            let (step, rest) = (count - length).quotientAndRemainder(dividingBy: Self.windows - 1)
            for window in 0 ..< Self.windows {
                try site.checkCancellation()
                let begin = start.plus(1 + window * step + window * rest / (Self.windows - 1))
                try Self.read(from: begin.rawValue, through: begin.plus(length - 1).rawValue, history, site, take)
            }
        }
        events = found
    }

    /// The events up to a position.
    init(_ site: MigrationSite, through end: Position) throws(EvstoreError) {
        var found: [LawEvent] = []
        try Self.read(from: 1, through: end.rawValue, try site.evolving.current().history, site) { found += $0 }
        events = found
    }

    /// Hands over the events between two positions, about a thousand at a time.
    static func read(
        from start: UInt64, through end: UInt64, _ history: History, _ site: MigrationSite,
        _ body: ([LawEvent]) throws(EvstoreError) -> Void
    ) throws(EvstoreError) {
        let names = StreamNames(site.log, history)
        var next = start
        while next <= end {
            var found: [LawEvent] = []
            try migrating {
                try site.log.read { reader in
                    try reader.blocks(from: Position(next)) { block in
                        for index in 0 ..< block.count {
                            let record = block.record(index)
                            guard (next ... end).contains(record.position.rawValue) else { continue }
                            let stream = try names.name(of: record, at: record.born, reader).text
                            found.append(
                                LawEvent(
                                    origin: .log, position: record.position, stream: stream, type: site.log.name(ofType: record.type),
                                    born: record.born,
                                    time: record.time, payload: [UInt8](copying: record.payload),
                                    metadata: [UInt8](copying: record.metadata), continuesAppend: record.continuesAppend,
                                    hasShadow: record.hasShadow))
                        }
                        // One transaction reads about a thousand events at most.
                        return found.count < 1_000 && block.last.rawValue < end
                    }
                }
            }
            guard let position = found.last?.position else { return }
            try body(found)
            next = position.next.rawValue
        }
    }
}
