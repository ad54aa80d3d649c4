internal import EventLog
internal import EventModel

/// A part of the log as a lens shows it, and how far it reaches.
struct ScannedPage {
    var events: [RecordedEvent] = []
    /// The last position looked at.
    var reached: Position
    /// Nothing was left beyond it at the moment of looking.
    var isLast = true
}

/// What a lens shows of the log, as far as it went when this was made, page by page; no transaction is open in between.
struct LogPages {
    private let store: EventStore
    private let lens: Lens
    private let backwards: Bool
    private let end: Position
    private var quota: Quota
    private var seen: Checkpoint
    private var isEnded = false

    init(_ store: EventStore, from: Position?, limit: Int?, backwards: Bool, _ lens: Lens) throws(EvstoreError) {
        (self.store, self.lens, self.backwards, quota) = (store, lens, backwards, Quota(limit))
        seen = try store.last()
        end = seen.position
        if backwards {
            seen.position = min(from ?? end, end).next
        } else {
            seen.position = from.map { Position($0.rawValue == 0 ? 0 : $0.rawValue - 1) } ?? .start
        }
    }

    /// The next page, which may be empty; nil at the end.
    mutating func next() throws(EvstoreError) -> [RecordedEvent]? {
        if isEnded || quota.isUsed { return nil }
        var page =
            try backwards ? store.pageBackwards(before: seen.position, lens) : store.page(after: seen, through: end, lens)
        isEnded = !quota.take(&page.events) || page.isLast
        seen.position = page.reached
        return page.events
    }
}

extension EventStore {
    /// The next part of the log after a checkpoint, up to a page full of events.
    /// - Throws: `EvstoreError.epochChanged` where a cut took off what lies before the checkpoint.
    func page(after seen: Checkpoint, through end: Position?, _ lens: Lens) throws(EvstoreError) -> ScannedPage {
        try requireValid(seen)
        var page = ScannedPage(reached: max(seen.position, end ?? seen.position))
        if let end, end <= seen.position { return page }
        let full = options.pageEventsMax
        try converting(at: path) {
            try log.scan(after: seen.position, through: end, types: lens.storedTypes) { block in
                for index in block.indices {
                    let record = block.record(index)
                    try lens.see(record, &page.events)
                    page.reached = record.position
                }
                page.isLast = page.events.count < full
                return page.isLast
            }
        }
        return page
    }

    fileprivate func pageBackwards(before position: Position, _ lens: Lens) throws(EvstoreError) -> ScannedPage {
        var page = ScannedPage(reached: position)
        let wanted = lens.storedTypes
        var rest = options.followBatchEvents
        try converting(at: path) {
            try log.read { reader in
                while rest > 0, page.reached.rawValue > 1, page.events.count < options.pageEventsMax {
                    page.reached = Position(page.reached.rawValue - 1)
                    rest -= 1
                    _ = try reader.record(at: page.reached) { record in
                        if let wanted, !wanted.contains(log.name(ofType: record.type)) { return }
                        var parts: [RecordedEvent] = []
                        try lens.see(record, &parts)
                        page.events += parts.reversed()
                    }
                }
            }
        }
        page.isLast = page.reached.rawValue <= 1
        return page
    }

    /// - Throws: `EvstoreError.epochChanged` where a cut took off what a reader at this checkpoint has seen.
    func requireValid(_ seen: Checkpoint) throws(EvstoreError) {
        // A position that is yet to come is no error here: whoever waits for it may name it.
        try converting(at: path) { try log.read { reader in try reader.requireUncut(seen) } }
    }
}
