internal import Bytes
internal import EventLog
internal import EventModel
internal import Hashing
internal import Platform
internal import Projections
internal import SchemaEvolution

/// Takes in the records that a cursor reaches.
protocol RecordVisitor {
    /// The stored names of the types to look at; nil for all.
    var storedTypes: Set<Name>? { get }
    var isFull: Bool { get }

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
    private let type: String?
    private let order: ReadOrder
    /// The stored types whose events may be seen as `type`; nil where every event is wanted.
    private let wanted: Set<TypeAtVersion>?
    private var lastName: (type: TypeID, name: String)?

    /// - Parameters:
    ///   - version: nil shows each event at the version it was written at.
    ///   - order: how the caller comes from record to record.
    ///   - shared: the stream names that converters of other threads have found.
    init(
        _ store: EventStore, _ history: History, at version: SchemaVersion?, type: String? = nil, in order: ReadOrder = .log,
        sharing shared: SharedStreamNames? = nil
    ) throws(EvstoreError) {
        (self.store, self.history, self.version, self.type, self.order) = (store, history, version, type, order)
        isPooled = shared == nil
        // Version 0 has no types of its own.
        if let type, let version, version.rawValue > 0 {
            _ = try history.requireShape(of: type, at: version)
            wanted = history.ancestry(of: type, at: version)
        } else {
            wanted = nil
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

    deinit {
        if isPooled, let viewer { store.viewers.give(viewer, of: history) }
    }

    var storedTypes: Set<Name>? {
        guard let wanted else { return type.map { [Name($0)] } }
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
        let (stream, id) = (try stream(of: record, reader), record.id)
        try view(record, reader) { image in
            events.append(
                RecordedEvent(
                    epoch: record.epoch, position: record.position, stream: stream, revision: record.revision, type: image.type,
                    payload: [UInt8](copying: image.payload), metadata: [UInt8](copying: record.metadata),
                    id: image.part > 0 ? id.ofPart(image.part) : id, time: record.time, born: record.born,
                    version: version ?? record.born, part: image.part))
        }
    }

    /// Calls the body with the images of an event: none, one, or several parts.
    /// - Parameter reader: lends the event.
    func view(
        _ record: borrowing RecordView, _ reader: borrowing LogReader, _ body: (borrowing Image) throws -> Void
    ) throws {
        // Order: the viewer goes back to the pool only when nobody uses it any more.
        defer { withExtendedLifetime(self) {} }
        let (storedType, born) = (name(of: record.type), record.born)
        if let wanted {
            guard born.rawValue == 0 || wanted.contains(TypeAtVersion(type: storedType, version: born)) else { return }
        } else if let type, type != storedType {
            return
        }
        guard let version, version != born, let viewer else {
            return try body(Image(type: storedType, typeIndex: 0, payload: record.payload, part: 0))
        }
        do {
            try viewer.view(record, reader, in: order) { image in
                if type.map(image.type.isSame) ?? true { try body(image) }
            }
        } catch EvstoreError.noImage where born.rawValue == 0 {
            // Data from before versions existed that has no image is in quarantine, and is shown at its birth version only.
        }
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
    private static let keptMax = 16

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
