internal import EventLog
package import EventModel
internal import JSONText
internal import SchemaEvolution

/// Runs `body` and converts what it throws into an `EvstoreError`.
/// - Parameter path: a path on the disk that may be full.
func converting<R>(_ doing: String, at path: String? = nil, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch { throw EvstoreError(converting: error, at: path ?? doing, doing: doing) }
}

extension EvstoreError {
    /// Converts any error of the rooms below, for this room and those above. `storeError` can't do it all, since the log knows no JSON.
    package init(converting error: any Error, at path: String, doing: String) {
        switch error {
        case let error as EvstoreError: self = error
        case let error as JSONError: self = EvstoreError(error)
        case is CancellationError: self = .interrupted(again: "run it again")
        default: self = storeError(error, path, doing: doing)
        }
    }
}

extension EventShape {
    /// Why a row does not keep this shape; nil where it does.
    func violation(_ row: RawSpan) -> String? {
        do throws(ShapeError) {
            try validate(row)
            return nil
        } catch { return "\(error.pointer.isEmpty ? "the row" : error.pointer) \(error.reason)" }
    }
}
