internal import EventModel
internal import Projections
internal import System

extension EvstoreError {
    /// What a caller of the front door is told of an error from below.
    init(converting error: any Error, at path: String = "") {
        self.init(converting: error, at: path, doing: "working on \(path)")
    }
}

/// Runs a body of the rooms below and converts whatever it throws. A closure of the caller's is never called in one.
func converting<R>(at path: String, _ body: () throws -> R) throws(EvstoreError) -> R {
    do { return try body() } catch { throw EvstoreError(converting: error, at: path) }
}

/// What a caller's closure threw in the midst of work below, so that it comes back as itself whatever is made of it there.
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
