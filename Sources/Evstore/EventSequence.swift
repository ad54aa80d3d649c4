public import EventModel
internal import Platform

/// Events one after the other, for a `for try await` loop. They are read in pages as they are asked for; `pages` gives these as they are.
public struct EventSequence<Element: Sendable>: AsyncSequence, Sendable {
    public typealias Failure = EvstoreError

    /// The events in the pages in which they are read, none of them empty.
    public let pages: EventPages<Element>

    public func makeAsyncIterator() -> Iterator { Iterator(pages: pages.makeAsyncIterator()) }

    public struct Iterator: AsyncIteratorProtocol {
        private var pages: EventPages<Element>.Iterator
        private var page: ArraySlice<Element> = []

        init(pages: EventPages<Element>.Iterator) { self.pages = pages }

        /// The next event; nil at the end, or where the sequence has none and the task was cancelled.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(EvstoreError) -> Element? {
            if !Task.isCancelled, let event = page.popFirst() { return event }
            guard let events = try await pages.next(isolation: actor) else { return nil }
            page = events[...]
            return page.popFirst()
        }

        public mutating func next() async throws(EvstoreError) -> Element? { try await next(isolation: nil) }
    }
}

/// Events in the pages in which they are read, each read in a short read transaction; none is open between two of them.
public struct EventPages<Event: Sendable>: AsyncSequence, Sendable {
    public typealias Element = [Event]
    public typealias Failure = EvstoreError

    let begin: @Sendable () -> any PageReader<Event>

    public func makeAsyncIterator() -> Iterator { Iterator(source: PageSource(begin())) }

    /// A place in the pages. Copies of an iterator share it: what one is given the others are not.
    public struct Iterator: AsyncIteratorProtocol {
        private let source: PageSource<Event>

        fileprivate init(source: PageSource<Event>) { self.source = source }

        /// Up to where the log was looked through: from here a later `subscribe(after:)` goes on behind the pages that were given.
        public var checkpoint: Checkpoint { source.reader.checkpoint }

        /// The next page, never empty; nil at the end, or where the sequence has none and the task was cancelled. The page is read on a thread
        /// of the store's own.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(EvstoreError) -> [Event]? {
            try await source.next()
        }

        public mutating func next() async throws(EvstoreError) -> [Event]? { try await source.next() }
    }
}

/// What one iterator reads.
private final class PageSource<Event: Sendable>: @unchecked Sendable {
    // Sound: whoever asks while another task waits for a page gets an error.
    private(set) var reader: any PageReader<Event>
    private let isAsked = Monitor(false)

    init(_ reader: any PageReader<Event>) { self.reader = reader }

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
            guard let page = try await StoreThreads.run({ () throws(EvstoreError) in try reader.page() }) else { return nil }
            if !page.isEmpty { return page }
            if let end = reader.end { try await end.store.wait(after: end.position) }
        }
    }
}

/// Reads page after page.
protocol PageReader<Event> {
    associatedtype Event

    /// Up to where the log was looked through.
    var checkpoint: Checkpoint { get }
    /// Whether what is appended later belongs to it.
    var isEndless: Bool { get }
    /// Where something has to be appended before there is another page; nil where there may be one.
    var end: (store: EventStore, position: Position)? { get }

    /// The next page, which may be empty; nil behind the last.
    mutating func page() throws(EvstoreError) -> [Event]?
}

extension PageReader {
    var isEndless: Bool { false }
    var end: (store: EventStore, position: Position)? { nil }
}

/// The pages of another reader, with each event made into something else.
private struct MappedPages<Old, New>: PageReader {
    private var pages: any PageReader<Old>
    private let map: (Old) throws(EvstoreError) -> New
    private(set) var checkpoint: Checkpoint

    init(_ pages: any PageReader<Old>, _ map: @escaping (Old) throws(EvstoreError) -> New) {
        (self.pages, self.map, checkpoint) = (pages, map, pages.checkpoint)
    }

    var isEndless: Bool { pages.isEndless }
    var end: (store: EventStore, position: Position)? { pages.end }

    mutating func page() throws(EvstoreError) -> [New]? {
        guard let page = try pages.page() else { return nil }
        var made: [New] = []
        made.reserveCapacity(page.count)
        for event in page { made.append(try map(event)) }
        checkpoint = pages.checkpoint
        return made
    }
}

extension EventSequence {
    init(_ begin: @escaping @Sendable () -> any PageReader<Element>) { pages = EventPages(begin: begin) }

    /// The sequence with each event made into something else.
    func mapping<New: Sendable>(_ map: @escaping @Sendable (Element) throws(EvstoreError) -> New) -> EventSequence<New> {
        EventSequence<New> { [pages] in MappedPages(pages.begin(), map) }
    }
}
