internal import EventLog
internal import EventModel
internal import Projections

/// A place in the log or in one stream, from which records are read page by page, usually by an `EventConverter`, which makes events of
/// them. Each page is read in one or more read transactions of its own; none is open between two pages.
struct EventCursor {
    let store: EventStore
    /// Nil: the whole log.
    private let stream: StreamName?
    private let backwards: Bool
    /// Where reading begins.
    private let start: Start
    private var quota: EventQuota
    /// How many events of a stream the next page looks at.
    private var pageEvents: Int

    /// The checkpoint up to which the log was read; backwards, the one from which on it was read.
    private(set) var seen: Checkpoint
    /// The revision that was read last in the stream; nil before the first, and for the whole log.
    private(set) var last: Revision?
    /// Whether nothing is left behind the last page.
    private(set) var isAtEnd = false

    private enum Start {
        /// At a revision of a stream; nil is its first event, or its last one backwards.
        case revision(Revision?)
        /// Behind `seen`, or before it backwards; the cursor does not read events after `top`.
        case position(top: Checkpoint)
    }

    /// Reads the events of a stream.
    /// - Parameters:
    ///   - from: the first revision; nil is the stream's first, or its last one backwards.
    ///   - limit: the most events, or some more where the last one is one of several parts; nil gives all.
    init(_ store: EventStore, of stream: StreamName, from: Revision? = nil, backwards: Bool = false, limit: Int? = nil) {
        (self.store, self.stream, self.backwards, start) = (store, stream, backwards, .revision(from))
        (seen, quota) = (.start, EventQuota(limit))
        pageEvents = min(Self.most(store), quota.rest)
    }

    /// Reads the events after a checkpoint, of a stream or, where it is nil, of the whole log.
    init(_ store: EventStore, of stream: StreamName? = nil, after checkpoint: Checkpoint) {
        (self.store, self.stream, backwards, seen) = (store, stream, false, checkpoint)
        // The log's beginning is also each stream's beginning: no search is needed.
        start = stream != nil && checkpoint.position == .start ? .revision(nil) : .position(top: checkpoint)
        (quota, pageEvents) = (EventQuota(nil), Self.most(store))
    }

    /// Reads the whole log up to `end`, from a position on or backwards from it.
    init(_ store: EventStore, through end: Checkpoint, from: Position?, backwards: Bool, limit: Int?) {
        (self.store, stream, self.backwards) = (store, nil, backwards)
        (quota, pageEvents) = (EventQuota(limit), Self.most(store))
        let top = Checkpoint(epoch: end.epoch, position: min(from ?? end.position, end.position))
        start = .position(top: top)
        seen = Checkpoint(epoch: end.epoch, position: backwards ? top.position.next : from?.previous ?? .start)
    }

    /// The most events of a page. At least one: a page of none would never end.
    private static func most(_ store: EventStore) -> Int { max(store.options.pageEventsMax, 1) }

    /// Continues behind what was read before.
    mutating func resume(behind last: Revision, _ seen: Checkpoint) { (self.last, self.seen) = (last, seen) }

    /// Whether no page is left: nothing is left behind the last one, or the limit is reached.
    var isEnded: Bool { isAtEnd || quota.isUsed }

    /// The next page, which may be empty.
    /// - Parameter end: the log's end, or a place before it, in the epoch of its end: nothing behind it is read. What is read counts as
    ///   read in this epoch, even if a cut comes meanwhile. Nil is the log's end as of the page.
    /// - Throws: `EvstoreError.epochChanged` where a cut took off what was read before. A page that fails moves nothing.
    mutating func page(_ visitor: some RecordVisitor, through end: Checkpoint? = nil) throws(EvstoreError) -> [RecordedEvent] {
        if stream != nil {
            return try store.log.reading { reader in try page(visitor, through: end, reader) }
        }
        var events = try backwards ? pageBefore(visitor) : pageAfter(visitor, through: end ?? seen)
        if !quota.take(&events) { isAtEnd = true }
        return events
    }

    /// The next page of a stream, within a read that is already open.
    mutating func page(
        _ visitor: some RecordVisitor, through end: Checkpoint? = nil, _ reader: borrowing LogReader
    ) throws -> [RecordedEvent] {
        var events: [RecordedEvent] = []
        if seen.position > .start { try reader.requireUncut(seen) }
        var reached = Checkpoint(epoch: (end ?? reader.last).epoch, position: seen.position)
        guard let stream, let stored = try visitor.storedName(of: stream, reader), let first = try firstRevision(stored, reader) else {
            (seen, isAtEnd) = (reached.reaching(end), true)
            return events
        }
        // Most streams are short.
        events.reserveCapacity(min(pageEvents, 16))
        var (revision, count) = (last, 0)
        try reader.stream(stored, from: first, limit: pageEvents, backwards: backwards) { record in
            if let end, record.position > end.position { return false }
            let begin = events.count
            try visitor.read(record, reader, into: &events)
            if backwards { events[begin...].reverse() }
            (revision, count) = (record.revision, count + 1)
            reached.position = max(reached.position, record.position)
            return !quota.isUsed(by: events)
        }
        last = revision
        isAtEnd = count < pageEvents && !quota.isUsed(by: events) || backwards && last == .first
        seen = isAtEnd ? reached.reaching(end) : reached
        if !quota.take(&events) { isAtEnd = true }
        // Pages grow only where the events that were read are not the wanted ones.
        let most = Self.most(store)
        pageEvents = pageEvents > most / 4 ? most : pageEvents * 4
        return events
    }

