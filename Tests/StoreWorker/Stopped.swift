import EventLog
import EventModel
import Foundation
import LMDB
import System

/// A process that is stopped in the middle of a write, as by a debugger or `docker pause`.
struct Stopped {
    /// The file that says that the lock is held.
    let held: String

    /// Holds the log's write lock.
    func writing(_ store: String) async throws {
        var options = Options()
        (options.mapBytes, options.ballastBytes) = (1 << 26, 0)
        let log = try EventLog.open(at: store, options: options)
        try await log.update { _ in stop() }
        try await log.close()
    }

    /// Holds the write lock of the one read model that there is.
    func writing(readModelOf store: String) throws {
        let home = store + "/generations"
        for name in try Directory.names(home) {
            let model = try Environment.open(directory: "\(home)/\(name)", .init(tables: ["rows"], mapBytes: 1 << 26))
            try model.write { _ in stop() }
            model.close()
        }
    }

    private func stop() {
        _ = FileManager.default.createFile(atPath: held, contents: nil)
        raise(SIGSTOP)
    }
}
