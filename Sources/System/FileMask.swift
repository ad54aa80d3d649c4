internal import Glibc

/// The mode that new files of this process get at most (umask(2)).
package enum FileMask {
    /// Runs `body` while new files and sockets of the whole process get no more than `mode`, and what they had before.
    package static func narrowed<R>(to mode: UInt32, _ body: () async throws -> R) async rethrows -> R {
        let before = umask(~mode & 0o777)
        defer { umask(before) }
        // What was narrower stays so.
        umask(before | ~mode & 0o777)
        return try await body()
    }
}
