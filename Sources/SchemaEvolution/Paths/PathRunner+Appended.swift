internal import Bytes
package import EventModel

/// An event of an append whose events may be merged.
package struct AppendedEvent: Sendable {
    package var type: String
    package var payload: [UInt8]
    package var metadata: [UInt8]
    package var time: Timestamp
    package var stream: String
    /// For a part of one event among other parts in the list, the index of the first part.
    package var first: Int?

    package init(type: String, payload: [UInt8], metadata: [UInt8], time: Timestamp, stream: String, first: Int? = nil) {
        (self.type, self.payload, self.metadata, self.time, self.stream) = (type, payload, metadata, time, stream)
        self.first = first
    }
}

extension PathRunner {
    /// Calls the body with each image of events of one append, stream and birth version, and the index of the event to which it belongs:
    /// for merged events, the last of them.
    ///
    /// - Parameters:
    ///   - failed: called for each event that has no image.
    ///   - met: called with the events that a step merges, in order, and whether there was one of each type. Events that were merged before
    ///     are represented by the last of them.
    package func view(
        appended events: [AppendedEvent], born: SchemaVersion, at target: SchemaVersion, failed: (Int, ImageFailure) -> Void,
        met: ([Int], Bool) -> Void = { _, _ in }, _ body: (Int, borrowing Image) -> Void
    ) throws {
        let group = try group(of: events.map(\.type), born: born, to: target)
        try workspace.run(group, appended: events, failed: failed, met: met, body)
    }
}
