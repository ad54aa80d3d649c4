import EventLog
import EventModel
import Foundation
import LMDB
import Platform

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

    /// Holds the mutex under which LMDB changes the log's table of readers, which it keeps in its file of locks.
    func changingReaders(_ store: String) throws {
        let log = try Environment.open(directory: store + "/log", .init(tables: ["types"], mapBytes: 1 << 26))
        let file = try File(store + "/log/lock.mdb", .write)
        let map = unsafe mmap(nil, 4_096, PROT_READ | PROT_WRITE, MAP_SHARED, file.descriptor, 0)
        guard let map = unsafe map, unsafe map != MAP_FAILED else { throw StorageError.system("mapping \(file.path)") }
        let mutex = unsafe (map + 8).assumingMemoryBound(to: pthread_mutex_t.self)
        guard unsafe pthread_mutex_lock(mutex) == 0 else { throw StorageError(EBUSY, "taking LMDB's mutex of readers") }
        stop()
        unsafe pthread_mutex_unlock(mutex)
        log.close()
        withExtendedLifetime(file) {}
    }

    /// Holds the locks under which one process puts a store right, alone.
    func opening(_ store: String) throws {
        let opening = try StoreLock.opening.acquire(at: store, what: "opens it after a crash")
        let presence = try StoreLock.presence.acquire(at: store, what: "looks at the log after a crash")
        stop()
        try presence.release()
        try opening.release()
    }

    private func stop() {
        _ = FileManager.default.createFile(atPath: held, contents: nil)
        raise(SIGSTOP)
    }
}
