internal import Bytes
public import EventModel
internal import JSONText

/// An event that a generation did not fold.
///
/// In the table `quarantine`: position (u64, big-endian) -> JSON text with the members type, born, code, message and, as far as applicable,
/// target, step, op, pointer, expected, found, key.
public struct QuarantineRow: Hashable, Sendable {
    public var position: Position
    /// The event's type at its birth version.
    public var type: String
    /// JSON text that describes the error.
    public var error: [UInt8]

    public init(position: Position, type: String, error: [UInt8]) { (self.position, self.type, self.error) = (position, type, error) }

    /// Whether version 1 declares that such events are quarantined: data from before versions existed that can't be adopted.
    package var isDeclared: Bool { says("code", .string("noImage")) && says("born", .number("0")) }

    /// Whether the event has an image that the projection can't fold.
    package var isInFold: Bool { says("code", .string(Self.foldFailed)) }

    static let foldFailed = "foldFailed"

    private func says(_ name: String, _ value: JSONValue) -> Bool {
        do { return try JSONValue(parsing: error.lent)[name] == value } catch { return false }
    }

    /// The reason, as a sentence.
    public var reason: String {
        do {
            guard case .string(let text)? = try JSONValue(parsing: error.lent)["message"] else { return "" }
            return text
        } catch { return "" }
    }
}

extension QuarantineRow {
    /// Its key in the table, which sorts like positions.
    static func key(_ position: Position) -> [UInt8] {
        (0 ..< 8).map { UInt8(truncatingIfNeeded: position.rawValue >> UInt64(56 - $0 * 8)) }
    }

    /// The range of keys that has only that of a position.
    static func range(_ position: Position) -> KeyRange {
        let key = key(position)
        return KeyRange(lower: key, upper: key + [0])
    }

    /// The range of all keys behind that of a position.
    static func range(after position: Position) -> KeyRange { KeyRange(lower: key(position) + [0], upper: nil) }

    init(key: RawSpan, value: RawSpan, in directory: String) throws(EvstoreError) {
        let position = try Self.position(of: key, in: directory)
        do {
            guard case .string(let type)? = try JSONValue(parsing: value)["type"] else {
                throw JSONError("an event type", at: 0)
            }
            self.init(position: position, type: type, error: [UInt8](copying: value))
        } catch { throw .storeDamaged(path: directory, reason: "a row of the quarantine is malformed") }
    }

    /// The position that a key of the table denotes.
    static func position(of key: RawSpan, in directory: String) throws(EvstoreError) -> Position {
        guard key.byteCount == 8 else { throw .storeDamaged(path: directory, reason: "a row of the quarantine is malformed") }
        return Position(key.load(UInt64.self, at: 0).byteSwapped)
    }
}
