package import EventModel

/// An event that the laws are tried on.
package struct LawEvent: Hashable, Sendable {
    package enum Origin: String, Hashable, Sendable {
        case log
        /// Made from the shape of its type.
        case generated
        /// Made from an event of the log, as if born at the newest version.
        case mutated
        /// What adoption makes, at version 1, of data of the log from before versions existed.
        case adopted
    }

    package var origin: Origin
    /// Where the log has it, or has the one that it was made from.
    package var position: Position?
    package var stream: String
    package var type: String
    package var born: SchemaVersion
    package var time: Timestamp
    package var payload: [UInt8]
    package var metadata: [UInt8]
    /// Whether the event before it in the log was appended with it.
    package var continuesAppend = false
    /// Whether the log keeps what older versions see of it, so that nobody needs the code that leads there.
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

/// An event that goes over a step: what it was before, and one of the types that it is after, nil where it is none.
package struct Crossing: Hashable, Sendable {
    let step: SchemaVersion
    let direction: Direction
    let from: String
    let to: String?
}

/// How one law came out for one event.
package struct LawVerdict: Sendable {
    package enum Weight: Hashable, Sendable {
        /// The steps are wrong.
        case required
        /// The steps may lose something, and none of them says so.
        case noted
        /// Only counted.
        case measured
    }

    package let law: String
    package var holds = true
    package var weight = Weight.required
    package var error: EvstoreError?
}

/// An event for which a law does not hold, or several that were appended together and are seen together.
package struct LawFailure: Sendable {
    package let verdict: LawVerdict
    package internal(set) var events: [LawEvent]
    package let target: SchemaVersion

    /// The last of them, where the log has what they are merged to.
    package var event: LawEvent { events[events.count - 1] }
}
