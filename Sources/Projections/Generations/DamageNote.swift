internal import EventModel
internal import LMDB
internal import Platform

/// Remembers that a generation is damaged, also for other processes: a file `damaged` in its directory. A damaged
/// generation counts as missing, and is built anew.
final class DamageNote: Sendable {
    private static let fileName = "/damaged"
    private let directory: String
    private let found = Monitor(false)

    init(_ directory: String) { self.directory = directory }

    /// Notes the damage and returns it as an error.
    func damaged(_ reason: String) -> EvstoreError {
        found.withLock { $0 = true }
        do { _ = try File(directory + Self.fileName, .create) } catch {
            // Where the disk can't be written, the next reader finds the damage again.
        }
        return .storeDamaged(path: directory, reason: reason)
    }

    /// - Throws: `EvstoreError.storeDamaged` where it was found before.
    func check() throws {
        let isNoted = try found.withLock { $0 } || Directory.status(directory + Self.fileName) != nil
        if isNoted { throw EvstoreError.storeDamaged(path: directory, reason: "it was found to be damaged, and is built anew") }
    }
}
