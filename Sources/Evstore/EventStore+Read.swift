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
    ///   - query: which events are given, by their types and tags at the version; nil gives all.
    /// - Throws: `EvstoreError`: unknownType where the version lacks a type of the query, noImage for an event that can't be seen at the
    ///   version, programNeeded, epochChanged where a cut took off what was read.
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int? = nil, backwards: Bool = false,
        matching query: EventQuery? = nil
    ) throws(EvstoreError) -> [RecordedEvent] {
        var events: [RecordedEvent] = []
        var cursor = EventCursor(self, of: stream, from: from, backwards: backwards, limit: limit, at: version, matching: query)
        while var page = try cursor.next() {
            if events.isEmpty { swap(&events, &page) } else { events += page }
        }
        return events
    }

    /// Gives the events of one stream to `body` until it returns false, as the other `read` does; no transaction is open while `body` runs.
    ///
    /// Blocks the calling thread while it reads from the disk, in one read transaction for each page.
    /// - Returns: how many events without an image were left out (`maintenance.acceptQuarantined`).
    /// - Throws: `EvstoreError` as the other `read` does (epochChanged where a cut took off what was read), or what `body` throws,
    ///   unconverted.
    @discardableResult
    public func read(
        _ stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, limit: Int? = nil, backwards: Bool = false,
        matching query: EventQuery? = nil, _ body: (RecordedEvent) throws -> Bool
    ) throws -> Int {
        var cursor = EventCursor(self, of: stream, from: from, backwards: backwards, limit: limit, at: version, matching: query)
        while let page = try cursor.next() {
            if try !page.allSatisfy(body) { break }
        }
        return cursor.leftOut
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
    ///   - query: which events are given, by their types and tags at the version; the steps determine which stored types can become those.
    ///     Nil gives all.
    ///   - body: gets one event at a time, on the calling thread; returns whether it wants the next one.
    /// - Returns: how many events without an image were left out (`maintenance.acceptQuarantined`).
    /// - Throws: `EvstoreError`: unknownType, noImage, programNeeded, epochChanged where a cut took off what was read; or what `body`
    ///   throws, unconverted.
    @discardableResult
    public func readAll(
        at version: SchemaVersion? = nil, from: Position? = nil, limit: Int? = nil, backwards: Bool = false,
        matching query: EventQuery? = nil,
        _ body: (RecordedEvent) throws -> Bool
    ) throws -> Int {
        var cursor = try cursor(at: version, from: from, limit: limit, backwards: backwards, matching: query)
        while let page = try cursor.next() {
            if try !page.allSatisfy(body) { break }
        }
        return cursor.leftOut
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
    ///   - query: which events are given, by their types and tags at the version; nil gives all.
    /// - Throws: `EvstoreError` during iteration: unknownType, noImage, programNeeded, epochChanged, interrupted; misuse where two tasks
    ///   ask one iterator at once.
    public func events(
        in stream: StreamName, at version: SchemaVersion? = nil, from: Revision? = nil, backwards: Bool = false,
        matching query: EventQuery? = nil
    ) -> EventSequence<RecordedEvent> {
        EventSequence { [self] in
            FinitePages { () async throws(EvstoreError) in
                EventCursor(self, of: stream, from: from, backwards: backwards, at: version, matching: query)
            }
        }
    }

    /// Returns the events of the whole log in the order of their positions, up to the log's end at the time of the first one. With a query
    /// by tags it finds them as `read(matching:at:from:limit:backwards:)` does. Otherwise like `events(in:)`.
    public func events(
        at version: SchemaVersion? = nil, from: Position? = nil, backwards: Bool = false, matching query: EventQuery? = nil
    ) -> EventSequence<RecordedEvent> {
        EventSequence { [self] in
            FinitePages { () async throws(EvstoreError) in
                try await self.bringUpTagIndex(for: query, at: self.effective(version))
                return try self.cursor(at: version, from: from, limit: nil, backwards: backwards, matching: query)
            }
        }
    }

    /// Begins to read the whole log up to its present end.
    func cursor(
        at version: SchemaVersion?, from: Position?, limit: Int?, backwards: Bool, matching query: EventQuery?
    ) throws(EvstoreError) -> EventCursor {
        let evolution = try evolving.current()
        let version = effective(version, evolution)
        let converter = try EventConverter(self, history(serving: version, evolution.history), at: version, matching: query)
        var cursor = EventCursor(self, through: evolution.last, from: from, backwards: backwards, limit: limit, converter)
        cursor.use(try postings(of: query, at: version, from: from, backwards: backwards, evolution))
        return cursor
    }

    /// A converter for events of one stream at a version (the working one where nil), as of a read that is already open.
    func converter(at version: SchemaVersion?, matching query: EventQuery? = nil, _ reader: borrowing LogReader) throws -> EventConverter {
        let version = version ?? programVersion ?? reader.stamp.live
        return try EventConverter(
            self, history(serving: version, evolving.history(reader)), at: version, matching: query, in: .stream)
    }

    /// Returns the images of one event at a version: none where a step hides it, several where one has split it.
    ///
    /// Every read converts each event in this way. Blocks the calling thread for one short read transaction.
    /// - Parameters:
    ///   - position: the event's position in the log.
    ///   - version: the version at which it is seen; nil is the working version.
    ///   - query: which images are given, by their types and tags at the version; nil gives all.
    /// - Throws: `EvstoreError`: unknownType where the version lacks a type of the query, noImage, programNeeded.
    public func view(
        _ position: Position, at version: SchemaVersion? = nil, matching query: EventQuery? = nil
    ) throws(EvstoreError) -> [RecordedEvent] {
        var images: [RecordedEvent] = []
        try log.reading { reader in
            let converter = try converter(at: version, matching: query, reader)
            _ = try reader.record(at: position) { record in try converter.read(record, reader, into: &images) }
        }
        return images
    }

    /// Returns the event at a position as it was stored; nil where there is none. Blocks the calling thread for one short read transaction.
    public func event(position: Position) throws(EvstoreError) -> RecordedEvent? {
        var events: [RecordedEvent] = []
        try log.reading { reader in
            let converter = try EventConverter(self, evolving.history(reader), at: nil)
            _ = try reader.record(at: position) { record in try converter.read(record, reader, into: &events) }
        }
        return events.first
    }
}

/// The pages of one read, which begins with the first page.
private struct FinitePages: PageReader {
    let begin: () async throws(EvstoreError) -> EventCursor
    var cursor: EventCursor?

    var checkpoint: Checkpoint { cursor?.seen ?? .start }

    mutating func page() async throws(EvstoreError) -> [RecordedEvent]? {
        if cursor == nil { cursor = try await begin() }
        return try cursor?.next()
    }
}
