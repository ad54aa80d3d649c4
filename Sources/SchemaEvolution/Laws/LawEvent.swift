package import EventModel

/// An event that the laws are tried on.
package struct LawEvent: Hashable, Sendable {
    package enum Origin: String, Hashable, Sendable {
        case log
        /// Made from the shape of its type.
        case generated
        /// Made from an event of the log, as if born at the newest version.
        case mutated
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

    package init(
        origin: Origin, position: Position? = nil, stream: String, type: String, born: SchemaVersion, time: Timestamp, payload: [UInt8],
        metadata: [UInt8]
    ) {
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

/// An event for which a law does not hold.
package struct LawFailure: Sendable {
    package let verdict: LawVerdict
    package internal(set) var event: LawEvent
    package let target: SchemaVersion
}
