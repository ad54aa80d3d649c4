internal import Bytes

/// The position of an event in the whole log: 1, 2, 3 …, without gaps, never reused within an epoch; `Position.start` (0) is before all.
public struct Position: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public init(integerLiteral number: UInt64) { rawValue = number }

    /// Before the first event.
    public static let start = Position(0)

    /// Larger than any log's last position; a greater number in a file or row was not written by a store.
    package static let largest = Position(1 << 62)

    /// The next position; `UInt64.max`, which no log has, stays unchanged.
    public var next: Position { plus(1) }

    /// The previous position; the start stays unchanged.
    package var previous: Position { Position(rawValue.minus(1)) }

    /// The position advanced by a number of events.
    package func plus(_ events: UInt64) -> Position { Position(rawValue.plus(events)) }

    /// The positions from this one to `last`, both included; only this one if `last` is before it.
    package func through(_ last: Position) -> ClosedRange<UInt64> { rawValue ... Swift.max(rawValue, last.rawValue) }

    /// The number of events after `other` up to this position; 0 if `other` is not before it.
    package func events(after other: Position) -> UInt64 { rawValue.minus(other.rawValue) }

    public static func < (a: Position, b: Position) -> Bool { a.rawValue < b.rawValue }

    public var description: String { String(rawValue) }
}

/// The position of an event in its stream: 0, 1, 2 …, without gaps, counted in stored events.
public struct Revision: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible, ExpressibleByIntegerLiteral {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public init(integerLiteral number: UInt64) { rawValue = number }

    public static let first = Revision(0)

    /// The next revision; `UInt64.max`, which no stream has, stays unchanged.
    package var next: Revision { Revision(rawValue.plus(1)) }

    /// The previous revision; the first one stays unchanged.
    package var previous: Revision { Revision(rawValue.minus(1)) }

    public static func < (a: Revision, b: Revision) -> Bool { a.rawValue < b.rawValue }

    public var description: String { String(rawValue) }
}

/// The number of a schema: 1, 2, 3 …; 0 is the birth version of data from before versions existed.
public struct SchemaVersion: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible,
    ExpressibleByIntegerLiteral
{
    public let rawValue: UInt32

    public init(integerLiteral number: UInt32) { rawValue = number }

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    /// Clamps a number that is no valid version.
    public init(_ number: Int) { self.rawValue = UInt32(clamping: number) }

    public var number: Int { Int(rawValue) }

    /// The next version; `UInt32.max`, which no schema has, stays unchanged.
    public var next: SchemaVersion { SchemaVersion(rawValue.plus(1)) }

    /// The previous version; for version 1 this is 0, at which no store can be opened.
    public var previous: SchemaVersion { SchemaVersion(rawValue.minus(1)) }

    /// Larger than any store's version; a greater number in a file or row was not written by a store.
    package static let largest = SchemaVersion(1 << 20)

    /// The versions from this one to `last`, both included; none if `last` is older.
    package func through(_ last: SchemaVersion) -> [SchemaVersion] {
        self > last ? [] : (rawValue ... last.rawValue).map { SchemaVersion($0) }
    }

    public static func < (a: SchemaVersion, b: SchemaVersion) -> Bool { a.rawValue < b.rawValue }

    public var description: String { "v\(rawValue)" }
}

/// The life of the log to which a position belongs: the epoch grows by one when events are cut off or a backup is restored.
public struct Epoch: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    public static let first = Epoch(1)

    /// The next epoch; `UInt32.max`, which no log has, stays unchanged.
    public var next: Epoch { Epoch(rawValue.plus(1)) }

    /// The previous epoch; 0, which no log has, stays unchanged.
    package var previous: Epoch { Epoch(rawValue.minus(1)) }

    public static func < (a: Epoch, b: Epoch) -> Bool { a.rawValue < b.rawValue }

    public var description: String { String(rawValue) }
}

/// How far a reader has consumed the log. A checkpoint stays valid as long as its position is at or below every later cut.
public struct Checkpoint: Hashable, Sendable, Codable, LosslessStringConvertible {
    public var epoch: Epoch
    public var position: Position

    public init(epoch: Epoch, position: Position) {
        self.epoch = epoch
        self.position = position
    }

    /// Before the first event of a log's first epoch.
    public static let start = Checkpoint(epoch: .first, position: .start)

    /// Such as `1:42`, the epoch before the position.
    public var description: String { "\(epoch):\(position)" }

    /// Reads what `description` gives; nil where the text is none.
    public init?(_ description: String) {
        let parts = description.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = UInt32(parts[0]), epoch >= 1, let position = UInt64(parts[1]) else { return nil }
        self.init(epoch: Epoch(epoch), position: Position(position))
        if self.position > .largest || self.description != description { return nil }
    }
}
