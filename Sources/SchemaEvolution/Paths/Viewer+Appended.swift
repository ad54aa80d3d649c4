internal import Bytes
package import EventModel

/// An event of an append whose events may be merged.
package struct AppendedEvent: Sendable {
    package var type: String
    package var payload: [UInt8]
    package var metadata: [UInt8]
    package var time: Timestamp
    package var stream: String

    package init(type: String, payload: [UInt8], metadata: [UInt8], time: Timestamp, stream: String) {
        (self.type, self.payload, self.metadata, self.time, self.stream) = (type, payload, metadata, time, stream)
    }
}

extension Viewer {
    /// Calls the body with each image of events of one append, stream and birth version, and the index of the event that it
    /// belongs to: the last one of those that were merged.
    ///
    /// - Parameter failed: called with the events that have no image.
    package func view(
        appended events: [AppendedEvent], born: SchemaVersion, at target: SchemaVersion, failed: (Int, ImageFailure) -> Void,
        _ body: (Int, borrowing Image) -> Void
    ) throws {
        let group = try PathCompiler.compile(history, group: events.map(\.type), born: born, to: target)
        try workspace.run(group, appended: events, failed: failed, body)
    }
}
