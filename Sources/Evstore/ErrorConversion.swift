internal import EventLog
internal import EventModel
internal import JSONText

extension EvstoreError {
    /// What a caller of the front door is told of an error from below.
    init(converting error: any Error, at path: String = "") {
        switch error {
        case let error as EvstoreError: self = error
        case let error as JSONError: self = .invalidJSON(reason: error.reason, offset: error.offset)
        case is CancellationError: self = .interrupted(again: "run it again")
        default: self = storeError(error, path, doing: "working on \(path)")
        }
    }
}

/// Runs a body of the rooms below and converts whatever it throws.
func converting<R>(at path: String, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch { throw EvstoreError(converting: error, at: path) }
}
