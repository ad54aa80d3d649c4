internal import Bytes
package import EventLog
package import EventModel
package import JSONText
package import SchemaEvolution

/// Makes images of stored events at one version; used for reading, building and following. Used by one thread.
///
/// If an upward step merges events, an image is made from the event's append; if a shadow is stored for a downward step, from the shadow;
/// otherwise from the event's payload, along its path.
package final class EventViewer {
    package let target: SchemaVersion
    package let names: StreamNames
    /// The trace of the last event (`PathRunner.trace`); nil if its image came from its append or its shadow.
    private(set) var trace: UInt64?
    private let log: EventLog
    let paths: PathRunner
    private let merged: MergedAppends
    private var last: (type: TypeID, born: SchemaVersion, path: Path)?

    package init(_ log: EventLog, _ history: History, _ names: StreamNames, at target: SchemaVersion) {
        (self.log, self.target, self.names, paths) = (log, target, names, PathRunner(history))
        merged = MergedAppends(log, paths, names, at: target)
    }

    /// The path of an event, which is mostly that of the previous event.
    /// - Throws: `EvstoreError.noImage` with the position, if no path leads to the target.
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

    /// A path for a caller that reads only the members that `reading` returns, as in `PathRunner.path`; the caller caches the path.
    package func path(
        type: String, born: SchemaVersion, reading: @escaping (String) -> [JSONPointer]?
    ) throws(EvstoreError) -> Path {
        try paths.path(type: type, born: born, to: target, reading: reading)
    }

    /// Calls the body with each image of an event along its path: never if it is hidden or dropped, or a later event has the merged image.
    ///
    /// All lookups use the reader that lends the event, so that a concurrent cut makes no difference.
    /// - Parameter order: how the caller comes from event to event.
    /// - Throws: `EvstoreError.noImage` with the position, or what the body throws.
    package func view(
        _ record: borrowing RecordView, along path: Path, _ reader: borrowing LogReader, in order: ReadOrder = .log,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        trace = nil
        // An event never needs both: only upward steps merge, and shadows exist only for downward steps.
        if path.merges { return try merged.view(record.position, reader, in: order, body) }
        if try viewShadow(record, reader, body) { return }
        let event = SourceEvent(
            payload: record.payload, time: record.time, metadata: record.metadata, isImpersonal: record.isClosed)
        do {
            if try paths.interpreter.run(path, event, stream: try names.name(of: record, at: record.born, reader).text, body) {
                trace = paths.trace
                return
            }
        } catch let error as EvstoreError { throw error.at(record.position) }
        try reader.record(at: record.position) { try view($0, along: path, reader, in: order, body) }
    }

    /// Calls the body with each image of an event along its own path. An event with a shadow needs no path, so a step of it may be missing.
    package func view(
        _ record: borrowing RecordView, _ reader: borrowing LogReader, in order: ReadOrder = .log,
        _ body: (borrowing Image) throws -> Void
    ) throws {
        if try !viewShadow(record, reader, body) { try view(record, along: path(of: record), reader, in: order, body) }
    }

    /// Calls the body with each image of an event that has no place in the log yet, from its payload alone: nothing merges it with others,
    /// and its stream has had no other name.
    package func view(_ event: StoredEvent, _ body: (borrowing Image) throws -> Void) throws {
        let source = SourceEvent(payload: event.payload.lent, time: event.time, metadata: event.metadata.lent)
        _ = try paths.interpreter.run(path(type: event.type, born: event.born), source, stream: event.stream.text, body)
    }

    /// Shows the event by its shadow. Returns false if no shadow is stored for the target.
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

    /// Drops everything that was read from the log; the paths are kept.
    package func removeEvents() {
        names.removeAll()
        merged.removeAll()
    }
}

extension EvstoreError {
    /// The error with the position of the event that has no image.
    fileprivate func at(_ position: Position) -> EvstoreError {
        guard case .noImage(var failure) = self else { return self }
        failure.position = position
        return .noImage(failure)
    }
}
