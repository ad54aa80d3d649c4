internal import EventLog
public import EventModel
internal import Hashing
internal import Platform
internal import Projections
internal import SchemaEvolution

/// Events for a `for try await` loop, one at a time. They are read in pages on demand; `pages` gives the pages themselves.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = EvstoreError

    /// The events in the pages in which they are read. No page is empty.
    public let pages: EventPages<Element>

    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        private var pages: EventPages<Element>.Iterator
        private var page: ArraySlice<Element> = []

        init(pages: EventPages<Element>.Iterator) { self.pages = pages }

        /// The next event. Nil at the end; a sequence without an end also returns nil when its task is cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(EvstoreError) -> Element? {
            if !Task.isCancelled, let event = page.popFirst() { return event }
            guard let events = try await pages.next(isolation: actor) else { return nil }
            page = events[...]
            return page.popFirst()
        }

        public mutating func next() async throws(EvstoreError) -> Element? { try await next(isolation: nil) }
    }
}

/// Events in the pages in which they are read, each in a short read transaction; none is open between two pages.
public struct EventPages<Event: Sendable>: AsyncSequence, Sendable {
    public typealias Element = [Event]
    public typealias Failure = EvstoreError

    let begin: @Sendable () -> any PageReader
    /// Makes the page that is given of one that was read, event by event: where it fails, the page has what is before.
    let map: @Sendable ([RecordedEvent], inout [Event]) throws(EvstoreError) -> Void

    public func makeAsyncIterator() -> Iterator { Iterator(source: PageSource(begin(), map)) }

    /// A place in the pages. Copies of an iterator share it: what one is given the others are not.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: PageSource<Event>

        fileprivate init(source: PageSource<Event>) { self.source = source }

        /// The checkpoint up to which the log was read: a later `subscribe(after:)` continues from here, behind the pages that were given.
        public var checkpoint: Checkpoint { source.checkpoint }

        /// The next page, which is never empty. Nil at the end; a sequence without an end also returns nil when its task is cancelled. The
        /// page is read on one of the store's threads.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(EvstoreError) -> [Event]? {
            try await source.next()
        }

        public mutating func next() async throws(EvstoreError) -> [Event]? { try await source.next() }
    }
}

private final class PageSource<Event: Sendable>: @unchecked Sendable {
    // Sound: whoever asks while another task waits for a page gets an error.
    private var reader: any PageReader
    private let map: @Sendable ([RecordedEvent], inout [Event]) throws(EvstoreError) -> Void
    private(set) var checkpoint: Checkpoint
    /// Why there is no further page: an event behind those that were given could not be mapped.
    private var failure: EvstoreError?
    private let isAsked = Monitor(false)

    init(_ reader: any PageReader, _ map: @escaping @Sendable ([RecordedEvent], inout [Event]) throws(EvstoreError) -> Void) {
        (self.reader, self.map, checkpoint) = (reader, map, reader.checkpoint)
    }

    func next() async throws(EvstoreError) -> [Event]? {
        let isBusy = isAsked.withLock { isAsked in
            defer { isAsked = true }
            return isAsked
        }
        if isBusy { throw .misuse("an iterator is asked by one task at a time; make another for another task") }
        defer { isAsked.withLock { $0 = false } }
        while true {
            if Task.isCancelled {
                if reader.isEndless { return nil }
                throw .interrupted(again: "read again")
            }
            guard let page = try await StoreThreads.run({ () async throws(EvstoreError) in try await self.page() }) else { return nil }
            if !page.isEmpty { return page }
            if let end = reader.end { try await end.store.wait(after: end.position) }
        }
    }

    private func page() async throws(EvstoreError) -> [Event]? {
        if let failure { throw failure }
        guard let page = try await reader.page() else { return nil }
        var made: [Event] = []
        do { try map(page, &made) } catch {
            if made.isEmpty { throw error }
            // The checkpoint stays before the whole page.
            failure = error
            return made
        }
        checkpoint = reader.checkpoint
        return made
    }
}

protocol PageReader {
    var checkpoint: Checkpoint { get }
    /// Whether the sequence also gives what is appended later, and so has no end.
    var isEndless: Bool { get }
    /// The position behind which something must be appended before there is another page; nil where a page may be there already.
    var end: (store: EventStore, position: Position)? { get }

    /// The next page, which may be empty; nil behind the last.
    mutating func page() async throws(EvstoreError) -> [RecordedEvent]?
}

extension PageReader {
    var isEndless: Bool { false }
    var end: (store: EventStore, position: Position)? { nil }
}

