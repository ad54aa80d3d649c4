package import EventModel
internal import LMDB
package import Logging
internal import Platform

/// Checks of a store's files that come before any of them is used.
package enum StoreFiles {
    /// Everything that a store has but its temporary files (`scratch`).
    private static let names = [
        "evstore.json", "evstore.lock", "anchor", "ballast", "keys", "subjects", "log", "generations", "drills", "archive",
    ]

    /// The store's own directory may be a link, and nothing below it.
    /// - Throws: `EvstoreError.unsafePermissions` where another user could change a file, or put a link in its place.
    static func check(_ store: String) throws {
        try check(store, Directory.status(store), store)
        for name in names { try checkTree("\(store)/\(name)", store) }
    }

    private static func checkTree(_ path: String, _ store: String) throws {
        guard let status = try Directory.ownStatus(path) else { return }
        try check(path, status, store)
        guard status.isDirectory else { return }
        for name in try namesLeft(in: path) { try checkTree("\(path)/\(name)", store) }
    }

    /// The names in a directory; none where it was removed meanwhile.
    private static func namesLeft(in path: String) throws -> [String] {
        do throws(StorageError) { return try Directory.names(path) } catch {
            if error.isNotFound { return [] }
            throw error
        }
    }

    private static func check(_ path: String, _ status: FileStatus?, _ store: String) throws {
        guard let status else { return }
        func refused(_ reason: String) -> EvstoreError { .unsafePermissions(path: store, reason: "\(path) \(reason)") }
        // The mode of a link is always open to others and means nothing.
        if Guard.symlink.isOn, !status.isDirectory, !status.isFile { throw refused("is neither a file nor a directory") }
        if Guard.permissions.isOn, status.isWritableByOthers { throw refused("is writable by others") }
        // Root may own the files of any store, and work on the stores of other users.
        let user = ProcessIdentity.user == 0 ? try Directory.status(store)?.owner ?? 0 : ProcessIdentity.user
        if Guard.owner.isOn, status.owner != user, status.owner != 0 {
            throw refused("belongs to the user \(status.owner), and not to \(user)")
        }
    }

    /// Makes the names durable that lead to a store and to its files: a process that made or changed one may have been killed before
    /// its sync, and durable appends need all of them.
    static func settleNames(_ store: String) throws {
        try Directory.sync(store)
        // The store's own name may be a link.
        try Directory.syncName(of: store)
    }

    /// - Throws: `EvstoreError`: unsafeFileSystem, usage where there is no such directory.
    package static func checkPlace(_ path: String, _ options: Options, _ logger: Logger) throws {
        guard try Directory.status(path) != nil else { throw EvstoreError.usage("there is no directory \(path)") }
        switch try FileSystem.of(path) {
        case .lasting: return
        case .passing(let kind, let reason): logger.notice("\(path) lies on \(kind): \(reason)")
        case .unknown(let kind):
            if options.allowsUnsafeFileSystem || !Guard.fileSystem.isOn {
                return logger.warning("\(path) lies on a file system \(kind), which is not known to be safe")
            }
            throw EvstoreError.unsafeFileSystem(path: path, kind: kind)
        }
    }
}
