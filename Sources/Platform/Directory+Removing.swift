internal import Glibc

extension Directory {
    /// Removes a file, or a directory with everything in it; a path without a file is no error. Links are removed and never followed, also
    /// where one replaces a directory meanwhile.
    /// - Parameter overwriting: whether a file of this name is overwritten first, so that its contents are not on the disk any more.
    package static func remove(_ path: String, overwriting: (String) -> Bool = { _ in false }) throws(StorageError) {
        guard let parent = try openParent(of: path) else { return }
        defer { close(parent) }
        try remove(name(of: path), in: parent, path, overwriting)
    }

    /// Removes the files whose names are wanted from a directory that this user owns; never a directory, nor the target of a link.
    /// - Returns: how many files were removed.
    @discardableResult
    package static func removeFiles(in path: String, overwriting: Bool, named isWanted: (String) -> Bool) throws(StorageError) -> Int {
        let directory = try openOwn(path)
        defer { close(directory) }
        var removed = 0
        for name in try names(directory, path) where isWanted(name) {
            if overwriting { try overwrite(name, in: directory, path + "/" + name) }
            if unsafe unlinkat(directory, name, 0) == 0 {
                removed += 1
            } else if errno != ENOENT {
                throw .system("removing \(path)/\(name)")
            }
        }
        return removed
    }

    /// Overwrites a file with zeros, durably; a missing file is no error.
    package static func overwrite(_ path: String) throws(StorageError) {
        guard let parent = try openParent(of: path) else { return }
        defer { close(parent) }
        try overwrite(name(of: path), in: parent, path)
    }

    private static func openParent(of path: String) throws(StorageError) -> Int32? {
        let parent = unsafe open(Directory.parent(of: path), O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if parent >= 0 { return parent }
        if errno == ENOENT { return nil }
        throw .system("opening \(Directory.parent(of: path))")
    }

    /// - Throws: `StorageError` where it is a link, or another user's.
    private static func openOwn(_ path: String) throws(StorageError) -> Int32 {
        let directory = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if directory < 0 { throw .system("opening \(path)") }
        do throws(StorageError) {
            // Root may name any directory.
            if try isOwn(directory, path) || ProcessIdentity.user == 0 { return directory }
            throw StorageError(EPERM, "removing files of another user in \(path)")
        } catch {
            close(directory)
            throw error
        }
    }

    /// Whether an open file belongs to the effective user of this process; for root, also whether it belongs to the owner of the parent
    /// directory.
    static func isOwn(_ descriptor: Int32, _ path: String) throws(StorageError) -> Bool {
        var (status, around) = (stat(), stat())
        if unsafe fstat(descriptor, &status) != 0 { throw .system("asking for the status of \(path)") }
        if status.st_uid == geteuid() { return true }
        return unsafe geteuid() == 0 && stat(parent(of: path), &around) == 0 && around.st_uid == status.st_uid
    }

    private static func remove(_ name: String, in parent: Int32, _ path: String, _ overwriting: (String) -> Bool) throws(StorageError) {
        if overwriting(name) { try overwrite(name, in: parent, path) }
        if unsafe unlinkat(parent, name, 0) == 0 || errno == ENOENT { return }
        if errno != EISDIR && errno != EPERM { throw .system("removing \(path)") }
        let directory = unsafe openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        if directory < 0 {
            if errno == ENOENT { return }
            throw .system("removing \(path)")
        }
        defer { close(directory) }
        // Order: the keys that open the rest go first, so that a process that is killed in between leaves nothing that can be opened.
        let children = try names(directory, path)
        for child in children.filter(overwriting) + children.filter({ !overwriting($0) }) {
            try remove(child, in: directory, path + "/" + child, overwriting)
        }
        if unsafe unlinkat(parent, name, AT_REMOVEDIR) != 0, errno != ENOENT { throw .system("removing \(path)") }
    }

    /// The names in an open directory; none where the directory was removed meanwhile.
    private static func names(_ directory: Int32, _ path: String) throws(StorageError) -> [String] {
        // `fdopendir` takes over the descriptor that it is given, and `closedir` closes it: hence one of its own.
        let own = unsafe openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard own >= 0, let stream = unsafe fdopendir(own) else {
            let code = errno
            if own >= 0 { close(own) }
            if code == ENOENT { return [] }
            throw StorageError(code, "listing \(path)")
        }
        defer { unsafe closedir(stream) }
        return unsafe names(stream)
    }

    /// Overwrites only a file that belongs to this user and has no other hard link: the other name could be of another user's file.
    private static func overwrite(_ name: String, in parent: Int32, _ path: String) throws(StorageError) {
        guard Guard.overwriting.isOn else { return }
        let file = unsafe openat(parent, name, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC)
        if file < 0 {
            if [ENOENT, ELOOP, EISDIR, ENXIO].contains(errno) { return }
            throw .system("overwriting \(path)")
        }
        defer { close(file) }
        var status = stat()
        if unsafe fstat(file, &status) != 0 { throw .system("asking for the status of \(path)") }
        guard status.st_mode & S_IFMT == S_IFREG, status.st_uid == geteuid() || geteuid() == 0, status.st_nlink == 1 else { return }
        let zeros = [UInt8](repeating: 0, count: 1 << 16)
        var offset = 0
        while offset < Int(status.st_size) {
            let count = min(zeros.count, Int(status.st_size) - offset)
            let put = unsafe zeros.withUnsafeBytes { unsafe pwrite(file, $0.baseAddress, count, off_t(offset)) }
            if put >= 0 {
                offset += put
            } else if errno != EINTR {
                // A file system that needs free space for this does not overwrite in place: removing is all that can be done.
                if errno == ENOSPC || errno == EDQUOT { return }
                throw .system("overwriting \(path)")
            }
        }
        if Guard.fileSync.isOn, fdatasync(file) != 0 { throw .system("syncing \(path)") }
    }
}