    /// The revision at which the next page of a stream begins; nil where there is none.
    private func firstRevision(_ stored: StreamName, _ reader: borrowing LogReader) throws -> Revision? {
        if let last { return !backwards ? last.next : last == .first ? nil : last.previous }
        guard case .position(let top) = start else {
            if case .revision(let from?) = start { return from }
            return backwards ? Revision(.max) : .first
        }
        guard let head = try reader.head(of: stored), head.position > top.position else { return nil }
        var first = head.revision
        try reader.stream(stored, from: head.revision, limit: .max, backwards: true) { record in
            if record.position > top.position { first = record.revision }
            return record.position > top.position
        }
        return first
    }

    /// Whether neither the caller nor the visitor wants more than these events of the page.
    private func isEnough(_ events: [RecordedEvent], _ visitor: some RecordVisitor) -> Bool {
        quota.isUsed(by: events) || visitor.isFull
    }

    private mutating func pageAfter(_ visitor: some RecordVisitor, through end: Checkpoint) throws(EvstoreError) -> [RecordedEvent] {
        if end.position <= seen.position {
            try store.requireValid(seen)
            (seen.epoch, isAtEnd) = (end.epoch, true)
            return []
        }
        var (events, reached): ([RecordedEvent], Position) = ([], seen.position)
        try converting(at: store.path) {
            try store.log.scan(after: seen.position, in: seen.epoch, through: end.position, types: visitor.storedTypes) {
                block, reader in
                for index in block.indices {
                    let record = block.record(index)
                    try visitor.read(record, reader, into: &events)
                    reached = record.position
                    if isEnough(events, visitor) { return false }
                }
                return events.count < pageEvents
            }
        }
        isAtEnd = events.count < pageEvents && !isEnough(events, visitor) || reached >= end.position
        seen = isAtEnd ? end : Checkpoint(epoch: end.epoch, position: reached)
        return events
    }

    private mutating func pageBefore(_ visitor: some RecordVisitor) throws(EvstoreError) -> [RecordedEvent] {
        guard case .position(let top) = start else { return [] }
        var (events, reached): ([RecordedEvent], Position) = ([], seen.position)
        var rest = store.options.followBatchEvents
        let types = visitor.storedTypes
        let end = ContinuousClock.Instant.within(store.options.readSlice)
        try store.log.reading { reader in
            try reader.requireUncut(top)
            let wanted = try types.map { try reader.wanted($0) }
            while rest > 0, reached > Position(1), events.count < pageEvents, !isEnough(events, visitor) {
                let passedOver = try reader.blockBackwards(from: reached.previous, types: wanted) { record in
                    (reached, rest) = (record.position, rest - 1)
                    if types?.contains(store.log.name(ofType: record.type)) ?? true {
                        let begin = events.count
                        try visitor.read(record, reader, into: &events)
                        events[begin...].reverse()
                    }
                    return rest > 0 && events.count < pageEvents && !isEnough(events, visitor)
                }
                if let passedOver { (reached, rest) = (passedOver, rest - 1) }
                if ContinuousClock.now >= end { break }
            }
        }
        seen.position = reached
        isAtEnd = reached <= Position(1) || visitor.isFull
        return events
    }
}

extension Checkpoint {
    /// This checkpoint, or `end` where that lies behind it.
    fileprivate func reaching(_ end: Checkpoint?) -> Checkpoint {
        Checkpoint(epoch: epoch, position: max(position, end?.position ?? position))
    }
}

/// How many more events may be given. The parts of one event are never separated.
private struct EventQuota {
    private(set) var rest: Int
    private var last: Position?

    init(_ limit: Int?) { rest = limit ?? .max }

    /// Whether no more events may be given.
    var isUsed: Bool { rest <= 0 }

    /// Whether no more may be given once these are.
    func isUsed(by events: [RecordedEvent]) -> Bool { events.count >= rest }

    /// Removes the events beyond the limit; returns false where it removed any.
    mutating func take(_ events: inout [RecordedEvent]) -> Bool {
        if events.count <= rest {
            rest -= events.count
            last = events.last?.position ?? last
            return true
        }
        let count = events.firstIndex { !takes($0) } ?? events.count
        defer { events.removeSubrange(count...) }
        return count == events.count
    }

    private mutating func takes(_ event: RecordedEvent) -> Bool {
        if isUsed, event.position != last { return false }
        (rest, last) = (rest - 1, event.position)
        return true
    }
}

extension EventStore {
    /// - Throws: `EvstoreError.epochChanged` where a cut took off events that a reader at this checkpoint has seen.
    func requireValid(_ seen: Checkpoint) throws(EvstoreError) {
        try log.reading { reader in try reader.requireUncut(seen) }
    }
}
