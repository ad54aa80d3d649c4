package import EventModel

/// An event that the laws are tried on.
package struct LawEvent: Hashable, Sendable {
    package enum Origin: String, Hashable, Sendable {
        case log
        /// Made from the shape of its type.
        case generated
        /// Made from an event of the log, as if born at the newest version.
        case mutated
        /// Made by adoption, at version 1, of data of the log from before versions existed.
        case adopted
    }

    package var origin: Origin
    /// The position of the event, or of the one that it was made from.
    package var position: Position?
    package var stream: String
    package var type: String
    package var born: SchemaVersion
    package var time: Timestamp
    package var payload: [UInt8]
    package var metadata: [UInt8]
    /// Whether the event before it in the log was appended with it.
    package var continuesAppend = false
    /// Whether the log has a shadow of it, so that older versions can be seen without the application's code.
    package var hasShadow = false

    package init(
        origin: Origin, position: Position? = nil, stream: String, type: String, born: SchemaVersion, time: Timestamp, payload: [UInt8],
        metadata: [UInt8], continuesAppend: Bool = false, hasShadow: Bool = false
    ) {
        (self.continuesAppend, self.hasShadow) = (continuesAppend, hasShadow)
        (self.origin, self.position, self.stream, self.type) = (origin, position, stream, type)
        (self.born, self.time, self.payload, self.metadata) = (born, time, payload, metadata)
    }
}

/// Where an event stands in a log.
package struct LogPlace: Sendable {
    let position: Position?
    /// Whether the event before it was appended with it.
    let continuesAppend: Bool

    package init(position: Position?, continuesAppend: Bool) { (self.position, self.continuesAppend) = (position, continuesAppend) }
}

extension LawEvent {
    var place: LogPlace { LogPlace(position: position, continuesAppend: continuesAppend) }

    /// What its stream is called at a version; its own name where a rekey can't take it, of which the name's own law tells.
    func stream(at version: SchemaVersion, _ history: History) -> String {
        guard version != born, history.rekeysStreams else { return stream }
        do { return try history.streamName(StreamName(stream), from: born, to: version).text } catch { return stream }
    }
}

/// An event crosses a step: its type before, and one of its types after, nil where it has no image.
package struct Crossing: Hashable, Sendable {
    let step: SchemaVersion
    let direction: Direction
    let from: String
    let to: String?
}

/// Whether one law holds for one event.
package struct LawVerdict: Sendable {
    /// What a failure means.
    package enum Weight: Hashable, Sendable {
        /// The steps have an error.
        case required
        /// The steps may lose something, and none of them declares it.
        case noted
        /// The failure is allowed, and counted.
        case measured
    }

    package let law: String
    package var holds = true
    package var weight = Weight.required
    package var error: EvstoreError?
}

/// An event for which a law does not hold, or several of one append that are merged.
package struct LawFailure: Sendable {
    package let verdict: LawVerdict
    package internal(set) var events: [LawEvent]
    package let target: SchemaVersion

    /// The last of the events, at whose position the merged event is.
    package var event: LawEvent { events[events.count - 1] }
}
