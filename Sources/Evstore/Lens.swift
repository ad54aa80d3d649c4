internal import Bytes
internal import EventLog
internal import EventModel
internal import SchemaEvolution

/// Shows stored events as they are at one version, or at birth. Used by one thread.
final class Lens {
    private let history: History
    private let viewer: Viewer
    /// Nil shows each event at its birth version.
    private let version: SchemaVersion?
    private let type: String?
    /// The stored types whose events may be seen as `type`; nil where every event is wanted.
    private let wanted: Set<TypeAtVersion>?

    init(_ history: History, at version: SchemaVersion?, type: String? = nil) throws(EvstoreError) {
        (self.history, viewer, self.version, self.type) = (history, Viewer(history), version, type)
        if let type, let version {
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
    func see(_ record: borrowing RecordView, in stream: StreamName, _ events: inout [RecordedEvent]) throws {
        let (storedType, born) = (record.typeName, record.born)
        let target = version ?? born
        if let wanted {
            guard born.rawValue == 0 || wanted.contains(TypeAtVersion(type: storedType, version: born)) else { return }
        } else if let type, type != storedType {
            return
        }
        let event = RecordedEvent(
            epoch: record.epoch, position: record.position, stream: stream,
            revision: record.revision, type: storedType, payload: [], metadata: [UInt8](copying: record.metadata), id: record.id,
            time: record.time, born: born, version: target, part: 0)
        if target == born {
            var whole = event
            whole.payload = [UInt8](copying: record.payload)
            events.append(whole)
            return
        }
        do {
            try viewer.view(
                type: storedType, born: born, payload: record.payload, time: event.time, stream: stream.text,
                metadata: record.metadata, at: target
            ) { image in
                if let type, image.type != type { return }
                var seen = event
                (seen.type, seen.payload, seen.part) = (image.type, [UInt8](copying: image.payload), image.part)
                if image.part > 0 { seen.id = EventID(unchecked: "\(event.id)#\(image.part)") }
                events.append(seen)
            }
        } catch EvstoreError.noImage(var failure) {
            failure.position = record.position
            throw EvstoreError.noImage(failure)
        }
    }
}
