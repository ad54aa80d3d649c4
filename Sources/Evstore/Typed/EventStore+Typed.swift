internal import EventLog
public import EventModel
internal import Platform

extension EventStore {
    /// Appends a typed event if its stream is in the expected state; the event is born at its type's version. Waits and throws as
    /// `append(_:conditions:unless:sameID:)` does.
    ///
    /// - Parameters:
    ///   - event: the fact, whose `Codable` makes the payload; `invalidEvent` is thrown where JSON can't represent it.
    ///   - stream: the stream's name at the type's version; the first event creates the stream.
    ///   - expectation: the state in which the stream has to be; otherwise `expectationFailed` is thrown, and nothing is appended.
    ///   - metadata: JSON text of one object; none where nil.
    ///   - id: the id of the event: an append that is repeated with the same id is made once. The store makes one where nil.
    ///   - time: when the event happened; the moment of the append where nil.
    @discardableResult
    public func append<E: Event>(
        _ event: E, to stream: StreamName, expecting expectation: Expectation, metadata: [UInt8]? = nil, id: EventID? = nil,
        time: Timestamp? = nil
    ) async throws(EvstoreError) -> AppendReceipt {
        try await append(NewEvent(event, to: stream, metadata: metadata, id: id, time: time), expecting: expectation)
    }

    /// Appends typed events to one stream together, all of them or none. Waits and throws as `append(_:conditions:unless:sameID:)` does.
    ///
    /// Where id, time or metadata differ from event to event, use `append(_:conditions:)` with a `NewEvent(event, to: stream, …)` for each.
    ///
    /// - Parameters:
    ///   - events: the facts in their order, at least one, each born at its type's version; `invalidEvent` is thrown where JSON can't
    ///     represent one.
    ///   - stream: the stream's name at the types' versions; the first event creates the stream.
    ///   - expectation: the state in which the stream has to be; otherwise `expectationFailed` is thrown, and nothing is appended.
    ///   - metadata: JSON text of one object, which each of the events gets; none where nil.
    ///   - id: the id of the append, which is its first event's: an append that is repeated with the same id is made once. The store makes
    ///     one where nil.
    ///   - time: when the events happened; the moment of the append where nil.
    @discardableResult
    public func append(
        _ events: [any Event], to stream: StreamName, expecting expectation: Expectation, metadata: [UInt8]? = nil, id: EventID? = nil,
        time: Timestamp? = nil
    ) async throws(EvstoreError) -> AppendReceipt {
        try await append(Self.list(of: events, to: stream, metadata, id, time), conditions: [StreamCondition(stream, expectation)])
    }

    package static func list(
        of events: [any Event], to stream: StreamName, _ metadata: [UInt8]?, _ id: EventID?, _ time: Timestamp? = nil
    ) throws(EvstoreError) -> [NewEvent] {
        var list: [NewEvent] = []
        for event in events {
            list.append(try NewEvent(event, to: stream, metadata: metadata, id: list.isEmpty ? id : nil, time: time))
        }
        return list
    }

    /// Returns the events of a stream as a catalogue's Swift types, like `read(_:at:from:limit:backwards:type:)`.
    /// - Throws: `EvstoreError`: programNeeded where the catalogue lacks a type, invalidEvent where a type can't read a payload, and what
    ///   the other `read` throws.
    ///
    /// Blocks the calling thread while it reads from the disk, in one read transaction for each page.
    public func read(
        _ stream: StreamName, as catalogue: EventCatalogue, from: Revision? = nil, limit: Int? = nil, backwards: Bool = false
    ) throws(EvstoreError) -> [TypedEvent] {
        try read(stream, at: catalogue.version, from: from, limit: limit, backwards: backwards).map(catalogue.decode)
    }

    /// Returns the events of one Swift type in a stream.
    /// - Throws: `EvstoreError`: invalidEvent where the type can't read a payload, and what the other `read` throws.
    ///
    /// Blocks the calling thread while it reads from the disk, in one read transaction for each page.
    public func read<E: Event>(
        _ type: E.Type, in stream: StreamName, from: Revision? = nil, limit: Int? = nil
    ) throws(EvstoreError) -> [(event: E, context: RecordedEvent)] {
        try read(stream, at: E.version, from: from, limit: limit, matching: .type(E.type)).map { event throws(EvstoreError) in
            (try event.decode(type), event)
        }
    }

    /// Calls the handlers with the events of a stream; no transaction is open while a handler runs.
    /// - Returns: the number of events that had a handler.
    ///
    /// Blocks the calling thread while it reads from the disk, in one read transaction for each page.
    /// - Throws: `EvstoreError`: invalidEvent where a type can't read a payload, and what the other `read` throws; or what a handler
    ///   throws, unconverted.
    @discardableResult
    public func read(_ stream: StreamName, from: Revision? = nil, with handlers: EventHandlers) throws -> Int {
        var count = 0
        try read(stream, at: handlers.version, from: from) { event in
            if try handlers.handle(event) { count += 1 }
            return true
        }
        return count
    }

    /// Returns the events of a stream as a catalogue's Swift types, one at a time, like `events(in:)`.
    public func events(
        in stream: StreamName, as catalogue: EventCatalogue, from: Revision? = nil, backwards: Bool = false
    ) -> EventSequence<TypedEvent> {
        events(in: stream, at: catalogue.version, from: from, backwards: backwards).mapping(catalogue.decode)
    }

    /// Returns the events of the whole log as a catalogue's Swift types, one at a time, like `events(at:)`.
    public func events(
        as catalogue: EventCatalogue, from: Position? = nil, backwards: Bool = false
    ) -> EventSequence<TypedEvent> {
        events(at: catalogue.version, from: from, backwards: backwards).mapping(catalogue.decode)
    }

    /// Returns events as a catalogue's Swift types: those after a checkpoint, and then each as it is appended, like the other `subscribe`.
    public func subscribe(
        to stream: StreamName? = nil, as catalogue: EventCatalogue, after checkpoint: Checkpoint? = nil
    ) -> EventSequence<TypedEvent> {
        subscribe(to: stream, after: checkpoint, at: catalogue.version).mapping(catalogue.decode)
    }
}
