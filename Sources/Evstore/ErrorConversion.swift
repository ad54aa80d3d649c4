internal import EventModel
internal import Platform
internal import Projections

extension EvstoreError {
    /// Converts an error of a lower room into the public one.
    init(converting error: any Error, at path: String = "") {
        self.init(converting: error, at: path, doing: "working on \(path)")
    }
}

/// Runs a body of the rooms below and converts whatever it throws. A closure of the caller's is never called in one.
func converting<R>(at path: String, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch { throw EvstoreError(converting: error, at: path) }
}

/// Keeps the error that a caller's closure threw within work of a lower room, so that the caller gets it back unconverted.
final class CallerErrors: Sendable {
    private let noted = Monitor<(any Error)?>(nil)

    var first: (any Error)? { noted.withLock { $0 } }

    func noting<R>(_ body: () throws -> R) throws -> R {
        do { return try body() } catch {
            noted.withLock { $0 = $0 ?? error }
            throw error
        }
    }
}
