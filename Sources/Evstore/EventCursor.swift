internal import EventLog
internal import EventModel
internal import Logging
internal import Platform
internal import Projections
internal import SchemaEvolution

/// A place in the log or in one stream, from which records are read page by page, usually by an `EventConverter`, which makes events of
/// them. Each page is read in one or more read transactions of its own; none is open between two pages.
struct EventCursor {
    let store: EventStore
    /// Nil: the whole log.
    private let stream: StreamName?
    private let backwards: Bool
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

    /// For `next`: what its converter is made for if it reads a stream, the converter, and the last position of a read of the log.
    private let version: SchemaVersion?
    private let query: EventQuery?
    private var converter: EventConverter?
    let end: Checkpoint?
    /// Where the events lie that may match, as far as the index of tags reaches, and those of them that are read next. Nil where each event
    /// is looked at.
    private var postings: TagPostings?
    private var found: ArraySlice<Position> = []
    /// Whether the index finds no more.
    private var isExhausted = false

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
    ///   - version: the version at which `next` sees events; nil is the working version.
    ///   - query: which events `next` gives; nil gives all.
    init(
        _ store: EventStore, of stream: StreamName, from: Revision? = nil, backwards: Bool = false, limit: Int? = nil,
        at version: SchemaVersion? = nil, matching query: EventQuery? = nil
    ) {
        (self.store, self.stream, self.backwards, start) = (store, stream, backwards, .revision(from))
        (self.version, self.query, end) = (version, query, nil)
        (seen, quota) = (.start, EventQuota(limit))
        pageEvents = min(Self.most(store), quota.rest)
    }

    /// Reads the events after a checkpoint, of a stream or, where it is nil, of the whole log.
    init(_ store: EventStore, of stream: StreamName? = nil, after checkpoint: Checkpoint) {
        (self.store, self.stream, backwards, seen) = (store, stream, false, checkpoint)
        (version, query, end) = (nil, nil, nil)
        // The log's beginning is also each stream's beginning: no search is needed.
        start = stream != nil && checkpoint.position == .start ? .revision(nil) : .position(top: checkpoint)
        (quota, pageEvents) = (EventQuota(nil), Self.most(store))
    }

    /// Reads the whole log up to `end`, from a position on or backwards from it.
    /// - Parameter converter: what `next` converts events with.
    init(
        _ store: EventStore, through end: Checkpoint, from: Position?, backwards: Bool, limit: Int?, _ converter: EventConverter? = nil
    ) {
        (self.store, stream, self.backwards) = (store, nil, backwards)
        (version, query, self.converter, self.end) = (nil, nil, converter, end)
        (quota, pageEvents) = (EventQuota(limit), Self.most(store))
        let top = Checkpoint(epoch: end.epoch, position: min(from ?? end.position, end.position))
        start = .position(top: top)
        seen = Checkpoint(epoch: end.epoch, position: backwards ? top.position.next : from?.previous ?? .start)
    }

    /// The most events of a page. At least one: a page of none would never end.
    private static func most(_ store: EventStore) -> Int { max(store.options.pageEventsMax, 1) }

    /// Lets the index of tags say which events of the log are looked at, as far as it reaches. It has been made for what is read.
    mutating func use(_ postings: TagPostings?) { (self.postings, found, isExhausted) = (postings, [], false) }

    /// How far the index reaches.
    private var indexed: Position { postings?.checkpoint.position ?? .start }

    mutating func resume(behind last: Revision, _ seen: Checkpoint) { (self.last, self.seen) = (last, seen) }

    /// The events without an image that were left out.
    var leftOut: Int { converter?.leftOut ?? 0 }

    /// Whether no page is left: nothing is left behind the last one, or the limit is reached.
    var isEnded: Bool { isAtEnd || quota.isUsed }

    /// The next page of events as they are seen at the version, with the steps that the store has at the first page. It may be empty; nil
    /// at the end.
    mutating func next() throws(EvstoreError) -> [RecordedEvent]? {
        if isEnded { return nil }
        if let converter { return try page(converter, through: end) }
        return try store.log.reading { reader in
            let made = try store.converter(at: version, matching: query, reader)
            converter = made
            return try page(made, through: nil, reader)
        }
    }

