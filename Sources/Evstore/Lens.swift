internal import Bytes
internal import EventLog
internal import EventModel
internal import Projections
internal import SchemaEvolution

/// Shows stored events as they are at one version, or at birth. Used by one thread.
final class Lens {
    private let history: History
    private let viewer: Viewer
    private let names: StreamNames
    private let merged: MergedAppends?
    /// Nil shows each event at its birth version.
    private let version: SchemaVersion?
    private let type: String?
    /// The stored types whose events may be seen as `type`; nil where every event is wanted.
    private let wanted: Set<TypeAtVersion>?

    init(_ log: EventLog, _ history: History, at version: SchemaVersion?, type: String? = nil) throws(EvstoreError) {
        names = StreamNames(log, history)
        let viewer = Viewer(history)
        merged = version.map { [names] in MergedAppends(log, viewer, names, at: $0) }
        (self.history, self.viewer, self.version, self.type) = (history, viewer, version, type)
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

    /// Appends what an event is seen as: nothing, one event, or several parts.
    func see(_ record: borrowing RecordView, _ events: inout [RecordedEvent]) throws {
        let (storedType, born) = (record.typeName, record.born)
        let target = version ?? born
        if let wanted {
            guard born.rawValue == 0 || wanted.contains(TypeAtVersion(type: storedType, version: born)) else { return }
        } else if let type, type != storedType {
            return
        }
        let event = RecordedEvent(
            epoch: record.epoch, position: record.position, stream: try names.name(of: record, at: target),
            revision: record.revision, type: storedType, payload: [], metadata: [UInt8](copying: record.metadata), id: record.id,
            time: record.time, born: born, version: target, part: 0)
        if target == born {
            var whole = event
            whole.payload = [UInt8](copying: record.payload)
            events.append(whole)
            return
        }
        do {
            func add(_ image: borrowing Image) {
                if let type, image.type != type { return }
                var seen = event
                (seen.type, seen.payload, seen.part) = (image.type, [UInt8](copying: image.payload), image.part)
                if image.part > 0 { seen.id = EventID(unchecked: "\(event.id)#\(image.part)") }
                events.append(seen)
            }
            if record.hasShadow, let shadow = try Shadow(record.shadow, born: born, at: target) {
                let stream = try names.name(of: record, at: shadow.version).text
                return try viewer.view(shadow, time: event.time, stream: stream, metadata: record.metadata, at: target, add)
            }
            let path = try viewer.path(type: storedType, born: born, to: target)
            if path.merges, let merged { return try merged.view(event.position, event.epoch, add) }
            try viewer.run(
                path, payload: record.payload, time: event.time, stream: try names.name(of: record, at: born).text,
                metadata: record.metadata, add)
        } catch EvstoreError.noImage(var failure) {
            // By declaration such data is in quarantine, and shown at its birth version only.
            if born.rawValue == 0 { return }
            failure.position = record.position
            throw EvstoreError.noImage(failure)
        }
    }
}
