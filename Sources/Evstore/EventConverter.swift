internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import Migration
internal import Platform
internal import Projections
internal import SchemaEvolution

/// Takes in the records that a cursor reaches.
protocol RecordVisitor {
    /// The stored names of the types to look at; nil for all.
    var storedTypes: Set<Name>? { get }
    var isFull: Bool { get }

    /// Says how the reader comes from record to record from now on, in a read of the whole log.
    func come(in order: ReadOrder)

    /// The name under which the log holds a stream that is called `stream` at the version of the reader, or else in the log; nil where
    /// there is no such stream.
    func storedName(of stream: StreamName, _ reader: borrowing LogReader) throws -> StreamName?

    /// Takes in a record and appends the events that come of it.
    /// - Parameter reader: lends the record.
    func read(_ record: borrowing RecordView, _ reader: borrowing LogReader, into events: inout [RecordedEvent]) throws
}

extension RecordVisitor {
    var storedTypes: Set<Name>? { nil }
    var isFull: Bool { false }
    func come(in order: ReadOrder) {}
}

/// Converts stored events to their images at one version. Used by one thread at a time.
final class EventConverter: RecordVisitor {
    let store: EventStore
    private let history: History
    private let names: StreamNames
    /// Nil where each event is seen at its birth version.
    private let viewer: EventViewer?
    private let isPooled: Bool
    /// Nil where each event is seen at its birth version.
    private let version: SchemaVersion?
    /// Nil where every event is wanted.
    let filter: EventFilter?
    private var order: ReadOrder
    /// The stored types whose events may match; nil where those of each may.
    private let wanted: Set<TypeAtVersion>?
    /// The stored types that are wanted whatever their birth version; nil where `wanted` says it, and where every event is wanted.
    private let named: Set<Name>?
    private var lastName: (type: TypeID, name: String)?
    /// The events without an image that were left out, as somebody has accepted.
    private(set) var leftOut = 0
    /// The query's item that the last wanted image matches; nil where the query has none.
    private(set) var item: Int?

    /// - Parameters:
    ///   - version: nil shows each event at the version it was written at.
    ///   - query: which images are wanted; nil for all.
    ///   - order: how the caller comes from record to record.
    ///   - shared: the stream names that converters of other threads have found.
    init(
        _ store: EventStore, _ history: History, at version: SchemaVersion?, matching query: EventQuery? = nil, in order: ReadOrder = .log,
        sharing shared: SharedStreamNames? = nil
    ) throws(EvstoreError) {
        (self.store, self.history, self.version, self.order) = (store, history, version, order)
        isPooled = shared == nil
        filter = if let query { try EventFilter(query, history, at: version) } else { nil }
        // Version 0 has no types of its own.
        if let types = filter?.types, let version, version.rawValue > 0 {
            (wanted, named) = (store.viewers.ancestry(of: types, history, at: version), nil)
        } else {
            (wanted, named) = (nil, filter?.types)
        }
        if let version, shared == nil {
            let pooled = store.viewers.take(store.log, history, at: version)
            (viewer, names) = (pooled, pooled.names)
        } else {
            let own = StreamNames(store.log, history, sharing: shared)
            names = own
            viewer = version.map { EventViewer(store.log, history, own, at: $0) }
        }
    }

    func come(in order: ReadOrder) { self.order = order }

    deinit {
        if isPooled, let viewer { store.viewers.give(viewer, of: history) }
    }

    var storedTypes: Set<Name>? {
        guard let wanted else { return named }
        // Data from before versions existed may become an event of any type.
        return history.versions.first?.adopt == nil ? Set(of: wanted.map(\.type)) : nil
    }

    func storedName(of stream: StreamName, _ reader: borrowing LogReader) throws -> StreamName? {
        guard let version else { return stream }
        if let stored = try history.storedName(of: stream, at: version, reader) { return stored }
        // The name by which the log holds a stream: no append creates another one under it.
        return try reader.head(of: stream) == nil ? nil : stream
    }

    /// The name of an event's stream at the version where the event is shown.
    func stream(of record: borrowing RecordView, _ reader: borrowing LogReader) throws -> StreamName {
        defer { withExtendedLifetime(self) {} }
        return try names.name(of: record, at: version ?? record.born, reader)
    }

    /// Appends the images of an event: none, one, or several parts.
    /// - Parameter reader: lends the event.
    func read(_ record: borrowing RecordView, _ reader: borrowing LogReader, into events: inout [RecordedEvent]) throws {
        let (stream, id, begin) = (try stream(of: record, reader), record.id, events.count)
        do {
            try append(record, reader, stream, id, into: &events)
        } catch {
            guard try isLeftOut(error, record, reader) else { throw error }
            events.removeSubrange(begin...)
        }
    }

    private func append(
        _ record: borrowing RecordView, _ reader: borrowing LogReader, _ stream: StreamName, _ id: EventID,
        into events: inout [RecordedEvent]
    ) throws {
        try view(record, reader) { image in
            events.append(
                RecordedEvent(
                    epoch: record.epoch, position: record.position, stream: stream, revision: record.revision, type: image.type,
                    payload: [UInt8](copying: image.payload), metadata: [UInt8](copying: record.metadata),
                    id: image.part > 0 ? id.ofPart(image.part) : id, time: record.time, born: record.born,
                    version: version ?? record.born, part: image.part))
        }
    }

