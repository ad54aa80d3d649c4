internal import Bytes
internal import EventLog
internal import EventModel
internal import JSONText

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
    /// The rejection of an operation that failed.
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
