internal import Bytes
internal import EventModel
internal import JSONText
internal import Projections

/// One row of a read model.
public struct ReadModelRow: Hashable, Sendable {
    public var key: String
    /// JSON text in UTF-8.
    public var value: [UInt8]

    public init(key: String, value: [UInt8]) { (self.key, self.value) = (key, value) }

    /// Compares by the bytes of the keys.
    func precedes(_ other: ReadModelRow) -> Bool { key.utf8.lexicographicallyPrecedes(other.key.utf8) }
}

/// The source of a query's rows.
public struct QueryNote: Hashable, Sendable {
    public var version: SchemaVersion
    /// The checkpoint up to which the read model had consumed the log.
    public var checkpoint: Checkpoint
    /// Events in the log when the query began that the read model has not consumed; 0 where it could catch up.
    public var lag: UInt64
    /// Why it could not catch up, as a clause; nil where it could.
    public var reason: String?
    /// Events that the rows lack because the read model could not take them in; `EventStore.quarantine` lists them.
    public var quarantined: UInt64
}

/// One read model in a status report.
public struct ProjectionStatus: Hashable, Sendable {
    public var name: String
    public var version: SchemaVersion
    /// The fingerprint in hexadecimal digits.
    public var fingerprint: String
    /// Nil where nothing was built yet.
    public var checkpoint: Checkpoint?
    public var rows: UInt64
    /// The digest in hexadecimal digits; nil where nothing was built yet.
    public var digest: String?
    public var quarantined: UInt64
    /// Events in the log beyond the checkpoint.
    public var lag: UInt64
    public var isSwift: Bool
}

/// One key of a read model at two versions, with the rows' JSON texts.
public struct RowDifference: Hashable, Sendable {
    public var key: String
    /// Nil where there is no such row.
    public var a: [UInt8]?
    public var b: [UInt8]?

    /// Whether the rows differ in meaning, however their JSON is written.
    var isReal: Bool {
        get throws(EvstoreError) {
            guard let a, let b else { return a != b }
            if a == b { return false }
            do { return try Canonical.bytes(of: a.lent) != Canonical.bytes(of: b.lent) } catch {
                throw EvstoreError(converting: error, at: "the rows of \(key)")
            }
        }
    }
}
