internal import EventModel
internal import JSONText
internal import LMDB

extension EvstoreError {
    /// What a caller of the front door is told of an error from below.
    init(converting error: any Error, at path: String = "") {
        switch error {
        case let error as EvstoreError: self = error
        case let error as JSONError: self = .invalidJSON(reason: error.reason, offset: error.offset)
        case let error as LMDBError where error.isDiskFull: self = .diskFull(path: path, freeBytes: 0)
        case let error as LMDBError where error.isReadOnly: self = .readOnly(path: path)
        case let error as LMDBError where error.isDamage: self = .storeDamaged(path: path, reason: error.message)
        case let error as LMDBError where error.isMisuse: self = .misuse(error.message)
        case let error as LMDBError: self = .ioFailure(doing: "working on \(path)", reason: error.message)
        case is CancellationError: self = .interrupted(again: "run it again")
        default: self = .ioFailure(doing: "working on \(path)", reason: "\(error)")
        }
    }
}

/// Runs a body of the rooms below and converts whatever it throws.
func converting<R>(at path: String, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch { throw EvstoreError(converting: error, at: path) }
}
