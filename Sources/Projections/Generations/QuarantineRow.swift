internal import Bytes
internal import EventLog
public import EventModel
internal import JSONText

/// An event that a generation did not fold, or not into each of its rows.
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
    package var isDeclared: Bool { member("code") == .string("noImage") && member("born") == .number("0") }

    /// Whether the event has an image that the projection can't fold.
    package var isInFold: Bool { member("code") == .string(Self.foldFailed) }

    static let foldFailed = "foldFailed"

    /// A member of the error; nil also where the error is not JSON.
    private func member(_ name: String) -> JSONValue? {
        do { return try JSONValue(parsing: error.lent)[name] } catch { return nil }
    }

    /// The reason, as a sentence.
    public var reason: String { if case .string(let text)? = member("message") { text } else { "" } }
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

    /// The range of all keys up to that of a position.
    static func range(upTo position: Position) -> KeyRange { KeyRange(lower: [], upper: key(position) + [0]) }

    init(key: RawSpan, value: RawSpan, in directory: String) throws(EvstoreError) {
        let position = try Self.position(of: key, in: directory)
        do {
            guard case .string(let type)? = try JSONValue(parsing: value)["type"] else {
                throw JSONError("an event type", at: 0)
            }
            self.init(position: position, type: type, error: [UInt8](copying: value))
        } catch { throw .storeDamaged(path: directory, reason: "a row of the quarantine is malformed") }
    }

    static func position(of key: RawSpan, in directory: String) throws(EvstoreError) -> Position {
        guard key.byteCount == 8 else { throw .storeDamaged(path: directory, reason: "a row of the quarantine is malformed") }
        return Position(key.load(UInt64.self, at: 0).byteSwapped)
    }
}

/// Why an event is not folded; it becomes a row of the quarantine.
struct Rejection: Sendable {
    var position: Position
    /// The number of the operation within the event: of several rejections, the first one is kept.
    var ordinal: UInt32
    var reason: Reason

    enum Reason: Sendable {
        case image(ImageFailure)
        case fold(FoldError, key: String?)
    }

    /// Whether version 1 declares that such events are quarantined: data from before versions existed that can't be adopted.
    var isDeclared: Bool {
        if case .image(let failure) = reason { failure.born.rawValue == 0 } else { false }
    }

    /// Whether the event has an image that the projection can't fold.
    var isInFold: Bool {
        if case .fold = reason { true } else { false }
    }

    var message: String {
        switch reason {
        case .image(let failure): EvstoreError.noImage(failure).message
        case .fold(let error, let key):
            [error.pointer, error.reason, key.map { "(row \(quoted($0)))" }].compactMap(\.self).joined(separator: " ")
        }
    }

    /// - Parameter type: the event's type at its birth version `born`.
    func row(type: String, born: SchemaVersion) -> QuarantineRow {
        var members: [(String, JSONValue)] = [("type", .string(type)), ("born", .number(String(born.rawValue)))]
        switch reason {
        case .image(let failure):
            members += [
                ("code", .string("noImage")), ("target", .number(String(failure.target.rawValue))),
                ("step", .number(String(failure.step.rawValue))), ("op", .string(failure.op)), ("pointer", .string(failure.pointer)),
                ("expected", .string(failure.expected)), ("found", .string(failure.found)),
            ]
        case .fold(let error, let key):
            members.append(("code", .string(QuarantineRow.foldFailed)))
            if let pointer = error.pointer { members.append(("pointer", .string(pointer))) }
            if let key { members.append(("key", .string(key))) }
        }
        members.append(("message", .string(message)))
        let json = JSONValue.object(members.map { .init(name: $0.0, value: $0.1) })
        return QuarantineRow(position: position, type: type, error: Array(json.text.utf8))
    }
}

extension Rejection {
    init(_ operation: RawSpan, _ error: FoldError) {
        let key = String(utf8: operation.slice(Operation.headerBytes, Operation.keyCount(operation)))
        self.init(position: Operation.position(operation), ordinal: Operation.ordinal(operation), reason: .fold(error, key: key))
    }
}

extension QuarantineRow {
    /// One row for each event, in the order of positions; of several reasons, the first is kept.
    static func rows(_ rejections: [Rejection], _ log: EventLog) throws -> [QuarantineRow] {
        if rejections.isEmpty { return [] }
        var first: [Position: Rejection] = [:]
        for rejection in rejections {
            if let known = first[rejection.position], known.ordinal <= rejection.ordinal { continue }
            first[rejection.position] = rejection
        }
        return try first.values.sorted { $0.position < $1.position }.map { rejection in
            let born = try log.read { reader in
                try reader.closedRecord(at: rejection.position) { record in (log.name(ofType: record.type), record.born) }
            }
            return rejection.row(type: born?.0 ?? "", born: born?.1 ?? SchemaVersion(0))
        }
    }
}
