internal import Glibc

/// A file that is under its name whole or not at all, at whatever moment a process is killed: it is filled under another name in the same
/// directory, and then gets its own in one step.
package struct WholeFile: Sendable {
    /// What stays after a power cut.
    package enum Sync: Sendable {
        /// Nothing is certain.
        case nothing
        /// Where the name leads to the file, all of it is there. The caller syncs the directory, if the name is needed.
        case contents
        case contentsAndName
    }

    package let path: String
    package let file: File

    /// Begins a file, in the place of what a killed process has left under the other name.
    /// - Parameters:
    ///   - other: the other name, which no other process may use meanwhile.
    ///   - mode: of a new file; the process's mask narrows it.
    package init(_ path: String, under other: String? = nil, mode: UInt32 = 0o600) throws(StorageError) {
        let other = other ?? path + ".new"
        self.path = path
        if unsafe unlink(other) != 0, errno != ENOENT { throw .system("removing \(other)") }
        file = try File(other, .createNew, mode: mode)
    }

    /// Gives the file its name, which leads to it from then on and no longer to what had it before.
    package func replace(_ sync: Sync = .contentsAndName) throws(StorageError) {
        // Order: the contents are durable before the name leads to them.
        if sync != .nothing { try file.sync() }
        try Directory.rename(file.path, to: path)
        try settle(sync)
    }

    /// Gives the file its name unless something has that; false where something has, and then the file goes.
    /// - Parameter mayBeEmpty: whether the name may lead to an empty file for a moment, where the file system has no hard links. It may not
    ///   where others would use that file.
    /// - Throws: `StorageError` also where that would be needed and may not be.
    package func add(_ sync: Sync = .contentsAndName, mayBeEmpty: Bool = false) throws(StorageError) -> Bool {
        defer { discard() }
        if sync != .nothing { try file.sync() }
        if unsafe link(file.path, path) != 0 {
            let code = errno
            // Whoever was first may have swept the other name of this file away.
            if code == EEXIST { return false }
            if code == ENOENT, try Directory.ownStatus(path) != nil { return false }
            guard mayBeEmpty, [EPERM, EOPNOTSUPP, ENOSYS].contains(code) else { throw StorageError(code, "making \(path)", at: path) }
            if try !replaceOwn() { return false }
        }
        try settle(sync)
        return true
    }

    /// Takes the name with an empty file, which the whole one then replaces; false where something has the name.
    package func replaceOwn() throws(StorageError) -> Bool {
        do throws(StorageError) { _ = try File(path, .createNew) } catch {
            if error.isThere { return false }
            throw error
        }
        do throws(StorageError) { try Directory.rename(file.path, to: path) } catch {
            unsafe unlink(path)
            throw error
        }
        return true
    }

    private func settle(_ sync: Sync) throws(StorageError) {
        if sync == .contentsAndName { try Directory.sync(Directory.parent(of: path)) }
    }

    /// Removes what was written under the other name. An error of that is ignored, since there is another one to tell.
    package func discard() { unsafe unlink(file.path) }

    /// Replaces a file, or makes it; what was there stays where that fails.
    package static func write(
        _ bytes: [UInt8], to path: String, under other: String? = nil, _ sync: Sync = .contentsAndName
    ) throws(StorageError) {
        let made = try WholeFile(path, under: other)
        do throws(StorageError) {
            try made.file.write(bytes)
            try made.replace(sync)
        } catch {
            made.discard()
            throw error
        }
    }

    /// Begins a file where other processes may begin the same one, under a name that none of them uses. What killed processes have left
    /// under such names is removed first: a living one has its file locked.
    package init(amongOthers path: String, mode: UInt32 = 0o600) throws(StorageError) {
        try Self.sweep(path)
        self.path = path
        while true {
            let file = try File("\(path).\(OwnedDirectory.number())", .createNew, mode: mode)
            // Another process may have removed it before it was locked.
            guard try Self.isHeld(file), try Directory.ownStatus(file.path) != nil else { continue }
            self.file = file
            return
        }
    }

    /// Beyond what anybody else locks of these files, such as LMDB.
    private static let lockedByte = 1 << 40

    /// Removes what killed processes have left of a file that they had begun among others.
    package static func sweep(_ path: String) throws(StorageError) {
        let (parent, start) = (Directory.parent(of: path), Directory.name(of: path) + ".")
        for name in try Directory.names(parent) where OwnedDirectory.isMade(name, behind: start) {
            let left = "\(parent)/\(name)"
            do throws(StorageError) {
                if try File(left, .write).lock(byte: lockedByte, shared: false) { unsafe unlink(left) }
            } catch {
                // It is another user's, or gone, or on a disk without locks or that can't be written: then it stays.
            }
        }
    }

    /// Locks a new file; false where another process had it first. On a file system without locks it counts as locked.
    private static func isHeld(_ file: File) throws(StorageError) -> Bool {
        do throws(StorageError) { return try file.lock(byte: lockedByte, shared: false) } catch {
            if error.isNotSupported || error.code == ENOLCK { return true }
            throw error
        }
    }
}
