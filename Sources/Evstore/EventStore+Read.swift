internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// A page of one stream, as seen at a version: `limit` events, or some more where the last one is one of several parts.
    ///
    /// `from` is inclusive; nil is the first event, or the last one when reading backwards. An unknown stream has no events. Reads on the
    /// calling thread, in one transaction for each `Options.pageEventsMax` events.
    /// - Throws: `EvstoreError`: noImage for an event that can't be seen at the version, programNeeded.
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int = 1_000, backwards: Bool = false,
        type: String? = nil
    ) throws(EvstoreError) -> [RecordedEvent] {
        var events: [RecordedEvent] = []
        var pages = StreamPages(self, stream, at: version, from: from, limit: limit, backwards: backwards, type: type)
        while var page = try pages.next() {
            if events.isEmpty { swap(&events, &page) } else { events += page }
        }
        return events
    }

    /// Gives the events of one stream to `body` until it returns false, as the other `read` does; no transaction is open while `body` runs.
    /// - Parameter limit: how many events at most; nil gives all.
    /// - Throws: `EvstoreError`, as the other `read` does, or what `body` throws, as it is.
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int?, backwards: Bool = false,
        type: String? = nil, _ body: (RecordedEvent) throws -> Bool
    ) throws {
        var pages = StreamPages(self, stream, at: version, from: from, limit: limit, backwards: backwards, type: type)
        while let page = try pages.next() {
            if try !page.allSatisfy(body) { return }
        }
    }

    /// What reads events at a version, the working one where nil, as of a read that is under way.
    func eventReader(at version: SchemaVersion?, type: String? = nil, _ reader: borrowing LogReader) throws -> EventReader {
        let version = version ?? programVersion ?? reader.stamp.live
        return try EventReader(log, history(serving: version, evolving.history(reader)), at: version, type: type)
    }

    /// A page in a read transaction of its own.
    func page(of stream: StreamName, _ eventReader: EventReader, _ from: Revision?, limit: Int) throws(EvstoreError) -> StreamPage {
        try converting(at: path) { try log.read { try page(of: stream, eventReader, from, false, limit: limit, $0) } }
    }

    fileprivate func page(
        of stream: StreamName, _ eventReader: EventReader, _ from: Revision?, _ backwards: Bool, limit: Int,
        _ reader: borrowing LogReader
    ) throws -> StreamPage {
        var page = StreamPage(limit: limit)
        guard let stream = try eventReader.storedName(of: stream, reader) else { return page }
        var count = 0
        let start = from ?? Revision(backwards ? .max : 0)
        try reader.stream(stream, from: start, limit: limit, backwards: backwards) { record in
            let first = page.events.count
            try eventReader.read(record, reader, into: &page.events)
            if backwards { page.events[first...].reverse() }
            (page.last, count) = (record.revision, count + 1)
            return true
        }
        page.isLast = count < limit
        return page
    }

    /// The event at a position as it was stored; nil where there is none. One short read transaction on the calling thread.
    public func event(at position: Position) throws(EvstoreError) -> RecordedEvent? {
        var events: [RecordedEvent] = []
        try converting(at: path) {
            try log.read { reader in
                let eventReader = try EventReader(log, evolving.history(reader), at: nil)
                _ = try reader.record(at: position) { record in try eventReader.read(record, reader, into: &events) }
            }
        }
        return events.first
    }

    /// Gives the whole log in the order of its positions to `body`, from `from` on, until it returns false.
    ///
    /// Reads on the calling thread, page by page; no transaction is open while `body` runs.
    ///
    /// - Parameters:
    ///   - limit: how many events at most, or some more where the last one is one of several parts; nil gives all.
    ///   - type: the type as it is called at the version; the steps tell which stored types can become it.
    /// - Throws: `EvstoreError`: noImage, programNeeded; or what `body` throws, as it is.
    public func readAll(
        at version: SchemaVersion? = nil, from: Position? = nil, limit: Int? = nil, backwards: Bool = false, type: String? = nil,
        _ body: (RecordedEvent) throws -> Bool
    ) throws {
        let evolution = try evolving.current()
        let version = effective(version, evolution)
        let eventReader = try EventReader(log, try history(serving: version, evolution.history), at: version, type: type)
        var pages = LogPages(self, through: evolution.last, from: from, limit: limit, backwards: backwards, eventReader)
        while let page = try pages.next() {
            if try !page.allSatisfy(body) { return }
        }
    }
}

/// The events of one stream, a page in a read transaction of its own, until nothing is left or as many as were asked for were given.
private struct StreamPages {
    private let store: EventStore
    private let stream: StreamName
    private let version: SchemaVersion?
    private let backwards: Bool
    private let type: String?
    /// Of the first page: its evolution holds for those after it.
    private var eventReader: EventReader?
    private var quota: Quota
    private var from: Revision?
    /// More than is asked for is read only where what was read is not what is wanted.
    private var size: Int
    private var isEnded = false

    init(
        _ store: EventStore, _ stream: StreamName, at version: SchemaVersion?, from: Revision?, limit: Int?, backwards: Bool, type: String?
    ) {
        (self.store, self.stream, self.version, self.from) = (store, stream, version, from)
        (self.backwards, self.type, quota) = (backwards, type, Quota(limit))
        size = min(store.options.pageEventsMax, quota.rest)
    }

    /// The next page, which may be empty; nil at the end.
    mutating func next() throws(EvstoreError) -> [RecordedEvent]? {
        if isEnded { return nil }
        var page = try converting(at: store.path) {
            try store.log.read { reader in
                let known = try eventReader ?? store.eventReader(at: version, type: type, reader)
                eventReader = known
                return try store.page(of: stream, known, from, backwards, limit: size, reader)
            }
        }
        let isWhole = quota.take(&page.events)
        if isWhole, !quota.isUsed, !page.isLast, let last = page.last, !backwards || last > .first {
            from = Revision(backwards ? last.rawValue - 1 : last.rawValue + 1)
            size = min(store.options.pageEventsMax, size * 4)
        } else {
            isEnded = true
        }
        return page.events
    }
}

/// One short read transaction's worth of a stream.
struct StreamPage {
    var events: [RecordedEvent] = []
    /// The last revision that was looked at; nil where there was none.
    var last: Revision?
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
