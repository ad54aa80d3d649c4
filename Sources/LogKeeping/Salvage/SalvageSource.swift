internal import EventLog
internal import EventModel
internal import LMDB
internal import Platform

/// The files that a salvage reads: those of a store, or a `data.mdb` alone.
struct SalvageSource {
    let path: String
    /// The store's directory; nil where there is only a file.
    let store: String?
    let data: File?
    let ahead: File?

    /// - Throws: `EvstoreError`: storeNotFound, notAStore.
    init(_ path: String) throws {
        self.path = path
        guard let status = try Directory.status(path) else { throw EvstoreError.storeNotFound(path: path) }
        let isAlone = try !status.isDirectory || Self.isThere(path + "/data.mdb")
        store = isAlone ? try Self.store(around: status.isDirectory ? path : Directory.parent(of: path)) : path
        let name = store.map { $0 + "/log/data.mdb" } ?? (status.isDirectory ? path + "/data.mdb" : path)
        data = try Self.file(name)
        ahead = try store.flatMap { try Self.file($0 + WriteAhead.fileName) }
        if data == nil, ahead == nil {
            throw EvstoreError.notAStore(path: path, reason: "it has neither log/data.mdb nor log/ahead")
        }
    }

    /// Locks the store against other processes, which would open and recover it; nil where it has no lock file.
    /// - Throws: `EvstoreError.locked`.
    func lock() throws -> HeldLock? {
        guard let store, try Self.isThere(store + StoreLock.fileName) else { return nil }
        do { return try StoreLock.presence.acquire(at: store, what: "salvages it") } catch EvstoreError.readOnly {
            // On a disk that can't be written the lock is shared: no process can change the files there.
            return try StoreLock.presence.acquire(at: store, shared: true, what: "salvages it")
        }
    }

    private static func isThere(_ path: String) throws -> Bool { try Directory.status(path) != nil }

    private static func file(_ path: String) throws -> File? { try isThere(path) ? File(path, .read) : nil }

    /// The store whose `log` directory this is, even if it was named through a link.
    private static func store(around log: String) throws -> String? {
        let store = log + "/.."
        guard let own = try Directory.status(log + "/data.mdb"), let other = try Directory.status(store + "/log/data.mdb"),
            (own.device, own.inode) == (other.device, other.inode)
        else { return nil }
        return try isThere(store + StoreLock.fileName) || isThere(store + "/" + Manifest.name) ? store : nil
    }
}