    /// The next page of what a visitor makes of the records, which may be empty.
    /// - Parameter end: the log's end, or a place before it, in the epoch of its end: nothing behind it is read. What is read counts as
    ///   read in this epoch, even if a cut comes meanwhile. Nil is the log's end as of the page.
    /// - Throws: `EvstoreError.epochChanged` where a cut took off what was read before. A page that fails moves nothing.
    mutating func page(_ visitor: some RecordVisitor, through end: Checkpoint? = nil) throws(EvstoreError) -> [RecordedEvent] {
        if stream != nil {
            return try store.log.reading { reader in try page(visitor, through: end, reader) }
        }
        if postings != nil, backwards ? seen.position <= indexed.next : seen.position < indexed {
            visitor.come(in: .stream)
            if var events = try pageOfFound(visitor, through: end) {
                if !quota.take(&events) { isAtEnd = true }
                return events
            }
            use(nil)
        }
        visitor.come(in: .log)
        var events = try backwards ? pageBefore(visitor) : pageAfter(visitor, through: end ?? seen)
        if !quota.take(&events) { isAtEnd = true }
        return events
    }

    /// The next page of a stream, within a read that is already open.
    private mutating func page(
        _ visitor: some RecordVisitor, through end: Checkpoint?, _ reader: borrowing LogReader
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
        var (revision, count, isStopped) = (last, 0, false)
        try reader.stream(stored, from: first, limit: pageEvents, backwards: backwards) { record in
            if let end, record.position > end.position { return false }
            isStopped = try !take(record, by: visitor, reader, into: &events)
            if isStopped { return false }
            (revision, count) = (record.revision, count + 1)
            reached.position = max(reached.position, record.position)
            return !quota.isUsed(by: events)
        }
        last = revision
        isAtEnd = count < pageEvents && !quota.isUsed(by: events) && !isStopped || backwards && last == .first
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

    /// Takes in a record. If that fails behind other events, the page ends before the record, and the next page fails: whoever reads gets
    /// every event before the one that can't be shown.
    /// - Returns: false where the page ends.
    private func take(
        _ record: borrowing RecordView, by visitor: some RecordVisitor, _ reader: borrowing LogReader, into events: inout [RecordedEvent]
    ) throws -> Bool {
        let begin = events.count
        do { try visitor.read(record, reader, into: &events) } catch {
            if begin == 0 { throw error }
            events.removeSubrange(begin...)
            return false
        }
        if backwards { events[begin...].reverse() }
        return true
    }

    /// Whether neither the caller nor the visitor wants more than these events of the page.
    private func isEnough(_ events: [RecordedEvent], _ visitor: some RecordVisitor) -> Bool {
        quota.isUsed(by: events) || visitor.isFull
    }

    /// The next page of those events that the index has found. The page behind the last of them is empty.
    /// - Returns: nil where the index can't be used any more: a cut has begun another epoch, or it is damaged.
    private mutating func pageOfFound(
        _ visitor: some RecordVisitor, through end: Checkpoint?
    ) throws(EvstoreError) -> [RecordedEvent]? {
        guard let known = postings?.checkpoint, known.epoch == end?.epoch ?? known.epoch else { return nil }
        let limit = backwards ? known.position : min(known.position, end?.position ?? known.position)
        guard try findNext(through: limit) else { return nil }
        var (events, place, taken, isUncut): ([RecordedEvent], Position, Int, Bool) = ([], seen.position, 0, true)
        let sliceEnd = Instant.within(store.options.readSlice)
        try store.log.reading { reader in
            if case .position(let top) = start { try reader.requireUncut(backwards ? top : seen) }
            isUncut = reader.last.epoch == known.epoch
            if !isUncut { return }
            for position in found {
                if position > limit || isEnough(events, visitor) || events.count >= pageEvents || Instant.now >= sliceEnd { return }
                let isTaken = try reader.record(at: position) { record in try take(record, by: visitor, reader, into: &events) }
                if isTaken == false { return }
                (place, taken) = (position, taken + 1)
            }
        }
        if !isUncut { return nil }
        found.removeFirst(taken)
        // Order: everything up to the limit, or down to the log's beginning, counts as read once nothing is left that was found.
        let isDone = found.first.map { $0 > limit } ?? isExhausted
        let reached = isDone ? (backwards ? Position(1) : limit) : place
        seen = Checkpoint(epoch: backwards ? seen.epoch : known.epoch, position: reached)
        isAtEnd = isDone && (backwards || end.map { limit >= $0.position } ?? false)
        return events
    }

    /// Has the index find as many events as a page may have, up to a position.
    /// - Returns: false where it is damaged.
    private mutating func findNext(through limit: Position) throws(EvstoreError) -> Bool {
        while found.count < min(pageEvents, quota.rest), !isExhausted, backwards || found.last.map({ $0 <= limit }) ?? true {
            do throws(EvstoreError) {
                guard let more = try postings?.next() else {
                    isExhausted = true
                    break
                }
                found += more.filter { backwards ? $0 < seen.position : $0 > seen.position }
            } catch {
                guard case .storeDamaged(let what, let reason) = error, store.isReadModel(what) else { throw error }
                store.logger.warning(
                    "the index of tags is damaged: events are looked at one by one", metadata: ["path": "\(what)", "reason": "\(reason)"])
                return false
            }
        }
        return true
    }

    private mutating func pageAfter(_ visitor: some RecordVisitor, through end: Checkpoint) throws(EvstoreError) -> [RecordedEvent] {
        if end.position <= seen.position {
            try store.requireValid(seen)
            (seen.epoch, isAtEnd) = (end.epoch, true)
            return []
        }
        var (events, reached, isStopped): ([RecordedEvent], Position, Bool) = ([], seen.position, false)
        try converting(at: store.path) {
            try store.log.scan(after: seen.position, in: seen.epoch, through: end.position, types: visitor.storedTypes) {
                block, reader in
                for index in block.indices {
                    let record = block.record(index)
                    isStopped = try !take(record, by: visitor, reader, into: &events)
                    if isStopped { return false }
                    reached = record.position
                    if isEnough(events, visitor) { return false }
                }
                return events.count < pageEvents
            }
        }
        isAtEnd = events.count < pageEvents && !isEnough(events, visitor) && !isStopped || reached >= end.position
        seen = isAtEnd ? end : Checkpoint(epoch: end.epoch, position: reached)
        return events
    }

    private mutating func pageBefore(_ visitor: some RecordVisitor) throws(EvstoreError) -> [RecordedEvent] {
        guard case .position(let top) = start else { return [] }
        var (events, reached, isStopped): ([RecordedEvent], Position, Bool) = ([], seen.position, false)
        var rest = store.options.followBatchEvents
        let types = visitor.storedTypes
        let end = Instant.within(store.options.readSlice)
        try store.log.reading { reader in
            try reader.requireUncut(top)
            let wanted = try types.map { try reader.wanted($0) }
            while rest > 0, reached > indexed.next, events.count < pageEvents, !isEnough(events, visitor) {
                let passedOver = try reader.blockBackwards(from: reached.previous, types: wanted) { record in
                    if record.position <= indexed { return false }
                    let isWanted = types?.contains(store.log.name(ofType: record.type)) ?? true
                    isStopped = try isWanted && !take(record, by: visitor, reader, into: &events)
                    if isStopped { return false }
                    (reached, rest) = (record.position, rest - 1)
                    return rest > 0 && events.count < pageEvents && !isEnough(events, visitor)
                }
                if let passedOver { (reached, rest) = (passedOver, rest - 1) }
                if isStopped || Instant.now >= end { break }
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

    var isUsed: Bool { rest <= 0 }

    func isUsed(by events: [RecordedEvent]) -> Bool { events.count >= rest }

    /// Removes the events beyond the limit; returns false where it removed any.
    mutating func take(_ events: inout [RecordedEvent]) -> Bool {
        let beyond = (min(max(rest, 0), events.count) ..< events.count).first { index in
            events[index].position != (index == 0 ? last : events[index - 1].position)
        }
        if let beyond { events.removeSubrange(beyond...) }
        (rest, last) = (rest - events.count, events.last?.position ?? last)
        return beyond == nil
    }
}

extension EventStore {
    /// - Throws: `EvstoreError.epochChanged` where a cut took off events that a reader at this checkpoint has seen.
    func requireValid(_ seen: Checkpoint) throws(EvstoreError) {
        try log.reading { reader in try reader.requireUncut(seen) }
    }
}
