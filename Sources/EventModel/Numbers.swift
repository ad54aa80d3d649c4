/// An event's place in the whole log: 1, 2, 3 …, no gaps, never reused within an epoch.
/// `Position.start` (0) stands before the first event.
public struct Position: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    /// Before the first event.
    public static let start = Position(0)

    public var next: Position { Position(rawValue + 1) }

    public static func < (a: Position, b: Position) -> Bool { a.rawValue < b.rawValue }

    public var description: String { String(rawValue) }
}

/// An event's place in its stream: 0, 1, 2 …, no gaps, counted in stored events.
public struct Revision: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt64

    public init(rawValue: UInt64) { self.rawValue = rawValue }

    public init(_ rawValue: UInt64) { self.rawValue = rawValue }

    public static let first = Revision(0)

    public static func < (a: Revision, b: Revision) -> Bool { a.rawValue < b.rawValue }

    public var description: String { String(rawValue) }
}

/// The number of a schema: 1, 2, 3 …; 0 is the birth version of data from before versions existed.
public struct SchemaVersion: RawRepresentable, Hashable, Comparable, Sendable, CustomStringConvertible {
    public let rawValue: UInt32

    public init(rawValue: UInt32) { self.rawValue = rawValue }

    public init(_ rawValue: UInt32) { self.rawValue = rawValue }

    public init(_ number: Int) { self.rawValue = UInt32(number) }

    public var number: Int { Int(rawValue) }

    public var next: SchemaVersion { SchemaVersion(rawValue + 1) }

    /// The version before; version 1 has the one before versions, 0, which is never opened.
    public var previous: SchemaVersion { SchemaVersion(rawValue == 0 ? 0 : rawValue - 1) }

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

    public var next: Epoch { Epoch(rawValue + 1) }

    public static func < (a: Epoch, b: Epoch) -> Bool { a.rawValue < b.rawValue }

    public var description: String { String(rawValue) }
}

/// Up to where a reader has consumed the log. Valid as long as its position lies at or below every
/// later cut.
public struct Checkpoint: Hashable, Sendable, Codable, CustomStringConvertible {
    public var epoch: Epoch
    public var position: Position

    public init(epoch: Epoch, position: Position) {
        self.epoch = epoch
        self.position = position
    }

    /// Before the first event of a log's first life.
    public static let start = Checkpoint(epoch: .first, position: .start)

    public var description: String { "\(epoch):\(position)" }
}
