internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// The events of one stream, as seen at a version: all of them, or `limit`, or some more where the last one is one of several parts.
    /// An unknown stream has no events.
    ///
    /// Blocks the calling thread: it waits for the disk, in a read transaction for each `Options.pageEventsMax` events. Of a long stream
    /// `events(in:)` gives one after the other, and holds a page of them.
    /// - Parameters:
    ///   - from: the first revision, inclusive; nil is the first event, or the last one when reading backwards.
    ///   - type: the type as it is called at the version; nil gives all.
    /// - Throws: `EvstoreError`: noImage for an event that can't be seen at the version, programNeeded, epochChanged where a cut took off
    ///   what was read.
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int? = nil, backwards: Bool = false,
        type: String? = nil
    ) throws(EvstoreError) -> [RecordedEvent] {
        var events: [RecordedEvent] = []
        var read = EventRead(EventCursor(self, of: stream, from: from, backwards: backwards, limit: limit), at: version, type: type)
        while var page = try read.next() {
            if events.isEmpty { swap(&events, &page) } else { events += page }
        }
        return events
    }

    /// Gives the events of one stream to `body` until it returns false, as the other `read` does; no transaction is open while `body` runs.
    ///
    /// Blocks the calling thread: it waits for the disk, in a read transaction for each page.
    /// - Throws: `EvstoreError` (epochChanged where a cut took off what was read), as the other `read` does, or what `body` throws, as it is.
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int? = nil, backwards: Bool = false,
        type: String? = nil, _ body: (RecordedEvent) throws -> Bool
    ) throws {
        var read = EventRead(EventCursor(self, of: stream, from: from, backwards: backwards, limit: limit), at: version, type: type)
        while let page = try read.next() {
            if try !page.allSatisfy(body) { return }
        }
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
        var read = try logRead(at: version, from: from, limit: limit, backwards: backwards, type: type)
        while let page = try read.next() {
            if try !page.allSatisfy(body) { return }
        }
    }

    /// The events of one stream as seen at a version, one after the other, as many as there are when the end is reached.
    ///
    /// Nothing is read before the first is asked for; a page is read on a thread of the store's own, in a short read transaction, and none is open
    /// in between. What a cut took off, or a task that was cancelled, ends the sequence with an error, never as if it were whole.
    /// - Parameters:
    ///   - from: the first revision, inclusive; nil is the first event, or the last one when reading backwards.
    ///   - type: the type as it is called at the version; nil gives all.
    public func events(
        in stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, backwards: Bool = false, type: String? = nil
    ) -> EventSequence<RecordedEvent> {
        EventSequence { [self] in
            FinitePages { () throws(EvstoreError) in
                EventRead(EventCursor(self, of: stream, from: from, backwards: backwards), at: version, type: type)
            }
        }
    }

    /// The events of the whole log in the order of their positions, up to its end as of the first that is asked for; else as `events(in:)`.
    public func events(
        at version: SchemaVersion? = nil, from: Position? = nil, backwards: Bool = false, type: String? = nil
    ) -> EventSequence<RecordedEvent> {
        EventSequence { [self] in
            FinitePages { () throws(EvstoreError) in
                try self.logRead(at: version, from: from, limit: nil, backwards: backwards, type: type)
            }
        }
    }

    private func logRead(
        at version: SchemaVersion?, from: Position?, limit: Int?, backwards: Bool, type: String?
    ) throws(EvstoreError) -> EventRead {
        let evolution = try evolving.current()
        let version = effective(version, evolution)
        let converter = try EventConverter(self, history(serving: version, evolution.history), .version(version), type: type)
        let cursor = EventCursor(self, through: evolution.last, from: from, backwards: backwards, limit: limit)
        return EventRead(cursor, converter, through: evolution.last)
    }

    /// What reads events at a version, the working one where nil, as of a read that is under way.
    func converter(at version: SchemaVersion?, type: String? = nil, _ reader: borrowing LogReader) throws -> EventConverter {
        let version = version ?? programVersion ?? reader.stamp.live
        return try EventConverter(self, history(serving: version, evolving.history(reader)), .version(version), type: type)
    }

    /// One event as it is seen at a version: none where a step hides it, several where one was split.
    ///
    /// Every read does the same for each event that it comes to. Blocks the calling thread for one short read transaction.
    /// - Throws: `EvstoreError`: noImage, programNeeded.
    public func view(_ position: Position, at version: SchemaVersion? = nil) throws(EvstoreError) -> [RecordedEvent] {
        var images: [RecordedEvent] = []
        try log.reading { reader in
            let converter = try converter(at: version, reader)
            _ = try reader.record(at: position) { record in try converter.read(record, reader, into: &images) }
        }
        return images
    }

    /// The event at a position as it was stored; nil where there is none. Blocks the calling thread for one short read transaction.
    public func event(position: Position) throws(EvstoreError) -> RecordedEvent? {
        var events: [RecordedEvent] = []
        try log.reading { reader in
            let converter = try EventConverter(self, evolving.history(reader), .birth)
            _ = try reader.record(at: position) { record in try converter.read(record, reader, into: &events) }
        }
        return events.first
    }
}

/// One read from its first page to its last, as of the versions that the store has at the first.
private struct EventRead {
    private(set) var cursor: EventCursor
    private let source: Source
    /// Made for the first page, for all pages.
    private var converter: EventConverter?
    private let end: Checkpoint?

    /// What the reader of a stream is made for; that of the log is given.
    private struct Source {
        var store: EventStore
        var version: SchemaVersion?
        var type: String?
    }

    /// Reads a stream.
    init(_ cursor: EventCursor, at version: SchemaVersion?, type: String?) {
        (self.cursor, end) = (cursor, nil)
        source = Source(store: cursor.store, version: version, type: type)
    }

    /// Reads the log up to `end`.
    init(_ cursor: EventCursor, _ converter: EventConverter, through end: Checkpoint) {
        (self.cursor, self.converter, self.end) = (cursor, converter, end)
        source = Source(store: cursor.store)
    }

    /// The next page, which may be empty; nil at the end.
    mutating func next() throws(EvstoreError) -> [RecordedEvent]? {
        if cursor.isEnded { return nil }
        if let converter { return try cursor.page(converter, through: end) }
        let store = source.store
        return try store.log.reading { reader in
            let made = try store.converter(at: source.version, type: source.type, reader)
            converter = made
            return try cursor.page(made, reader)
        }
    }
}

/// The pages of one read, which is begun with the first.
private struct FinitePages: PageReader {
    private let begin: () throws(EvstoreError) -> EventRead
    private var read: EventRead?

    init(_ begin: @escaping () throws(EvstoreError) -> EventRead) { self.begin = begin }

    var checkpoint: Checkpoint { read?.cursor.seen ?? .start }

    mutating func page() throws(EvstoreError) -> [RecordedEvent]? {
        if read == nil { read = try begin() }
        return try read?.next()
    }
}