extension EventSequence<RecordedEvent> {
    init(_ begin: @escaping @Sendable () -> any PageReader) { pages = EventPages(begin: begin) { $1 = $0 } }

    func mapping<New: Sendable>(_ map: @escaping @Sendable (RecordedEvent) throws(EvstoreError) -> New) -> EventSequence<New> {
        EventSequence<New>(
            pages: EventPages(begin: pages.begin) { (page, made) throws(EvstoreError) in
                made.reserveCapacity(page.count)
                for event in page { made.append(try map(event)) }
            })
    }
}

extension EventStore {
    /// Returns every event after a checkpoint, and then each as it is appended, by this process or another, without an end. Reads nothing
    /// until the first event is asked for. The task is suspended while there is none; cancelling it ends the sequence.
    ///
    /// To continue later, save the `checkpoint` of an event whose work is done completely, or of the iterator of `pages`, which also covers
    /// events that were skipped because of their type.
    ///
    /// - Parameters:
    ///   - stream: nil gives the events of all streams.
    ///   - checkpoint: nil begins with the log's first event.
    ///   - version: the working version where nil.
    ///   - query: which events are given, by their types and tags at the version; nil gives all.
    /// - Throws: `EvstoreError` during iteration: unknownType where the version lacks a type of the query, noImage, programNeeded,
    ///   epochChanged where a cut took off what was read; misuse where two tasks ask one iterator at once.
    public func subscribe(
        to stream: StreamName? = nil, after checkpoint: Checkpoint? = nil, at version: SchemaVersion? = nil,
        matching query: EventQuery? = nil
    ) -> EventSequence<RecordedEvent> {
        EventSequence { [self] in Subscription(self, to: stream, after: checkpoint ?? .start, at: version, matching: query) }
    }

    /// Returns when there may be an event after a position, at the latest after `interval` (the slow poll's where nil) or when the task is
    /// cancelled.
    func wait(after position: Position, atMost interval: Duration? = nil) async throws(EvstoreError) {
        do {
            _ = try await log.wait(after: position, deadline: .within(interval ?? options.pollInterval))
        } catch is CancellationError {
            return
        } catch { throw EvstoreError(converting: error, at: path) }
    }
}

/// Endless pages of events: the existing ones first, then each that is appended. Holds no transaction between pages.
struct Subscription: PageReader {
    private let store: EventStore
    private let version: SchemaVersion?
    private let query: EventQuery?
    private let order: ReadOrder
    private var cursor: EventCursor
    /// The converter of the last page, with the version, epoch and history that it was made for.
    private var last: (converter: EventConverter, version: SchemaVersion, epoch: Epoch, history: Digest)?

    init(_ store: EventStore, to stream: StreamName?, after checkpoint: Checkpoint, at version: SchemaVersion?, matching query: EventQuery?)
    {
        (self.store, self.version, self.query) = (store, version, query)
        order = stream == nil ? .log : .stream
        cursor = EventCursor(store, of: stream, after: checkpoint)
    }

    var checkpoint: Checkpoint { cursor.seen }

    /// Whether nothing is left behind the last page.
    var isAtEnd: Bool { cursor.isAtEnd }

    var isEndless: Bool { true }
    var end: (store: EventStore, position: Position)? { cursor.isAtEnd ? (store, checkpoint.position) : nil }

    mutating func page() async throws(EvstoreError) -> [RecordedEvent]? {
        if last == nil, order == .log { try await store.bringUpTagIndex(for: query, at: store.effective(version)) }
        return try nextPage()
    }

    mutating func nextPage(through limit: Position = Position(.max)) throws(EvstoreError) -> [RecordedEvent] {
        let evolution = try store.evolving.current()
        let version = store.effective(version, evolution)
        let converter = try converter(store.history(serving: version, evolution.history), version, evolution)
        let end = Checkpoint(epoch: evolution.last.epoch, position: min(evolution.last.position, limit))
        return try cursor.page(converter, through: end)
    }

    /// The converter of the previous page while epoch, version and history stay the same; else a new one.
    private mutating func converter(
        _ history: History, _ version: SchemaVersion, _ evolution: SchemaSnapshot
    ) throws(EvstoreError) -> EventConverter {
        let state = evolution.state
        if let last, last.version == version, last.epoch == state.epoch, last.history == state.history { return last.converter }
        let converter = try EventConverter(store, history, at: version, matching: query, in: order)
        try converter.filter?.requirePossible()
        if order == .log {
            cursor.use(try store.postings(of: query, at: version, from: cursor.seen.position.next, backwards: false, evolution))
        }
        last = (converter, version, state.epoch, state.history)
        return converter
    }
}
