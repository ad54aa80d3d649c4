package import EventLog
package import EventModel
internal import JSONText
internal import Platform
internal import SchemaEvolution

/// Runs `body` and converts errors of lower rooms into `EvstoreError`.
/// - Parameters:
///   - doing: the operation that failed, for an error of the operating system.
///   - path: a path on the disk that may be full.
package func converting<R>(_ doing: String? = nil, at path: String? = nil, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch { throw EvstoreError(converting: error, at: path, doing: doing) }
}

/// Runs an asynchronous `body` and converts errors of lower rooms into `EvstoreError`.
package func awaiting<R: Sendable>(at path: String? = nil, _ body: () async throws -> R) async throws(EvstoreError) -> R {
    do { return try await body() } catch { throw EvstoreError(converting: error, at: path) }
}

extension EventLog {
    /// Reads a snapshot of the log and converts errors into `EvstoreError`.
    package func reading<R>(_ body: (borrowing LogReader) throws -> R) throws(EvstoreError) -> R {
        do { return try read(body) } catch { throw EvstoreError(converting: error, at: path) }
    }

    /// Changes rows of the log in one durable transaction on its writing thread, and converts errors into `EvstoreError`.
    package func changing<R: Sendable>(
        _ body: @escaping @Sendable (inout LogUpdate) throws -> R
    ) async throws(EvstoreError) -> R {
        do { return try await update(body) } catch { throw EvstoreError(converting: error, at: path) }
    }
}

extension EvstoreError {
    /// Converts any error of the lower rooms, for this room and those above it. `storeError` does not do it, since the log knows no JSON.
    package init(converting error: any Error, at path: String? = nil, doing: String? = nil) {
        let path = path ?? (error as? StorageError)?.path ?? doing ?? "the store"
        switch error {
        case let error as EvstoreError: self = error
        case let error as JSONError: self = EvstoreError(error)
        case is CancellationError: self = .interrupted(again: "run it again")
        default: self = storeError(error, path, doing: doing ?? "working on \(path)")
        }
    }
}

extension EventShape {
    /// Why a row does not fit this shape; nil if it fits.
    func violation(_ row: RawSpan) -> String? {
        do throws(ShapeError) {
            try validate(row)
            return nil
        } catch { return "\(error.pointer.isEmpty ? "the row" : error.pointer) \(error.reason)" }
    }
}
