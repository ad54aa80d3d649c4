package import EventLog
package import EventModel
internal import JSONText
internal import SchemaEvolution

/// Runs work of the rooms below and gives what it throws the type of the front door.
/// - Parameters:
///   - doing: what failed, for an error of the operating system.
///   - path: a path on the disk that may be full.
package func converting<R>(_ doing: String? = nil, at path: String? = nil, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch { throw EvstoreError(converting: error, at: path, doing: doing) }
}

/// Runs work of the rooms below that waits, in the same way.
package func awaiting<R: Sendable>(at path: String? = nil, _ body: () async throws -> R) async throws(EvstoreError) -> R {
    do { return try await body() } catch { throw EvstoreError(converting: error, at: path) }
}

extension EventLog {
    /// Reads the log as it is at one moment; what fails is an `EvstoreError`.
    package func reading<R>(_ body: (borrowing LogReader) throws -> R) throws(EvstoreError) -> R {
        do { return try read(body) } catch { throw EvstoreError(converting: error, at: path) }
    }

    /// Changes rows of the log in one durable transaction on its writing thread; what fails is an `EvstoreError`.
    package func changing<R: Sendable>(
        _ body: @escaping @Sendable (inout LogUpdate) throws -> R
    ) async throws(EvstoreError) -> R {
        do { return try await update(body) } catch { throw EvstoreError(converting: error, at: path) }
    }
}

extension EvstoreError {
    /// Converts any error of the rooms below, for this room and those above. `storeError` can't do it all, since the log knows no JSON.
    package init(converting error: any Error, at path: String? = nil, doing: String? = nil) {
        let path = path ?? doing ?? "the store"
        switch error {
        case let error as EvstoreError: self = error
        case let error as JSONError: self = EvstoreError(error)
        case is CancellationError: self = .interrupted(again: "run it again")
        default: self = storeError(error, path, doing: doing ?? "working on \(path)")
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
