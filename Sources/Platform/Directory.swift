internal import Glibc

/// Directories and names, each call one system call with its failure named.
package enum Directory {
    /// Makes a directory that only its owner can enter. What root makes gets the owner of the directory
    /// around it.
    package static func create(_ path: String) throws(StorageError) {
        if unsafe mkdir(path, 0o700) != 0 { throw .system("making \(path)") }
        guard ProcessIdentity.user == 0 else { return }
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        // Another process that sweeps leftovers may have removed it already, since it is not locked yet (`OwnedDirectory`).
        if descriptor < 0, errno == ENOENT { return }
        if descriptor < 0 { throw .system("opening \(path)") }
        defer { close(descriptor) }
        try giveAway(descriptor, path)
    }

    /// Gives what root has made to the owner of the directory around it, who could not open it otherwise.
    package static func giveAway(_ made: Int32, _ path: String) throws(StorageError) {
        guard ProcessIdentity.user == 0 else { return }
        var (status, named, around) = (stat(), stat(), stat())
        guard unsafe fstat(made, &status) == 0, unsafe stat(parent(of: path), &around) == 0 else {
            throw .system("asking for the status of \(path)")
        }
        // Order: only a directory, or a file with a single name; a hard link may lead to another user's file.
        guard status.st_uid == 0, around.st_uid != 0, status.st_mode & S_IFMT == S_IFDIR || status.st_nlink == 1,
            unsafe lstat(path, &named) == 0, named.st_ino == status.st_ino, named.st_dev == status.st_dev
        else { return }
        // In some containers root may not change owners: then the file stays root's.
        if fchown(made, around.st_uid, around.st_gid) != 0, errno != EPERM { throw .system("giving \(path) to the user \(around.st_uid)") }
    }

    /// What is at the path, or nil where nothing is.
    package static func status(_ path: String) throws(StorageError) -> FileStatus? {
        var result = stat()
        if unsafe stat(path, &result) == 0 { return FileStatus(result) }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw .system("asking for the status of \(path)")
    }

    /// The same of what stands there itself, where that is a link.
    package static func ownStatus(_ path: String) throws(StorageError) -> FileStatus? {
        var result = stat()
        if unsafe lstat(path, &result) == 0 { return FileStatus(result) }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw .system("asking for the status of \(path)")
    }

    /// Removes a directory that nothing is in; one that is gone, or that has something in it, is no error.
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

    /// Makes a directory's own name durable, as far as can be: what it lies in is not always its user's to look at, nor on a file
    /// system that syncs directories (fsync(2): EINVAL).
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

    /// The bytes on the disk of the files at and below a path; what goes away meanwhile has none.
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

    /// The directory that a path's last name stands in.
    package static func parent(of path: String) -> String {
        let path = trimmed(path)
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    package static func name(of path: String) -> String {
        String(trimmed(path).split(separator: "/").last ?? "/")
    }

    /// The path from the root on, seen from where the process stands now; the path as it is where nobody knows that.
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
