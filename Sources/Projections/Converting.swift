internal import EventLog
internal import EventModel
internal import JSONText
internal import SchemaEvolution

/// Runs `body` and says its failure as an error of the store.
/// - Parameter path: what lies on the disk that may be full.
func converting<R>(_ doing: String, at path: String? = nil, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch { throw EvstoreError(converting: error, doing, at: path) }
}

extension EvstoreError {
    init(converting error: any Error, _ doing: String, at path: String? = nil) {
        switch error {
        case let error as EvstoreError: self = error
        case let error as JSONError: self = .invalidJSON(reason: error.reason, offset: error.offset)
        default: self = storeError(error, path ?? doing, doing: doing)
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
