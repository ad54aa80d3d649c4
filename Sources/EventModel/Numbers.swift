internal import Bytes

/// An event's place in the whole log: 1, 2, 3 …, no gaps, never reused within an epoch.
/// `Position.start` (0) stands before the first event.
public struct Position: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// Before the first event.
    public static let start = Position(0)

    /// Further than any log goes: what says more, in a file or a row, was not written by a store.
    package static let largest = Position(1 << 62)

    /// The position after it; `UInt64.max`, which no log has, stays.
    public var next: Position { plus(1) }

    /// The position before it; the start stays.
    package var previous: Position { Position(rawValue.minus(1)) }

    /// So many events further.
    package func plus(_ events: UInt64) -> Position { Position(rawValue.plus(events)) }

    /// The positions from it to another one, both included; it alone where that one is not behind it.
    package func through(_ last: Position) -> ClosedRange<UInt64> { rawValue ... Swift.max(rawValue, last.rawValue) }

    /// How many events lie behind another position, up to this one; 0 where the other one is not before it.
    package func events(after other: Position) -> UInt64 { rawValue.minus(other.rawValue) }

    public static func < (a: Position, b: Position) -> Bool { a.rawValue < b.rawValue }

    public var description: String { String(rawValue) }
}

/// An event's place in its stream: 0, 1, 2 …, no gaps, counted in stored events.
public struct Revision: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public static let first = Revision(0)

    /// The revision after it; `UInt64.max`, which no stream has, stays.
    package var next: Revision { Revision(rawValue.plus(1)) }

    /// The revision before it; the first one stays.
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

    /// A number that no version has becomes the nearest that one may have.
    public init(_ number: Int) { self.rawValue = UInt32(clamping: number) }

    public var number: Int { Int(rawValue) }

    /// The version after it; `UInt32.max`, which no schema has, stays.
    public var next: SchemaVersion { SchemaVersion(rawValue.plus(1)) }

    /// The version before; version 1 has the one before versions, 0, which is never opened.
    public var previous: SchemaVersion { SchemaVersion(rawValue.minus(1)) }

    /// More than any store has; what says more, in a file or a row, was not written by one.
    package static let largest = SchemaVersion(1 << 20)

    /// The versions up to another one, both included; none where that one is older.
    package func through(_ last: SchemaVersion) -> [SchemaVersion] {
        self > last ? [] : (rawValue ... last.rawValue).map { SchemaVersion($0) }
    }

    public static func < (a: SchemaVersion, b: SchemaVersion) -> Bool { a.rawValue < b.rawValue }

    public var description: String { "v\(rawValue)" }
}

/// Which life of the log a position belongs to: it grows by one when events are cut off or a
/// backup is restored.
public struct Epoch: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    public static let first = Epoch(1)

    /// The epoch after it; `UInt32.max`, which no log has, stays.
    public var next: Epoch { Epoch(rawValue.plus(1)) }

    /// The epoch before it; 0, which no log has, stays.
    package var previous: Epoch { Epoch(rawValue.minus(1)) }

    public static func < (a: Epoch, b: Epoch) -> Bool { a.rawValue < b.rawValue }

    public var description: String { String(rawValue) }
}

/// Up to where a reader has consumed the log. Valid as long as its position lies at or below every
/// later cut.
public struct Checkpoint: Hashable, Sendable, Codable, LosslessStringConvertible {
    public var epoch: Epoch
    public var position: Position

    public init(epoch: Epoch, position: Position) {
        self.epoch = epoch
        self.position = position
    }

    /// Before the first event of a log's first life.
    public static let start = Checkpoint(epoch: .first, position: .start)

    /// Such as `1:42`, the epoch before the position.
    public var description: String { "\(epoch):\(position)" }

    /// Reads what `description` gives; nil where the text is none.
    public init?(_ description: String) {
        let parts = description.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, let epoch = UInt32(parts[0]), epoch >= 1, let position = UInt64(parts[1]) else { return nil }
        self.init(epoch: Epoch(epoch), position: Position(position))
    }
}
