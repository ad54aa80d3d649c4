internal import EventModel
internal import LMDB
internal import Platform

/// Records that a generation is damaged, also for other processes, in a file `damaged` in its directory. A damaged generation counts as
/// missing and is rebuilt.
final class DamageNote: Sendable {
    private static let fileName = "/damaged"
    private let directory: String
    private let found = Monitor(false)

    init(_ directory: String) { self.directory = directory }

    /// Records the damage and returns it as an error.
    func damaged(_ reason: String) -> EvstoreError {
        found.withLock { $0 = true }
        do { _ = try File(directory + Self.fileName, .create) } catch {
            // If the disk can't be written, the next reader will find the damage again.
        }
        return .storeDamaged(path: directory, reason: reason)
    }

    /// - Throws: `EvstoreError.storeDamaged` if damage was found before.
    func check() throws {
        let isNoted = try found.withLock { $0 } || Directory.status(directory + Self.fileName) != nil
        if isNoted { throw EvstoreError.storeDamaged(path: directory, reason: "it was found to be damaged and must be rebuilt") }
    }
}
