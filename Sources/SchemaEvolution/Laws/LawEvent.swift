package import EventModel

/// An event on which the laws are tried.
package struct LawEvent: Hashable, Sendable {
    package enum Origin: String, Hashable, Sendable {
        case log
        /// Generated from the shape of its type.
        case generated
        /// Derived from an event of the log, as if born at the newest version.
        case mutated
        /// Adopted at version 1 from data in the log that predates versions.
        case adopted
    }

    package var origin: Origin
    /// The position of the event, or of the event from which it was derived.
    package var position: Position?
    package var stream: String
    package var type: String
    package var born: SchemaVersion
    package var time: Timestamp
    package var payload: [UInt8]
    package var metadata: [UInt8]
    /// Whether it was appended together with the previous event of the log.
    package var continuesAppend = false
    /// Whether the log keeps a shadow of it, so that older versions can be shown without the application's code.
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

/// The location of an event in a log.
package struct LogLocation: Sendable {
    let position: Position?
    /// Whether it was appended together with the previous event.
    let continuesAppend: Bool

    package init(position: Position?, continuesAppend: Bool) { (self.position, self.continuesAppend) = (position, continuesAppend) }
}

extension LawEvent {
    var place: LogLocation { LogLocation(position: position, continuesAppend: continuesAppend) }

    /// The name of its stream at a version; its own name if a rekey can't convert it, which the law about names reports.
    func stream(at version: SchemaVersion, _ history: History) -> String {
        guard version != born, history.rekeysStreams else { return stream }
        do { return try history.streamName(StreamName(stream), from: born, to: version).text } catch { return stream }
    }
}

/// A step that an event crosses: its type before, and one of its types after, which is nil if it has no image.
package struct StepCrossing: Hashable, Sendable {
    let step: SchemaVersion
    let direction: Direction
    let from: String
    let to: String?
}

/// Whether a law holds for an event.
package struct LawVerdict: Sendable {
    /// The meaning of a failure.
    package enum Weight: Hashable, Sendable {
        /// The steps contain an error.
        case required
        /// The steps may lose something that none of them declares.
        case noted
        /// The failure is allowed and counted.
        case measured
    }

    package let law: String
    package var holds = true
    package var weight = Weight.required
    package var error: EvstoreError?
}

/// An event, or several merged events of one append, for which a law does not hold.
package struct LawFailure: Sendable {
    package let verdict: LawVerdict
    package internal(set) var events: [LawEvent]
    package let target: SchemaVersion

    /// The last of the events, whose position the merged event has.
    package var event: LawEvent { events[events.count - 1] }
}
