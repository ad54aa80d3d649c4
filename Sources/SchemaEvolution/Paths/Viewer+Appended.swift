internal import Bytes
package import EventModel

/// An event of an append whose events may be merged.
package struct AppendedEvent: Sendable {
    package var type: String
    package var payload: [UInt8]
    package var metadata: [UInt8]
    package var time: Timestamp
    package var stream: String
    /// The index of the first of the parts, for what is a part of one event together with others of the list.
    package var first: Int?

    package init(type: String, payload: [UInt8], metadata: [UInt8], time: Timestamp, stream: String, first: Int? = nil) {
        (self.type, self.payload, self.metadata, self.time, self.stream) = (type, payload, metadata, time, stream)
        self.first = first
    }
}

extension Viewer {
    /// Calls the body with each image of events of one append, stream and birth version, and the index of the event that it
    /// belongs to: the last one of those that were merged.
    ///
    /// - Parameters:
    ///   - failed: called with the events that have no image.
    ///   - met: called with the events that a step merges to one, in their order, and whether one of each type has come. Of one
    ///     that was merged before, only the last of its events is named.
    package func view(
        appended events: [AppendedEvent], born: SchemaVersion, at target: SchemaVersion, failed: (Int, ImageFailure) -> Void,
        met: ([Int], Bool) -> Void = { _, _ in }, _ body: (Int, borrowing Image) -> Void
    ) throws {
        let group = try group(of: events.map(\.type), born: born, to: target)
        try workspace.run(group, appended: events, failed: failed, met: met, body)
    }
}
