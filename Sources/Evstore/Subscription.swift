internal import EventLog
internal import EventModel
internal import Hashing
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// Every event after a checkpoint, then each as it is appended, by this process or another, in pages. Opens nothing until the first
    /// page is asked for; the task is suspended while there is none.
    ///
    /// - Parameters:
    ///   - stream: nil gives the events of all streams.
    ///   - checkpoint: nil begins with the log's first event.
    ///   - version: the working version where nil.
    ///   - type: the type as it is called at the version; nil gives all.
    public func subscribe(
        to stream: StreamName? = nil, after checkpoint: Checkpoint? = nil, at version: SchemaVersion? = nil, type: String? = nil
    ) -> Subscription {
        Subscription(store: self, stream: stream, checkpoint: checkpoint, version: version, type: type)
    }
}

/// Pages of events without an end: what is there first, then what is appended. Holds no transaction between pages.
public struct Subscription: AsyncSequence, Sendable {
    public typealias Element = [RecordedEvent]
    public typealias Failure = EvstoreError

    let store: EventStore
    let stream: StreamName?
    let checkpoint: Checkpoint?
    let version: SchemaVersion?
    let type: String?

    public func makeAsyncIterator() -> Iterator { Iterator(self) }

    public struct Iterator: AsyncIteratorProtocol {
        private let subscription: Subscription
        /// Up to where the log was looked through.
        public private(set) var checkpoint: Checkpoint
        /// Of a subscription to one stream: the first revision that was not looked at; nil before the first look.
        private var revision: Revision?
        /// The reader of the last page, with the epoch and history that it was made for.
        private var last: (eventReader: EventReader, version: SchemaVersion, epoch: Epoch, history: Digest)?

        init(_ subscription: Subscription) {
            self.subscription = subscription
            checkpoint = subscription.checkpoint ?? .start
            if checkpoint.position == .start { revision = .first }
        }

        /// The next page, never empty; nil when the task is cancelled.
        /// - Throws: `EvstoreError.epochChanged` where a cut took off what was read.
        public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async throws(EvstoreError) -> [RecordedEvent]? {
            while !Task.isCancelled {
                let page = try nextPage()
                if !page.events.isEmpty { return page.events }
                if page.isLast { try await subscription.store.wait(after: checkpoint.position) }
            }
            return nil
        }

        public mutating func next() async throws(EvstoreError) -> [RecordedEvent]? { try await next(isolation: nil) }

        /// - Parameter limit: nothing behind it is read.
        mutating func nextPage(through limit: Position = Position(.max)) throws(EvstoreError) -> ScannedPage {
            let store = subscription.store
            let evolution = try store.evolving.current()
            let end = Checkpoint(epoch: evolution.last.epoch, position: Swift.min(evolution.last.position, limit))
            let version = store.effective(subscription.version, evolution)
            let history = try store.history(serving: version, evolution.history)
            let eventReader = try eventReader(history, version, evolution)
            let page: ScannedPage
            if let stream = subscription.stream {
                page = try store.page(of: stream, after: checkpoint, &revision, through: end.position, eventReader)
            } else {
                page = try store.page(after: checkpoint, through: end.position, eventReader)
            }
            checkpoint = Checkpoint(epoch: end.epoch, position: page.reached)
            return page
        }

        /// The reader of the page before, as long as epoch, version and history are the same; else a new one.
        private mutating func eventReader(
            _ history: History, _ version: SchemaVersion, _ evolution: Evolution
        ) throws(EvstoreError) -> EventReader {
            let state = evolution.state
            if let last, last.version == version, last.epoch == state.epoch, last.history == state.history { return last.eventReader }
            let eventReader = try EventReader(subscription.store, history, at: version, type: subscription.type)
            last = (eventReader, version, state.epoch, state.history)
            return eventReader
        }
    }
}

extension EventStore {
    /// The next part of a stream after a checkpoint; `revision` is where it begins, found at the first call.
    fileprivate func page(
        of stream: StreamName, after seen: Checkpoint, _ revision: inout Revision?, through end: Position, _ eventReader: EventReader
    ) throws(EvstoreError) -> ScannedPage {
        var page = ScannedPage(reached: max(seen.position, end))
        var next = revision
        let full = options.pageEventsMax
        try converting(at: path) {
            try log.read { reader in
                try requireValid(seen, reader)
                guard let stream = try eventReader.storedName(of: stream, reader), let head = try reader.head(of: stream),
                    head.position > seen.position
                else { return }
                if let next, head.revision < next { return }
                var first = next ?? head.revision
                if next == nil {
                    try reader.stream(stream, from: head.revision, limit: .max, backwards: true) { record in
                        if record.position > seen.position { first = record.revision }
                        return record.position > seen.position
                    }
                }
                var count = 0
                try reader.stream(stream, from: first, limit: full) { record in
                    guard record.position <= end else { return false }
                    try eventReader.read(record, reader, into: &page.events)
                    (count, next) = (count + 1, record.revision.next)
                    if count == full { (page.reached, page.isLast) = (record.position, false) }
                    return true
                }
            }
        }
        revision = next
        return page
    }
}

extension EventStore {
    /// Returns when there may be an event after a position, at the latest after some time (the slow poll's where nil), or the task is
    /// cancelled.
    func wait(after position: Position, milliseconds: Int? = nil) async throws(EvstoreError) {
        do {
            _ = try await log.wait(after: position, deadline: .now + .milliseconds(milliseconds ?? options.pollMilliseconds))
        } catch is CancellationError {
            return
        } catch { throw EvstoreError(converting: error, at: path) }
    }
}
