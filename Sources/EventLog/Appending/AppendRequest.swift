package import EventModel
package import Platform

/// An event in its stored form: checked by the room above, and complete except for its position.
package struct StoredEvent: Hashable, Sendable {
    package var stream: StreamName
    package var type: String
    package var born: SchemaVersion
    package var payload: [UInt8]
    /// Empty where the event has none.
    package var metadata: [UInt8]
    /// Unique in the store where given; if nil, a UUIDv7 is made.
    package var id: EventID?
    package var time: Timestamp
    /// What older versions see of the event (`Shadow`), in bytes that the log does not read; empty where none is kept.
    package var shadow: [UInt8] = []
    /// What remains of the payload when the stream's personal data is forgotten; empty where it has none. Only in sealed stores.
    package var forgotten: [UInt8] = []

    package init(
        stream: StreamName, type: String, born: SchemaVersion, payload: [UInt8], metadata: [UInt8] = [], id: EventID? = nil,
        time: Timestamp
    ) {
        (self.stream, self.type, self.born, self.time) = (stream, type, born, time)
        (self.payload, self.metadata, self.id) = (payload, metadata, id)
    }
}

/// A row that is written in the transaction of an append.
package struct AttachedRow: Hashable, Sendable {
    package var catalogue: Catalogue
    package var key: [UInt8]
    package var value: [UInt8]

    package init(_ catalogue: Catalogue, key: [UInt8], value: [UInt8]) {
        (self.catalogue, self.key, self.value) = (catalogue, key, value)
    }
}

/// Events that are appended together, all of them or none, with the conditions for that.
package struct AppendRequest: Sendable {
    package let events: [StoredEvent]
    /// The bytes of the events, without those that the log adds.
    let payloadBytes: Int
    package var conditions: [StreamCondition]
    /// Conditions on what has come since they were judged; nil where there are none.
    package var judge: (any ConditionJudge)?
    /// The numbers and the history that the events were checked against; nil where they do not matter.
    package var validated: StateStamp?
    package var rows: [AttachedRow]
    /// When the caller began to append, which may be before an earlier attempt.
    let since: Instant
    package var deadline: Instant

    package init(
        events: [StoredEvent], conditions: [StreamCondition] = [], judge: (any ConditionJudge)? = nil, validated: StateStamp? = nil,
        rows: [AttachedRow] = [], since: Instant = .now, deadline: Instant = .now + .seconds(30)
    ) {
        (self.events, self.conditions, self.judge, self.validated) = (events, conditions, judge, validated)
        (self.rows, self.since, self.deadline) = (rows, since, deadline)
        payloadBytes = Self.payloadBytes(of: events.span)
    }

    private static func payloadBytes(of events: Span<StoredEvent>) -> Int {
        var bytes = 0
        for index in events.indices {
            bytes += events[index].payload.count + events[index].metadata.count + events[index].shadow.count + events[index].forgotten.count
        }
        return bytes
    }
}

package enum AppendOutcome: Hashable, Sendable {
    case appended(AppendReceipt)
    /// The given id of the first event is in the store, at this position: nothing was appended.
    case known(Position)
    /// The store's numbers or history differ from those that the events were checked against, or the turn is too short to judge what came
    /// since the conditions were judged: nothing was appended.
    case revalidate
}

/// Conditions over queries, which the caller's thread has judged up to a place in the log. The thread whose turn it is judges what came
/// since, before the append is admitted. One thread uses it at a time.
package protocol ConditionJudge: AnyObject, Sendable {
    /// The place up to which the log was judged.
    var through: Checkpoint { get }
    /// How many events the turn, for which everybody waits, may judge; where more came, the append leaves it to be judged again.
    var eventsInTurnMax: UInt64 { get }

    /// Judges the events of the log behind `through`.
    /// - Throws: `EvstoreError.conditionFailed`, and what reading throws.
    func judge(in reader: borrowing LogReader) throws

    /// Judges an append that comes before this one in the commit.
    /// - Parameter first: the position of its first event.
    /// - Returns: false where that takes a log that has them: the append is judged again in the next commit.
    func judge(_ events: [StoredEvent], from first: Position) throws -> Bool
}

extension AppendRequest {
    /// - Throws: `EvstoreError`: appendTooLarge, eventTooLarge, misuse.
    func checkLimits(_ options: Options) throws {
        if events.isEmpty { throw EvstoreError.misuse("an append needs at least one event") }
        if events.count > options.appendEventsMax {
            throw EvstoreError.appendTooLarge(reason: "\(events.count) events, and at most \(options.appendEventsMax) are possible")
        }
        let events = self.events.span
        let typeNameBytes = 1 ... min(options.typeNameBytesMax, 255)
        for index in events.indices {
            try options.checkEvent(payloadBytes: events[index].payload.count, metadataBytes: events[index].metadata.count)
            if !typeNameBytes.contains(events[index].type.utf8.count) {
                throw EvstoreError.misuse(
                    "a type name has 1 to \(options.typeNameBytesMax) bytes, not \(events[index].type.utf8.count)")
            }
        }
        if payloadBytes > options.appendBytesMax {
            throw EvstoreError.appendTooLarge(reason: "\(payloadBytes) bytes, and at most \(options.appendBytesMax) are possible")
        }
    }
}
