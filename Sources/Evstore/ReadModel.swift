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

    /// In the order of the keys' bytes.
    func precedes(_ other: ReadModelRow) -> Bool { key.utf8.lexicographicallyPrecedes(other.key.utf8) }
}

/// What a query read from.
public struct QueryNote: Hashable, Sendable {
    public var version: SchemaVersion
    /// Up to where the read model had consumed the log.
    public var checkpoint: Checkpoint
    /// Events of the log, as the query began, that the read model has not consumed; 0 where it could catch up.
    public var lag: UInt64
    /// Why it could not catch up, as a clause; nil where it did.
    public var reason: String?
    /// Events that the rows lack because the read model could not take them in; `EventStore.quarantine` lists them.
    public var quarantined: UInt64
}

/// One read model as `status` shows it.
public struct ProjectionStatus: Hashable, Sendable {
    public var name: String
    public var version: SchemaVersion
    /// Hexadecimal.
    public var fingerprint: String
    /// Nil where nothing has been built.
    public var checkpoint: Checkpoint?
    public var rows: UInt64
    /// Hexadecimal; nil where nothing has been built.
    public var digest: String?
    public var quarantined: UInt64
    /// Events of the log beyond the checkpoint.
    public var lag: UInt64
    public var isSwift: Bool
}

/// One key of a read model at two versions, with the rows' JSON texts.
public struct RowDifference: Hashable, Sendable {
    public var key: String
    /// Nil where there is no such row.
    public var a: [UInt8]?
    public var b: [UInt8]?

    /// Whether the rows mean different things, however their JSON is written.
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
