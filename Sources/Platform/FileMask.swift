internal import Glibc

/// The mode that new files of this process get at most (umask(2)).
package enum FileMask {
    /// Runs `body` while new files and sockets of the whole process get at most `mode`; then what it was before holds again.
    package static func with<R>(_ mode: UInt32, _ body: () async throws -> R) async rethrows -> R {
        let before = umask(~mode & 0o777)
        defer { umask(before) }
        return try await body()
    }
}
