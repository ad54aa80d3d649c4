internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// Shows stored events as they are at one version, or at birth. Used by one thread.
final class Lens {
    private let log: EventLog
    private let history: History
    private let names: StreamNames
    // Made for the first event that is seen at another version than its own.
    private lazy var viewer = Viewer(history)
    private lazy var merged = version.map { MergedAppends(log, viewer, names, at: $0) }
    /// Nil shows each event at its birth version.
    private let version: SchemaVersion?
    private let type: String?
    /// The stored types whose events may be seen as `type`; nil where every event is wanted.
    private let wanted: Set<TypeAtVersion>?
    private var last: (type: TypeID, born: SchemaVersion, path: Path)?
    private var lastName: (type: TypeID, name: String)?

    /// - Parameter shared: the streams' names that lenses of other threads have met.
    init(
        _ log: EventLog, _ history: History, at version: SchemaVersion?, type: String? = nil, sharing shared: SharedStreamNames? = nil
    ) throws(EvstoreError) {
        names = StreamNames(log, history, sharing: shared)
        (self.log, self.history, self.version, self.type) = (log, history, version, type)
        // Version 0 has no types of its own.
        if let type, let version, version.rawValue > 0 {
            _ = try history.requireShape(of: type, at: version)
            wanted = history.ancestry(of: type, at: version)
        } else {
            wanted = nil
        }
    }

    /// The names, as stored, of the types to look at; nil for all.
    var storedTypes: Set<String>? {
        guard let wanted else { return type.map { [$0] } }
        // Data from before versions existed becomes any type.
        return history.versions.first?.adopt == nil ? Set(wanted.map(\.type)) : nil
    }

    /// What the stream of an event is called where the event is shown.
    func stream(of record: borrowing RecordView) throws -> StreamName { try names.name(of: record, at: version ?? record.born) }

    /// Appends what an event is seen as: nothing, one event, or several parts.
    func see(_ record: borrowing RecordView, _ events: inout [RecordedEvent]) throws {
        let (stream, id) = (try stream(of: record), record.id)
        try view(record) { image in
            events.append(
                RecordedEvent(
                    epoch: record.epoch, position: record.position, stream: stream, revision: record.revision, type: image.type,
                    payload: [UInt8](copying: image.payload), metadata: [UInt8](copying: record.metadata),
                    id: image.part > 0 ? id.ofPart(image.part) : id, time: record.time, born: record.born,
                    version: version ?? record.born, part: image.part))
        }
    }

    /// Calls the body with what an event is seen as: nothing, one image, or several parts.
    func view(_ record: borrowing RecordView, _ body: (borrowing Image) throws -> Void) throws {
        let (storedType, born) = (name(of: record.type), record.born)
        if let wanted {
            guard born.rawValue == 0 || wanted.contains(TypeAtVersion(type: storedType, version: born)) else { return }
        } else if let type, type != storedType {
            return
        }
        let target = version ?? born
        if target == born { return try body(Image(type: storedType, typeIndex: 0, payload: record.payload, part: 0)) }
        do {
            func show(_ image: borrowing Image) throws { if type == nil || image.type == type { try body(image) } }
            if record.hasShadow, let shadow = try Shadow(record.shadow, born: born, at: target) {
                let stream = try names.name(of: record, at: shadow.version).text
                return try viewer.view(shadow, time: record.time, stream: stream, metadata: record.metadata, at: target, show)
            }
            let path = try path(of: record, storedType, to: target)
            if path.merges, let merged { return try merged.view(record.position, record.epoch, show) }
            try viewer.run(
                path, payload: record.payload, time: record.time, stream: try names.name(of: record, at: born).text,
                metadata: record.metadata, show)
        } catch EvstoreError.noImage(var failure) {
            // By declaration such data is in quarantine, and shown at its birth version only.
            if born.rawValue == 0 { return }
            failure.position = record.position
            throw EvstoreError.noImage(failure)
        }
    }

    /// The type's name, which is mostly that of the event before.
    private func name(of type: TypeID) -> String {
        if let lastName, lastName.type == type { return lastName.name }
        let name = log.name(ofType: type)
        lastName = (type, name)
        return name
    }

    /// The path of an event, which is mostly that of the one before.
    private func path(of record: borrowing RecordView, _ type: String, to target: SchemaVersion) throws -> Path {
        if let last, last.type == record.type, last.born == record.born { return last.path }
        let path = try viewer.path(type: type, born: record.born, to: target)
        last = (record.type, record.born, path)
        return path
    }
}

extension EventID {
    /// The id of a later part of an event with this id.
    func ofPart(_ part: Int) -> EventID { EventID(unchecked: "\(self)#\(part)") }
}
