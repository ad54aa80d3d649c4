internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// Returns the events of one stream as seen at a version: all of them, or `limit`, or some more where the last one is one of several
    /// parts. An unknown stream has no events.
    ///
    /// Blocks the calling thread while it reads from the disk, in one read transaction for each `Options.pageEventsMax` events. For a long
    /// stream use `events(in:)`, which gives one event at a time and holds one page of them.
    /// - Parameters:
    ///   - stream: the stream's name at the version, or else the name by which the log holds it.
    ///   - version: the version at which events are seen; nil is the working version.
    ///   - from: the first revision, inclusive; nil is the first event, or the last one when reading backwards.
    ///   - limit: the most events, or some more where the last one is one of several parts; nil gives all.
    ///   - backwards: whether the last event comes first.
    ///   - type: the type's name at the version; nil gives all types.
    /// - Throws: `EvstoreError`: unknownType where the version has no `type`, noImage for an event that can't be seen at the version,
    ///   programNeeded, epochChanged where a cut took off what was read.
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
    /// Blocks the calling thread while it reads from the disk, in one read transaction for each page.
    /// - Throws: `EvstoreError` as the other `read` does (epochChanged where a cut took off what was read), or what `body` throws,
    ///   unconverted.
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int? = nil, backwards: Bool = false,
        type: String? = nil, _ body: (RecordedEvent) throws -> Bool
    ) throws {
        var read = EventRead(EventCursor(self, of: stream, from: from, backwards: backwards, limit: limit), at: version, type: type)
        while let page = try read.next() {
            if try !page.allSatisfy(body) { return }
        }
    }

    /// Gives the events of the whole log to `body` in the order of their positions, from `from` on, until it returns false.
    ///
    /// Blocks the calling thread while it reads from the disk, page by page; no transaction is open while `body` runs.
    ///
    /// - Parameters:
    ///   - version: the version at which events are seen; nil is the working version.
    ///   - from: the first position, inclusive; nil is the log's first event, or its last one when reading backwards.
    ///   - limit: the most events, or some more where the last one is one of several parts; nil gives all.
    ///   - backwards: whether the last event comes first.
    ///   - type: the type's name at the version; the steps determine which stored types can become it. Nil gives all types.
    ///   - body: gets one event at a time, on the calling thread; returns whether it wants the next one.
    /// - Throws: `EvstoreError`: unknownType, noImage, programNeeded, epochChanged where a cut took off what was read; or what `body`
    ///   throws, unconverted.
    public func readAll(
        at version: SchemaVersion? = nil, from: Position? = nil, limit: Int? = nil, backwards: Bool = false, type: String? = nil,
        _ body: (RecordedEvent) throws -> Bool
    ) throws {
        var read = try logRead(at: version, from: from, limit: limit, backwards: backwards, type: type)
        while let page = try read.next() {
            if try !page.allSatisfy(body) { return }
        }
    }

    /// Returns the events of one stream as seen at a version, one at a time, up to the end that the stream has when the sequence reaches
    /// it.
    ///
    /// Nothing is read before the first event is asked for. Each page is read on one of the store's threads, in a short read transaction,
    /// and none is open between two pages. A cut that took events off and a task that was cancelled end the sequence with an error: it
    /// never looks complete when it is not.
    /// - Parameters:
    ///   - stream: the stream's name at the version, or else the name by which the log holds it.
    ///   - version: the version at which events are seen; nil is the working version.
    ///   - from: the first revision, inclusive; nil is the first event, or the last one when reading backwards.
    ///   - backwards: whether the last event comes first.
    ///   - type: the type's name at the version; nil gives all types.
    /// - Throws: `EvstoreError` during iteration: unknownType, noImage, programNeeded, epochChanged, interrupted; misuse where two tasks
    ///   ask one iterator at once.
    public func events(
        in stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, backwards: Bool = false, type: String? = nil
    ) -> EventSequence<RecordedEvent> {
        EventSequence { [self] in
            FinitePages { () throws(EvstoreError) in
                EventRead(EventCursor(self, of: stream, from: from, backwards: backwards), at: version, type: type)
            }
        }
    }

    /// Returns the events of the whole log in the order of their positions, up to the log's end at the time of the first one. Otherwise
    /// like `events(in:)`.
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

    /// A converter for events of one stream at a version (the working one where nil), as of a read that is already open.
    func converter(at version: SchemaVersion?, type: String? = nil, _ reader: borrowing LogReader) throws -> EventConverter {
        let version = version ?? programVersion ?? reader.stamp.live
        return try EventConverter(
            self, history(serving: version, evolving.history(reader)), .version(version), type: type, in: .stream)
    }

    /// Returns the images of one event at a version: none where a step hides it, several where one has split it.
    ///
    /// Every read converts each event in this way. Blocks the calling thread for one short read transaction.
    /// - Throws: `EvstoreError`: noImage, programNeeded.
    public func view(_ position: Position, at version: SchemaVersion? = nil) throws(EvstoreError) -> [RecordedEvent] {
        var images: [RecordedEvent] = []
        try log.reading { reader in
            let converter = try converter(at: version, reader)
            _ = try reader.record(at: position) { record in try converter.read(record, reader, into: &images) }
        }
        return images
    }

    /// Returns the event at a position as it was stored; nil where there is none. Blocks the calling thread for one short read transaction.
    public func event(position: Position) throws(EvstoreError) -> RecordedEvent? {
        var events: [RecordedEvent] = []
        try log.reading { reader in
            let converter = try EventConverter(self, evolving.history(reader), .birth)
            _ = try reader.record(at: position) { record in try converter.read(record, reader, into: &events) }
        }
        return events.first
    }
}

/// One read from its first page to its last, with the versions that the store has at the first page.
private struct EventRead {
    private(set) var cursor: EventCursor
    /// What the converter of a read of one stream is made for.
    private let version: SchemaVersion?
    private let type: String?
    /// Made at the first page, used for all pages.
    private var converter: EventConverter?
    private let end: Checkpoint?

    /// Reads a stream.
    init(_ cursor: EventCursor, at version: SchemaVersion?, type: String?) {
        (self.cursor, self.version, self.type, end) = (cursor, version, type, nil)
    }

    /// Reads the log up to `end`.
    init(_ cursor: EventCursor, _ converter: EventConverter, through end: Checkpoint) {
        (self.cursor, self.converter, self.end, version, type) = (cursor, converter, end, nil, nil)
    }

    /// The next page, which may be empty; nil at the end.
    mutating func next() throws(EvstoreError) -> [RecordedEvent]? {
        if cursor.isEnded { return nil }
        if let converter { return try cursor.page(converter, through: end) }
        return try cursor.store.log.reading { reader in
            let made = try cursor.store.converter(at: version, type: type, reader)
            converter = made
            return try cursor.page(made, reader)
        }
    }
}

/// The pages of one read, which begins with the first page.
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
