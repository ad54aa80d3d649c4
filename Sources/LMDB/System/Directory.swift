internal import Glibc

/// Directories and names, each call one system call with its failure named.
package enum Directory {
    /// Makes a directory that only its owner can enter.
    package static func create(_ path: String) throws(LMDBError) {
        if unsafe mkdir(path, 0o700) != 0 { throw .system("making \(path)") }
    }

    /// What is at the path, or nil where nothing is.
    package static func status(_ path: String) throws(LMDBError) -> FileStatus? {
        var result = stat()
        if unsafe stat(path, &result) == 0 { return FileStatus(result) }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw .system("asking for the status of \(path)")
    }

    /// The same of what stands there itself, where that is a link.
    package static func ownStatus(_ path: String) throws(LMDBError) -> FileStatus? {
        var result = stat()
        if unsafe lstat(path, &result) == 0 { return FileStatus(result) }
        if errno == ENOENT || errno == ENOTDIR { return nil }
        throw .system("asking for the status of \(path)")
    }

    package static func rename(_ path: String, to target: String) throws(LMDBError) {
        if unsafe Glibc.rename(path, target) != 0 { throw .system("renaming \(path) to \(target)") }
    }

    /// Makes the names in a directory durable.
    package static func sync(_ path: String) throws(LMDBError) {
        let descriptor = unsafe open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        if descriptor < 0 { throw .system("opening \(path)") }
        defer { close(descriptor) }
        if Guard.directorySync.isOn, fsync(descriptor) != 0 { throw .system("syncing \(path)") }
    }

    /// The names in a directory, sorted, without `.` and `..`.
    package static func names(_ path: String) throws(LMDBError) -> [String] {
        guard let directory = unsafe opendir(path) else { throw .system("listing \(path)") }
        defer { unsafe closedir(directory) }
        var names: [String] = []
        while let entry = unsafe readdir(directory) {
            let name = unsafe withUnsafeBytes(of: &entry.pointee.d_name) { unsafe String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if name != "." && name != ".." { names.append(name) }
        }
        return names.sorted()
    }

    package static func isEmpty(_ path: String) throws(LMDBError) -> Bool {
        guard let status = try status(path), status.isDirectory else { return false }
        return try names(path).isEmpty
    }

    /// The directory that a path's last name stands in.
    package static func parent(of path: String) -> String {
        guard let slash = trimmed(path).lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }

    package static func name(of path: String) -> String {
        String(trimmed(path).split(separator: "/").last ?? "/")
    }

    private static func trimmed(_ path: String) -> Substring {
        var path = path[...]
        while path.count > 1 && path.hasSuffix("/") { path.removeLast() }
        return path
    }

    /// Removes a file, or a directory with everything in it; nothing there is no failure.
    package static func remove(_ path: String) throws(LMDBError) {
        if unsafe unlink(path) == 0 || errno == ENOENT { return }
        if errno != EISDIR && errno != EPERM { throw .system("removing \(path)") }
        for name in try names(path) { try remove(path + "/" + name) }
        if unsafe rmdir(path) != 0 { throw .system("removing \(path)") }
    }

    /// Bytes that an ordinary user can still write to the file system of the path.
    package static func freeBytes(_ path: String) throws(LMDBError) -> UInt64 {
        var result = statvfs()
        if unsafe statvfs(path, &result) != 0 { throw .system("asking for the free space of \(path)") }
        return UInt64(result.f_bavail) * UInt64(result.f_frsize)
    }
}
