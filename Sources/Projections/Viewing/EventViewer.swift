internal import Bytes
package import EventLog
package import EventModel
package import JSONText
package import SchemaEvolution

/// Makes images of stored events at one version; reading, building and following all use it. Used by one thread.
///
/// An event's image is made of its append where a step on the way up merges it with others, of its shadow where one is kept for the way
/// down, and else of its payload along its path.
package final class EventViewer {
    package let target: SchemaVersion
    package let names: StreamNames
    /// Which way the last event took (`Viewer.way`); nil where it was seen by its append or its shadow.
    private(set) var way: UInt64?
    private let log: EventLog
    private let paths: Viewer
    private let merged: MergedAppends
    private var last: (type: TypeID, born: SchemaVersion, path: Path)?

    package init(_ log: EventLog, _ history: History, _ names: StreamNames, at target: SchemaVersion) {
        (self.log, self.target, self.names, paths) = (log, target, names, Viewer(history))
        merged = MergedAppends(log, paths, names, at: target)
    }

    /// The path of an event, which is mostly that of the one before.
    /// - Throws: `EvstoreError.noImage` with the position, where no path leads to the target.
    package func path(of record: borrowing RecordView) throws(EvstoreError) -> Path {
        if let last, last.type == record.type, last.born == record.born { return last.path }
        do throws(EvstoreError) {
            let path = try path(type: log.name(ofType: record.type), born: record.born)
            last = (record.type, record.born, path)
            return path
        } catch { throw error.at(record.position) }
    }

    /// The path of a type's events from their birth version, compiled once.
    package func path(type: String, born: SchemaVersion) throws(EvstoreError) -> Path {
        try paths.path(type: type, born: born, to: target)
    }

    /// The path for a caller that reads only the members that `reading` names, as `Viewer.path` says; the caller keeps the path.
    package func path(
        type: String, born: SchemaVersion, reading: @escaping (String) -> [JSONPointer]?
    ) throws(EvstoreError) -> Path {
        try paths.path(type: type, born: born, to: target, reading: reading)
    }

    /// Calls the body with each image of an event along its path: none where a step hides or drops it, or where a later event of its
    /// append stands for it.
    ///
    /// All lookups use the reader that lends the event, so that a cut meanwhile makes no difference.
    /// - Throws: `EvstoreError.noImage` with the position, or what the body throws.
    package func view(
        _ record: borrowing RecordView, along path: Path, _ reader: borrowing LogReader, _ body: (borrowing Image) throws -> Void
    ) throws {
        way = nil
        // No event has both: only a way up merges, and a shadow is for the way down.
        if path.merges { return try merged.view(record.position, reader, body) }
        if try viewShadow(record, reader, body) { return }
        do {
            try paths.run(
                path, SourceEvent(payload: record.payload, time: record.time, metadata: record.metadata),
                stream: try names.name(of: record, at: record.born, reader).text, body)
            way = paths.way
        } catch let error as EvstoreError { throw error.at(record.position) }
    }

    /// The same along the path of the event. A shadow needs none: a program may have one that lacks a step of the path.
    package func view(
        _ record: borrowing RecordView, _ reader: borrowing LogReader, _ body: (borrowing Image) throws -> Void
    ) throws {
        if try !viewShadow(record, reader, body) { try view(record, along: path(of: record), reader, body) }
    }

    /// False where no shadow is kept for the target.
    private func viewShadow(
        _ record: borrowing RecordView, _ reader: borrowing LogReader, _ body: (borrowing Image) throws -> Void
    ) throws -> Bool {
        do {
            guard record.hasShadow, let shadow = try Shadow(record.shadow, born: record.born, at: target) else { return false }
            let stream = try names.name(of: record, at: shadow.version, reader).text
            let context = EventContext(time: record.time, stream: stream, metadata: record.metadata)
            try paths.view(shadow, context, at: target, body)
            return true
        } catch let error as EvstoreError { throw error.at(record.position) }
    }

    /// Drops what was read of the log; the paths stay.
    package func removeEvents() {
        names.removeAll()
        merged.removeAll()
    }
}

extension EvstoreError {
    /// With the position of the event where that has no image.
    fileprivate func at(_ position: Position) -> EvstoreError {
        guard case .noImage(var failure) = self else { return self }
        failure.position = position
        return .noImage(failure)
    }
}
