internal import EventLog
internal import EventModel
internal import Hashing
internal import Projections
internal import SchemaEvolution

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
    ///   - type: the type's name at the version; nil gives all types.
    /// - Throws: `EvstoreError` during iteration: unknownType where the version has no `type`, noImage, programNeeded, epochChanged where a
    ///   cut took off what was read; misuse where two tasks ask one iterator at once.
    public func subscribe(
        to stream: StreamName? = nil, after checkpoint: Checkpoint? = nil, at version: SchemaVersion? = nil, type: String? = nil
    ) -> EventSequence<RecordedEvent> {
        EventSequence { [self] in Subscription(self, to: stream, after: checkpoint ?? .start, at: version, type: type) }
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
    private let type: String?
    private let order: ReadOrder
    private var cursor: EventCursor
    /// The converter of the last page, with the version, epoch and history that it was made for.
    private var last: (converter: EventConverter, version: SchemaVersion, epoch: Epoch, history: Digest)?

    init(_ store: EventStore, to stream: StreamName?, after checkpoint: Checkpoint, at version: SchemaVersion?, type: String?) {
        (self.store, self.version, self.type) = (store, version, type)
        order = stream == nil ? .log : .stream
        cursor = EventCursor(store, of: stream, after: checkpoint)
    }

    var checkpoint: Checkpoint { cursor.seen }

    /// Whether nothing is left behind the last page.
    var isAtEnd: Bool { cursor.isAtEnd }

    var isEndless: Bool { true }
    var end: (store: EventStore, position: Position)? { cursor.isAtEnd ? (store, checkpoint.position) : nil }

    mutating func page() throws(EvstoreError) -> [RecordedEvent]? { try nextPage() }

    /// - Parameter limit: the last position that is read.
    mutating func nextPage(through limit: Position = Position(.max)) throws(EvstoreError) -> [RecordedEvent] {
        let evolution = try store.evolving.current()
        let version = store.effective(version, evolution)
        let converter = try converter(store.history(serving: version, evolution.history), version, evolution.state)
        let end = Checkpoint(epoch: evolution.last.epoch, position: min(evolution.last.position, limit))
        return try cursor.page(converter, through: end)
    }

    /// The converter of the previous page while epoch, version and history stay the same; else a new one.
    private mutating func converter(
        _ history: History, _ version: SchemaVersion, _ state: StoreState
    ) throws(EvstoreError) -> EventConverter {
        if let last, last.version == version, last.epoch == state.epoch, last.history == state.history { return last.converter }
        let converter = try EventConverter(store, history, .version(version), type: type, in: order)
        last = (converter, version, state.epoch, state.history)
        return converter
    }
}
