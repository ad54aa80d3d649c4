package import EventModel
internal import LMDB
package import Logging
internal import Platform

/// Checks of a store's files, made before any of them is used.
package enum StoreFiles {
    /// The names of everything in a store, except files that are first written under another name.
    static let names = [
        Manifest.name, "evstore.lock", "anchor", "ballast", "keys", "subjects", "slot-codes", "cluster", "log", "generations", "states",
        "drills", "archive", "scratch", "follow.new", "unconfirmed.jsonl",
    ]

    /// Checks all files of a store. The store's own directory may be a link; nothing below it may be one.
    /// - Throws: `EvstoreError.unsafePermissions` where another user could change a file, or put a link in its place.
    static func check(_ store: String) throws {
        try checkOwn(store)
        for name in names { try checkTree("\(store)/\(name)", store) }
    }

    /// Checks owner, kind and permissions of a store's own directory.
    static func checkOwn(_ store: String) throws { try check(store, Directory.status(store), store) }

    /// The first bytes of a file of a store. The file is opened without following a link, and checked once it is open.
    /// - Throws: `EvstoreError.unsafePermissions`.
    package static func contents(_ name: String, of store: String, bytesMax: Int) throws -> [UInt8] {
        let path = "\(store)/\(name)"
        let file = try File(path, .read)
        try check(path, file.status(), store)
        return try file.read(bytesMax)
    }

    /// The path of a directory of a store, which is made if it is missing. It is checked at each use: the store's owner may replace it by a
    /// link, and root would then work elsewhere.
    /// - Throws: `EvstoreError.unsafePermissions`.
    package static func directory(_ name: String, of store: String) throws -> String {
        let path = "\(store)/\(name)"
        if try Directory.ownStatus(path) == nil {
            // Another process may make it at the same time.
            do throws(StorageError) { try Directory.create(path) } catch { if !error.isThere { throw error } }
        }
        try check(path, Directory.ownStatus(path), store)
        return path
    }

    /// The first file or directory of a store whose mode bars this process, although the store's own does not; nil where there is none.
    static func barred(in store: String) -> String? {
        func first(_ path: String) throws -> String? {
            guard let status = try Directory.ownStatus(path) else { return nil }
            if Directory.isBarred(path, isDirectory: status.isDirectory) { return path }
            guard status.isDirectory else { return nil }
            for name in try namesLeft(in: path) { if let found = try first("\(path)/\(name)") { return found } }
            return nil
        }
        if Directory.isBarred(store, isDirectory: true) { return nil }
        // What can't be looked at is told by the store's path.
        do {
            for name in names { if let found = try first("\(store)/\(name)") { return found } }
        } catch {}
        return nil
    }

    private static func checkTree(_ path: String, _ store: String) throws {
        guard let status = try Directory.ownStatus(path) else { return }
        try check(path, status, store)
        // Entries of `scratch` come and go with other processes' work, and each of `states` is checked when it is read.
        guard status.isDirectory, !["scratch", "states"].contains(Directory.name(of: path)) else { return }
        for name in try namesLeft(in: path) { try checkTree("\(path)/\(name)", store) }
    }

    /// The names in a directory; empty where it was removed meanwhile.
    static func namesLeft(in path: String) throws -> [String] {
        do throws(StorageError) { return try Directory.names(path) } catch {
            if error.isNotFound { return [] }
            throw error
        }
    }

    private static func check(_ path: String, _ status: FileStatus?, _ store: String) throws {
        guard let status else { return }
        func refused(_ reason: String) -> EvstoreError { .unsafePermissions(path: store, reason: "\(path) \(reason)") }
        // The mode of a link always allows access by others and means nothing.
        if Guard.symlink.isOn, !status.isDirectory, !status.isFile {
            throw refused(
                status.isLink
                    ? "is a symbolic link, and only the whole store's directory may be one" : "is neither a file nor a directory")
        }
        if Guard.permissions.isOn, status.isWritableByOthers { throw refused("is writable by others") }
        // Root may own the files of any store, and may work on other users' stores.
        let user = ProcessIdentity.user == 0 ? try Directory.status(store)?.owner ?? 0 : ProcessIdentity.user
        if Guard.owner.isOn, status.owner != user, status.owner != 0 {
            throw refused("belongs to the user \(status.owner), and not to \(user)")
        }
    }

    /// Makes the names durable that lead to a store and to its files: a process that made or changed one may have been killed before its
    /// sync, and durable appends need all of these names.
    static func settleNames(_ store: String) throws {
        try Directory.sync(store)
        // The store's own name may be a link.
        try Directory.syncName(of: store)
    }

    /// The kind of file system that a path lies on and why its files will not stay; nil where they will.
    static func passingPlace(_ path: String) throws -> String? {
        guard case .ephemeral(let kind, let reason) = try FileSystem.of(path) else { return nil }
        return words(kind, reason)
    }

    private static func words(_ kind: String, _ reason: String) -> String { "\(kind): \(reason)" }

    /// - Throws: `EvstoreError`: unsafeFileSystem, usage where there is no such directory.
    package static func checkPlace(_ path: String, _ options: Options, _ logger: Logger) throws {
        guard try Directory.status(path)?.isDirectory == true else {
            throw EvstoreError.usage("there is no directory \(path)", fix: "make it first, or name another path")
        }
        switch try FileSystem.of(path) {
        case .persistent: return
        case .ephemeral(let kind, let reason): logger.notice("\(path) lies on \(words(kind, reason))")
        case .unknown(let kind):
            if options.allowsUnsafeFileSystem || !Guard.fileSystem.isOn {
                return logger.warning("\(path) lies on a file system \(kind), which is not known to be safe")
            }
            throw EvstoreError.unsafeFileSystem(path: path, kind: kind)
        }
    }
}
