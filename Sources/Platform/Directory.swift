internal import Glibc

/// Directories and names. Each failure says which system call failed.
package enum Directory {
    /// Makes a directory that only its owner can enter. Where root makes it, it gets the owner of its parent directory.
    package static func create(_ path: String) throws(StorageError) {
        if unsafe mkdir(path, 0o700) != 0 { throw .system("making", at: path) }
        guard ProcessIdentity.user == 0 else { return }
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        // Another process that sweeps leftovers may have removed it already, since it is not locked yet (`OwnedDirectory`).
        if descriptor < 0, errno == ENOENT { return }
        if descriptor < 0 { throw .system("opening \(path)") }
        defer { close(descriptor) }
        try inheritOwner(descriptor, path)
    }

    /// Gives a file or directory that root has made to the owner of its parent directory, who could not open it otherwise.
    package static func inheritOwner(_ made: Int32, _ path: String) throws(StorageError) {
        guard ProcessIdentity.user == 0 else { return }
        var (status, named, around) = (stat(), stat(), stat())
        guard unsafe fstat(made, &status) == 0, unsafe stat(parent(of: path), &around) == 0 else {
            throw .system("asking for the status of \(path)")
        }
        // Order: this is checked before the owner changes. A file with a second hard link may be another user's.
        guard status.st_uid == 0, around.st_uid != 0, status.st_mode & S_IFMT == S_IFDIR || status.st_nlink == 1,
            unsafe lstat(path, &named) == 0, named.st_ino == status.st_ino, named.st_dev == status.st_dev
        else { return }
        // In some containers root may not change owners: then the file stays root's.
        if fchown(made, around.st_uid, around.st_gid) != 0, errno != EPERM { throw .system("giving \(path) to the user \(around.st_uid)") }
    }

    /// The status of what is at the path, links followed; nil where nothing is there.
    package static func status(_ path: String) throws(StorageError) -> FileStatus? { try status(path, 0) }

    /// The status of what is at the path, of a link that of the link itself; nil where nothing is there.
    package static func ownStatus(_ path: String) throws(StorageError) -> FileStatus? { try status(path, AT_SYMLINK_NOFOLLOW) }

    private static func status(_ path: String, _ flags: Int32) throws(StorageError) -> FileStatus? {
        var result = stat()
        if unsafe fstatat(AT_FDCWD, path, &result, flags) == 0 { return FileStatus(result) }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw .system("asking for the status of \(path)")
    }

    /// Whether a mode keeps this process from reading and writing what is at the path, or from entering it. A mount that can't be written
    /// does not count.
    package static func isBarred(_ path: String, isDirectory: Bool) -> Bool {
        unsafe access(path, R_OK | W_OK | (isDirectory ? X_OK : 0)) != 0 && errno == EACCES
    }

    /// Removes an empty directory; one that is gone, or that has something in it, is no error.
    package static func removeEmpty(_ path: String) throws(StorageError) {
        if unsafe rmdir(path) != 0, ![ENOENT, ENOTEMPTY, EEXIST].contains(errno) { throw .system("removing \(path)") }
    }

    package static func rename(_ path: String, to target: String) throws(StorageError) {
        if unsafe Glibc.rename(path, target) != 0 { throw StorageError(errno, "renaming \(path) to \(target)", at: target) }
    }

    /// Makes the names in a directory durable.
    package static func sync(_ path: String) throws(StorageError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { throw .system("opening \(path)") }
        defer { close(descriptor) }
        if Guard.directorySync.isOn, fsync(descriptor) != 0 { throw .system("syncing", at: path) }
    }

    /// Makes a directory's own name durable, where that is possible: this user may not be allowed to open the parent directory, and some
    /// file systems don't sync directories (fsync(2): EINVAL).
    package static func syncName(of path: String) throws(StorageError) {
        do throws(StorageError) { try sync(path + "/..") } catch { if !error.isReadOnly && !error.isNotSupported { throw error } }
    }

    /// The names in a directory, sorted, without `.` and `..`.
    package static func names(_ path: String) throws(StorageError) -> [String] {
        guard let directory = unsafe opendir(path) else { throw .system("listing \(path)") }
        defer { unsafe closedir(directory) }
        return unsafe names(directory)
    }

    @unsafe
    static func names(_ directory: OpaquePointer) -> [String] {
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    /// The bytes on the disk of the files at and below a path; a file that is removed meanwhile counts as 0.
    package static func bytesOnDisk(_ path: String) throws(StorageError) -> UInt64 {
        guard let status = try ownStatus(path) else { return 0 }
        if !status.isDirectory { return status.isFile ? UInt64(status.bytesOnDisk) : 0 }
        var sum: UInt64 = 0
        do throws(StorageError) { for name in try names(path) { sum += try bytesOnDisk(path + "/" + name) } } catch {
            if try ownStatus(path) != nil { throw error }
        }
        return sum
    }

    package static func isEmpty(_ path: String) throws(StorageError) -> Bool {
        guard let status = try status(path), status.isDirectory else { return false }
        return try names(path).isEmpty
    }

    /// The directory that holds a path's last name.
    package static func parent(of path: String) -> String {
        let path = trimmed(path)
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    package static func name(of path: String) -> String {
        String(trimmed(path).split(separator: "/").last ?? "/")
    }

    /// The absolute path, relative to the current directory; the path as it is where the current directory is unknown.
    package static func absolute(_ path: String) -> String {
        guard !path.hasPrefix("/"), let current = unsafe getcwd(nil, 0) else { return path }
        defer { unsafe free(current) }
        return unsafe String(cString: current) + "/" + path
    }

    /// The path without slashes at its end.
    package static func trimmed(_ path: String) -> String {
        var path = path
        while path.utf8.count > 1 && path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// The path, or the nearest directory above it that exists: something lies there, on the same file system as what was to be made.
    package static func existing(_ path: String) -> String {
        var place = path
        var status = stat()
        while unsafe stat(place, &status) != 0 {
            let above = parent(of: place)
            if above == place { return path }
            place = above
        }
        return place
    }

    /// Whether the file system that a file was to be made on has room for bytes, but for no further file.
    static func lacksInodes(at path: String) -> Bool {
        var result = statvfs()
        // A file system that makes inodes as it needs them has a count of 0.
        return unsafe statvfs(existing(path), &result) == 0 && result.f_files > 0 && result.f_favail == 0 && result.f_bavail > 0
    }

    /// Bytes that an ordinary user can still write to the file system of the path.
    package static func freeBytes(_ path: String) throws(StorageError) -> UInt64 {
        var result = statvfs()
        if unsafe statvfs(path, &result) != 0 { throw .system("asking for the free space of \(path)") }
        return UInt64(result.f_bavail) * UInt64(result.f_frsize)
    }
}

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

    /// How often a directory is emptied before one that is not empty is an error.
    private static let removalsMax = 10

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
        // Who enters the directory meanwhile may put a file there, such as the mark of a read model: that goes, too.
        for attempt in 1 ... removalsMax {
            // Order: the keys that open the rest go first, so that a process that is killed in between leaves nothing that can be opened.
            let children = try names(directory, path)
            for child in children.filter(overwriting) + children.filter({ !overwriting($0) }) {
                try remove(child, in: directory, path + "/" + child, overwriting)
            }
            if unsafe unlinkat(parent, name, AT_REMOVEDIR) == 0 || errno == ENOENT { return }
            if attempt == removalsMax || errno != ENOTEMPTY && errno != EEXIST { throw .system("removing \(path)") }
        }
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
