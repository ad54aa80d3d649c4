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
    /// The file to fill.
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

    /// A name beside a path that nobody else uses.
    package static func otherName(of path: String) -> String { "\(path).\(OwnedDirectory.number())" }
}
