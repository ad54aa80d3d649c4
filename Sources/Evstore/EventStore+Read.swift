internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// A page of one stream, as seen at a version: `limit` events, or some more where the last one is one of several parts.
    ///
    /// `from` is inclusive; nil is the first event, or the last one when reading backwards. An unknown stream has no events.
    /// Blocks the calling thread: it waits for the disk, in a read transaction for each `Options.pageEventsMax` events.
    /// - Throws: `EvstoreError`: noImage for an event that can't be seen at the version, programNeeded, epochChanged where a cut took off
    ///   what was read.
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int = 1_000, backwards: Bool = false,
        type: String? = nil
    ) throws(EvstoreError) -> [RecordedEvent] {
        var events: [RecordedEvent] = []
        var pages = StreamPages(self, StreamPlace(stream, from: from, backwards: backwards), at: version, limit: limit, type: type)
        while var page = try pages.next() {
            if events.isEmpty { swap(&events, &page) } else { events += page }
        }
        return events
    }

    /// Gives the events of one stream to `body` until it returns false, as the other `read` does; no transaction is open while `body` runs.
    ///
    /// Blocks the calling thread: it waits for the disk, in a read transaction for each page.
    /// - Parameter limit: how many events at most; nil gives all.
    /// - Throws: `EvstoreError` (epochChanged where a cut took off what was read), as the other `read` does, or what `body` throws, as it is.
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int?, backwards: Bool = false,
        type: String? = nil, _ body: (RecordedEvent) throws -> Bool
    ) throws {
        var pages = StreamPages(self, StreamPlace(stream, from: from, backwards: backwards), at: version, limit: limit, type: type)
        while let page = try pages.next() {
            if try !page.allSatisfy(body) { return }
        }
    }

    /// What reads events at a version, the working one where nil, as of a read that is under way.
    func eventReader(at version: SchemaVersion?, type: String? = nil, _ reader: borrowing LogReader) throws -> EventReader {
        let version = version ?? programVersion ?? reader.stamp.live
        return try EventReader(self, history(serving: version, evolving.history(reader)), at: version, type: type)
    }

    /// The page at a place, which is then behind it.
    func page(at place: inout StreamPlace, _ eventReader: EventReader, _ reader: borrowing LogReader) throws -> StreamPage {
        if let seen = place.seen { try requireValid(seen, reader) }
        place.seen = Checkpoint(epoch: reader.last.epoch, position: place.seen?.position ?? .start)
        var page = StreamPage(limit: place.limit)
        guard let stream = try eventReader.storedName(of: place.stream, reader) else { return page }
        let backwards = place.backwards
        var count = 0
        try reader.stream(stream, from: place.start, limit: place.limit, backwards: backwards) { record in
            let first = page.events.count
            try eventReader.read(record, reader, into: &page.events)
            if backwards { page.events[first...].reverse() }
            place.pass(record.revision, record.position)
            count += 1
            return true
        }
        page.isLast = count < place.limit || place.isAtEnd
        return page
    }

    /// The event at a position as it was stored; nil where there is none. Blocks the calling thread for one short read transaction.
    public func event(position: Position) throws(EvstoreError) -> RecordedEvent? {
        var events: [RecordedEvent] = []
        try converting(at: path) {
            try log.read { reader in
                let eventReader = try EventReader(self, evolving.history(reader), at: nil)
                _ = try reader.record(at: position) { record in try eventReader.read(record, reader, into: &events) }
            }
        }
        return events.first
    }

    /// Gives the whole log in the order of its positions to `body`, from `from` on, until it returns false.
    ///
    /// Blocks the calling thread: it waits for the disk, page by page; no transaction is open while `body` runs.
    ///
    /// - Parameters:
    ///   - limit: how many events at most, or some more where the last one is one of several parts; nil gives all.
    ///   - type: the type as it is called at the version; the steps tell which stored types can become it.
    /// - Throws: `EvstoreError`: noImage, programNeeded, epochChanged where a cut took off what was read; or what `body` throws, as it is.
    public func readAll(
        at version: SchemaVersion? = nil, from: Position? = nil, limit: Int? = nil, backwards: Bool = false, type: String? = nil,
        _ body: (RecordedEvent) throws -> Bool
    ) throws {
        let evolution = try evolving.current()
        let version = effective(version, evolution)
        let eventReader = try EventReader(self, try history(serving: version, evolution.history), at: version, type: type)
        var pages = LogPages(eventReader, through: evolution.last, from: from, limit: limit, backwards: backwards)
        while let page = try pages.next() {
            if try !page.allSatisfy(body) { return }
        }
    }
}

