internal import EventLog
internal import EventModel

/// A part of the log as an event reader shows it, and how far it reaches.
struct ScannedPage {
    var events: [RecordedEvent] = []
    /// The last position looked at.
    var reached: Position
    /// Nothing was left beyond it at the moment of looking.
    var isLast = true
}

/// What an event reader shows of the log up to an event, page by page; no transaction is open in between.
struct LogPages {
    private let store: EventStore
    private let eventReader: EventReader
    private let backwards: Bool
    /// The last event that is shown, first of all on the way back.
    private var end: Checkpoint
    private var quota: Quota
    private var seen: Checkpoint
    private var isEnded = false

    /// All of it up to `last`, or of that what lies before `from`, backwards.
    init(_ eventReader: EventReader, through last: Checkpoint, from: Position?, limit: Int?, backwards: Bool) {
        (store, self.eventReader, self.backwards, quota) = (eventReader.store, eventReader, backwards, Quota(limit))
        (seen, end) = (last, last)
        if backwards {
            end.position = min(from ?? last.position, last.position)
            seen.position = end.position.next
        } else {
            seen.position = from?.previous ?? .start
        }
    }

    /// The next page, which may be empty; nil at the end.
    mutating func next() throws(EvstoreError) -> [RecordedEvent]? {
        if isEnded || quota.isUsed { return nil }
        var page =
            try backwards
            ? store.page(before: seen.position, since: end, eventReader)
            : store.page(after: seen, through: end.position, eventReader)
        isEnded = !quota.take(&page.events) || page.isLast
        seen.position = page.reached
        return page.events
    }
}

extension EventStore {
    /// The next part of the log after a checkpoint, up to a page full of events.
    /// - Throws: `EvstoreError.epochChanged` where a cut took off what lies before the checkpoint.
    func page(after seen: Checkpoint, through end: Position?, _ eventReader: EventReader) throws(EvstoreError) -> ScannedPage {
        var page = ScannedPage(reached: max(seen.position, end ?? seen.position))
        if let end, end <= seen.position {
            try requireValid(seen)
            return page
        }
        let full = options.pageEventsMax
        try converting(at: path) {
            try log.scan(after: seen.position, in: seen.epoch, through: end, types: eventReader.storedTypes) { block, reader in
                for index in block.indices {
                    let record = block.record(index)
                    try eventReader.read(record, reader, into: &page.events)
                    page.reached = record.position
                }
                page.isLast = page.events.count < full
                return page.isLast
            }
        }
        return page
    }

    /// The part of the log before a position, backwards, for who began at `end`.
    /// - Throws: `EvstoreError.epochChanged` where a cut took off what lies between.
    fileprivate func page(
        before position: Position, since end: Checkpoint, _ eventReader: EventReader
    ) throws(EvstoreError) -> ScannedPage {
        var page = ScannedPage(reached: position)
        let wanted = eventReader.storedTypes
        var rest = options.followBatchEvents
        try converting(at: path) {
            try log.read { reader in
                try requireValid(end, reader)
                while rest > 0, page.reached.rawValue > 1, page.events.count < options.pageEventsMax {
                    page.reached = page.reached.previous
                    rest -= 1
                    _ = try reader.record(at: page.reached) { record in
                        if let wanted, !wanted.contains(log.name(ofType: record.type)) { return }
                        var parts: [RecordedEvent] = []
                        try eventReader.read(record, reader, into: &parts)
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
        try converting(at: path) { try log.read { reader in try requireValid(seen, reader) } }
    }

    /// The same, in a read that is under way. A position that is not reached yet is no error, since a subscription may wait for it.
    func requireValid(_ seen: Checkpoint, _ reader: borrowing LogReader) throws { try reader.requireUncut(seen) }
}
