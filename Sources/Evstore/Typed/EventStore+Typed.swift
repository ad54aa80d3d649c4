public import EventModel

extension EventStore {
    /// Appends a typed event if its stream is as expected; it is born at its type's version. Awaits and throws as
    /// `append(_:conditions:sameID:)` does.
    ///
    /// - Parameter metadata: JSON text of one object; none where nil.
    @discardableResult
    public func append<E: Event>(
        _ event: E, to stream: StreamName, expecting expectation: Expectation, metadata: [UInt8]? = nil, id: EventID? = nil,
        time: Timestamp? = nil
    ) async throws(EvstoreError) -> AppendReceipt {
        try await append(NewEvent(event, to: stream, metadata: metadata, id: id, time: time), expecting: expectation)
    }

    /// Appends typed events to one stream together, all of them or none. Awaits and throws as `append(_:conditions:sameID:)` does.
    ///
    /// Where id, time or metadata differ from event to event, use `append(_:conditions:)` with a `NewEvent(event, to: stream, …)` for each.
    ///
    /// - Parameters:
    ///   - metadata: JSON text of one object, which each of them has; none where nil.
    ///   - id: the id of the append, which is its first event's: an append that is repeated with the same id is made once.
    ///   - time: when the events happened; the moment of the append where nil.
    @discardableResult
    public func append(
        _ events: [any Event], to stream: StreamName, expecting expectation: Expectation, metadata: [UInt8]? = nil, id: EventID? = nil,
        time: Timestamp? = nil
    ) async throws(EvstoreError) -> AppendReceipt {
        try await append(Self.list(of: events, to: stream, metadata, id, time), conditions: [StreamCondition(stream, expectation)])
    }

    /// The events of an append to one stream.
    static func list(
        of events: [any Event], to stream: StreamName, _ metadata: [UInt8]?, _ id: EventID?, _ time: Timestamp? = nil
    ) throws(EvstoreError) -> [NewEvent] {
        var list: [NewEvent] = []
        for event in events { list.append(try new(event, to: stream, metadata, list.isEmpty ? id : nil, time)) }
        return list
    }

    private static func new<E: Event>(
        _ event: E, to stream: StreamName, _ metadata: [UInt8]?, _ id: EventID?, _ time: Timestamp?
    ) throws(EvstoreError) -> NewEvent {
        try NewEvent(event, to: stream, metadata: metadata, id: id, time: time)
    }

    /// The events of a stream as a catalogue's Swift types; reads on the calling thread as `read(_:at:from:limit:backwards:type:)` does.
    /// - Throws: `EvstoreError`: programNeeded where the catalogue lacks a type, invalidEvent where a type can't read a payload, noImage.
    ///
    /// Blocks the calling thread: it waits for the disk, in a read transaction for each page.
    public func read(
        _ stream: StreamName, as catalogue: EventCatalogue, from: Revision? = nil, limit: Int? = nil, backwards: Bool = false
    ) throws(EvstoreError) -> [TypedEvent] {
        var events: [TypedEvent] = []
        for event in try read(stream, at: catalogue.version, from: from, limit: limit, backwards: backwards) {
            events.append(try catalogue.decode(event))
        }
        return events
    }

    /// The events of one Swift type in a stream; reads on the calling thread.
    /// - Throws: `EvstoreError`: invalidEvent where the type can't read a payload, noImage.
    ///
    /// Blocks the calling thread: it waits for the disk, in a read transaction for each page.
    public func read<E: Event>(
        _ type: E.Type, in stream: StreamName, from: Revision? = nil, limit: Int? = nil
    ) throws(EvstoreError) -> [(event: E, context: RecordedEvent)] {
        var events: [(event: E, context: RecordedEvent)] = []
        for event in try read(stream, at: E.version, from: from, limit: limit, type: E.type) {
            events.append((try event.decode(type), event))
        }
        return events
    }

    /// Calls the handlers with the events of a stream, on the calling thread; no transaction is open while a handler runs.
    /// - Returns: how many events had a handler.
    ///
    /// Blocks the calling thread: it waits for the disk, in a read transaction for each page.
    /// - Throws: `EvstoreError`: invalidEvent, noImage; or what a handler throws, as it is.
    @discardableResult
    public func read(_ stream: StreamName, from: Revision? = nil, with handlers: EventHandlers) throws -> Int {
        var count = 0
        try read(stream, at: handlers.version, from: from) { event in
            if try handlers.handle(event) { count += 1 }
            return true
        }
        return count
    }

    /// The events of a stream as a catalogue's Swift types, one after the other, as `events(in:)` gives them.
    public func events(
        in stream: StreamName, as catalogue: EventCatalogue, from: Revision? = nil, backwards: Bool = false
    ) -> EventSequence<TypedEvent> {
        events(in: stream, at: catalogue.version, from: from, backwards: backwards).mapping { event throws(EvstoreError) in
            try catalogue.decode(event)
        }
    }

    /// Events as a catalogue's Swift types: what is there after a checkpoint, then what is appended, as the other `subscribe` gives them.
    public func subscribe(
        to stream: StreamName? = nil, as catalogue: EventCatalogue, after checkpoint: Checkpoint? = nil
    ) -> EventSequence<TypedEvent> {
        subscribe(to: stream, after: checkpoint, at: catalogue.version).mapping { event throws(EvstoreError) in
            try catalogue.decode(event)
        }
    }
}
