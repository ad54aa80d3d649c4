internal import Glibc

/// Directories and names. Each failure says which system call failed.
package enum Directory {
    /// Makes a directory that only its owner can enter. Where root makes it, it gets the owner of its parent directory.
    package static func create(_ path: String) throws(StorageError) {
        if unsafe mkdir(path, 0o700) != 0 { throw .system("making \(path)") }
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
    package static func status(_ path: String) throws(StorageError) -> FileStatus? {
        var result = stat()
        if unsafe stat(path, &result) == 0 { return FileStatus(result) }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw .system("asking for the status of \(path)")
    }

    /// The status of what is at the path, of a link that of the link itself; nil where nothing is there.
    package static func ownStatus(_ path: String) throws(StorageError) -> FileStatus? {
        var result = stat()
        if unsafe lstat(path, &result) == 0 { return FileStatus(result) }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw .system("asking for the status of \(path)")
    }

    /// Removes an empty directory; one that is gone, or that has something in it, is no error.
    package static func removeEmpty(_ path: String) throws(StorageError) {
        if unsafe rmdir(path) != 0, ![ENOENT, ENOTEMPTY, EEXIST].contains(errno) { throw .system("removing \(path)") }
    }

    package static func rename(_ path: String, to target: String) throws(StorageError) {
        if unsafe Glibc.rename(path, target) != 0 { throw .system("renaming \(path) to \(target)") }
    }

    /// Makes the names in a directory durable.
    package static func sync(_ path: String) throws(StorageError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { throw .system("opening \(path)") }
        defer { close(descriptor) }
        if Guard.directorySync.isOn, fsync(descriptor) != 0 { throw .system("syncing \(path)") }
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

    /// Bytes that an ordinary user can still write to the file system of the path.
    package static func freeBytes(_ path: String) throws(StorageError) -> UInt64 {
        var result = statvfs()
        if unsafe statvfs(path, &result) != 0 { throw .system("asking for the free space of \(path)") }
        return UInt64(result.f_bavail) * UInt64(result.f_frsize)
    }
}
