internal import Platform

/// Keeps the error that a caller's closure threw inside a lower room's work, so that the caller gets it back unconverted.
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