    /// Whether a query leaves an event out that can't be seen at the version, because somebody has accepted that; counts it.
    func isLeftOut(_ error: any Error, _ record: borrowing RecordView, _ reader: borrowing LogReader) throws -> Bool {
        guard filter != nil, let version, case EvstoreError.noImage = error,
            try AcceptedEvent.at(record.position, version, in: reader)?.id == record.id
        else { return false }
        leftOut += 1
        return true
    }

    /// Calls the body with the images of an event: none, one, or several parts.
    /// - Parameter reader: lends the event.
    func view(
        _ record: borrowing RecordView, _ reader: borrowing LogReader, _ body: (borrowing Image) throws -> Void
    ) throws {
        // Order: the viewer goes back to the pool only when nobody uses it any more.
        defer { withExtendedLifetime(self) {} }
        let (storedType, born) = (name(of: record.type), record.born)
        guard mayHaveWanted(storedType, born) else { return }
        guard let version, version != born, let viewer else {
            return try give(Image(type: storedType, typeIndex: 0, payload: record.payload, part: 0), of: record, reader, body)
        }
        do {
            try viewer.view(record, reader, in: order) { image in try give(image, of: record, reader, body) }
        } catch EvstoreError.noImage where born.rawValue == 0 {
            // Data from before versions existed that has no image is in quarantine, and is shown at its birth version only.
        }
    }

    /// Calls the body with the wanted images of an event that has no place in the log yet: one that `EventViewer.view` takes alone.
    func view(_ event: StoredEvent, _ body: (borrowing Image) throws -> Void) throws {
        defer { withExtendedLifetime(self) {} }
        guard mayHaveWanted(event.type, event.born) else { return }
        func give(_ image: borrowing Image) throws {
            item = try filter?.item(of: image, born: event.born) { event.stream }
            if filter == nil || item != nil { try body(image) }
        }
        guard let version, version != event.born, let viewer else {
            return try give(Image(type: event.type, typeIndex: 0, payload: event.payload.lent, part: 0))
        }
        try viewer.view(event) { image in try give(image) }
    }

    /// Whether an event of a stored type can have an image that is wanted.
    private func mayHaveWanted(_ type: String, _ born: SchemaVersion) -> Bool {
        if let wanted { return born.rawValue == 0 || wanted.contains(TypeAtVersion(type: type, version: born)) }
        return named?.contains(type) ?? true
    }

    /// Calls the body with an image if it is wanted.
    private func give(
        _ image: borrowing Image, of record: borrowing RecordView, _ reader: borrowing LogReader, _ body: (borrowing Image) throws -> Void
    ) throws {
        if let filter {
            item = try filter.item(of: image, born: record.born, stream: { try stream(of: record, reader) })
            if item == nil { return }
        }
        try body(image)
    }

    /// The name of a type, which is usually that of the event before.
    private func name(of type: TypeID) -> String {
        if let lastName, lastName.type == type { return lastName.name }
        let name = store.log.name(ofType: type)
        lastName = (type, name)
        return name
    }
}

/// Keeps event viewers between reads: each keeps its compiled paths, and nothing of the events that it has shown. A read takes one for
/// itself and gives it back at its end.
final class EventViewerPool: Sendable {
    private let idle = Monitor<[(history: Digest, viewer: EventViewer)]>([])
    private let ancestries = Monitor<[Descent: Set<TypeAtVersion>]>([:])
    private static let keptMax = 16

    private struct Descent: Hashable {
        let history: Digest
        let version: SchemaVersion
        let types: Set<Name>
    }

    /// `History.ancestry`, which compiles a path for each type of each version, kept for the next read.
    func ancestry(of types: Set<Name>, _ history: History, at version: SchemaVersion) -> Set<TypeAtVersion> {
        let descent = Descent(history: history.digest, version: version, types: types)
        if let known = ancestries.withLock({ $0[descent] }) { return known }
        let found = history.ancestry(of: types, at: version)
        ancestries.withLock { ancestries in
            if ancestries.count >= Self.keptMax { ancestries.removeAll() }
            ancestries[descent] = found
        }
        return found
    }

    var count: Int { idle.withLock { $0.count } }

    /// A viewer for a history at a version: the kept one that was given back last, or a new one.
    func take(_ log: EventLog, _ history: History, at version: SchemaVersion) -> EventViewer {
        let kept = idle.withLock { idle in
            idle.lastIndex { $0.viewer.target == version && $0.history == history.digest }.map { idle.remove(at: $0).viewer }
        }
        return kept ?? EventViewer(log, history, StreamNames(log, history), at: version)
    }

    /// Keeps a viewer that is no longer in use. Where the pool is full, it replaces the one that was kept longest.
    func give(_ viewer: EventViewer, of history: History) {
        viewer.removeEvents()
        idle.withLock { idle in
            if idle.count >= Self.keptMax { idle.removeFirst() }
            idle.append((history.digest, viewer))
        }
    }
}