/// The events of one stream, a page in a read transaction of its own, until nothing is left or as many as were asked for were given.
private struct StreamPages {
    private let store: EventStore
    private let version: SchemaVersion?
    private let type: String?
    /// Of the first page: its evolution holds for those after it.
    private var eventReader: EventReader?
    private var quota: Quota
    private var place: StreamPlace
    private var isEnded = false

    init(_ store: EventStore, _ place: StreamPlace, at version: SchemaVersion?, limit: Int?, type: String?) {
        (self.store, self.place, self.version, self.type, quota) = (store, place, version, type, Quota(limit))
        self.place.limit = min(store.options.pageEventsMax, quota.rest)
    }

    /// The next page, which may be empty; nil at the end.
    mutating func next() throws(EvstoreError) -> [RecordedEvent]? {
        if isEnded { return nil }
        var page = try converting(at: store.path) {
            try store.log.read { reader in
                let known = try eventReader ?? store.eventReader(at: version, type: type, reader)
                eventReader = known
                return try store.page(at: &place, known, reader)
            }
        }
        isEnded = !quota.take(&page.events) || quota.isUsed || page.isLast
        // More than is asked for is read only where what was read is not what is wanted.
        place.limit = min(store.options.pageEventsMax, place.limit * 4)
        return page.events
    }
}

/// Where the next page of a stream begins, and what was looked at before it.
struct StreamPlace {
    let stream: StreamName
    let backwards: Bool
    /// How many events of the stream a page looks at.
    var limit: Int
    /// The highest position that was looked at, and the epoch; nil before the first page.
    var seen: Checkpoint?
    /// The revision that was looked at last; nil before the first.
    var last: Revision?
    private let from: Revision?

    /// - Parameter from: the first revision to look at; nil is the stream's first, or its last one backwards.
    init(_ stream: StreamName, from: Revision? = nil, backwards: Bool = false, limit: Int = 0) {
        (self.stream, self.from, self.backwards, self.limit) = (stream, from, backwards, limit)
    }

    /// Whether nothing comes after the revision that was looked at last.
    var isAtEnd: Bool { backwards && last == .first }

    var start: Revision {
        guard let last, !isAtEnd else { return from ?? Revision(backwards ? .max : 0) }
        return backwards ? last.previous : last.next
    }

    mutating func pass(_ revision: Revision, _ position: Position) {
        last = revision
        if let seen, seen.position < position { self.seen?.position = position }
    }
}

/// One short read transaction's worth of a stream.
struct StreamPage {
    var events: [RecordedEvent] = []
    /// Whether nothing was left beyond it.
    var isLast = true

    init(limit: Int) {
        // Most streams are short.
        events.reserveCapacity(min(limit, 16))
    }
}

/// How many more events may be shown; the parts of one event are never parted.
struct Quota {
    private(set) var rest: Int
    private var last: Position?

    init(_ limit: Int?) { rest = limit ?? .max }

    /// Leaves of the events those that may be shown; false where that is not all of them.
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

    /// Nothing more needs to be looked for.
    var isUsed: Bool { rest <= 0 }

    private mutating func takes(_ event: RecordedEvent) -> Bool {
        if isUsed, event.position != last { return false }
        (rest, last) = (rest - 1, event.position)
        return true
    }
}
