internal import Bytes
internal import Glibc

/// An open file: closed on exec and with the last reference. Where root creates it, it gets the owner of its parent directory.
package final class File: Sendable {
    package enum Access: Sendable { case read, write, create, createNew }

    package let path: String
    package let descriptor: Int32

    /// - Parameter mode: of a file that is made; the process's mask narrows it.
    package init(_ path: String, _ access: Access, mode: UInt32 = 0o600) throws(StorageError) {
        let flags =
            switch access {
            case .read: O_RDONLY
            case .write: O_RDWR
            case .create: O_RDWR | O_CREAT
            case .createNew: O_RDWR | O_CREAT | O_EXCL
            }
        // Opening a pipe could wait for its other end, and opening a device could have effects.
        let opened = unsafe open(path, flags | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, mode)
        if opened < 0 { throw errno == ELOOP ? StorageError(noFile: path, "a symbolic link") : .system("opening", at: path) }
        (self.path, descriptor) = (path, opened)
        let status = try status()
        if !status.isFile { throw StorageError(noFile: path, status.isDirectory ? "a directory" : "a pipe or a device") }
        if status.owner == 0, status.bytes == 0, access == .create || access == .createNew { try Directory.inheritOwner(descriptor, path) }
    }

    deinit { LockedFiles.close(descriptor) }

    /// Up to `count` bytes from `offset`; fewer at the end of the file.
    package func read(_ count: Int, at offset: Int = 0) throws(StorageError) -> [UInt8] {
        defer { withExtendedLifetime(self) {} }
        var failure: StorageError?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count, failure == nil {
                let got = unsafe pread(descriptor, buffer.baseAddress.map { unsafe $0 + filled }, count - filled, off_t(offset + filled))
                if got == 0 { return }
                if got > 0 { filled += got } else if errno != EINTR { failure = .system("reading \(path)") }
            }
        }
        if let failure { throw failure }
        return bytes
    }

    package func write(_ bytes: [UInt8], at offset: Int = 0) throws(StorageError) { try write(bytes.lent, at: offset) }

    package func write(_ bytes: RawSpan, at offset: Int) throws(StorageError) {
        defer { withExtendedLifetime(self) {} }
        var written = 0
        while written < bytes.byteCount {
            let put = unsafe bytes.withUnsafeBytes { buffer in
                let rest = unsafe UnsafeRawBufferPointer(rebasing: buffer[written...])
                return unsafe pwrite(descriptor, rest.baseAddress, rest.count, off_t(offset + written))
            }
            if put >= 0 { written += put } else if errno != EINTR { throw .system("writing", at: path) }
        }
    }

    /// Makes the file's bytes durable.
    package func sync() throws(StorageError) {
        defer { withExtendedLifetime(self) {} }
        if Guard.fileSync.isOn, fdatasync(descriptor) != 0 { throw .system("syncing", at: path) }
    }

    /// Asks the kernel to read single pages of the file, not those around them, from now on.
    package func expectRandomReads() { advise(POSIX_FADV_RANDOM) }

    /// Asks the kernel to drop what it holds of the file in memory and has written to the disk.
    package func dropCachedPages() { advise(POSIX_FADV_DONTNEED) }

    /// The kernel may ignore advice: then only speed is lost.
    private func advise(_ advice: Int32) {
        defer { withExtendedLifetime(self) {} }
        _ = posix_fadvise(descriptor, 0, 0, advice)
    }

    /// Sets who may read and change the file, whatever the process's mask is.
    package func set(mode: UInt32) throws(StorageError) {
        defer { withExtendedLifetime(self) {} }
        if fchmod(descriptor, mode) != 0 { throw .system("setting the mode of \(path)") }
    }

    /// Truncates the file, or extends it by a hole.
    package func truncate(to bytes: Int) throws(StorageError) {
        defer { withExtendedLifetime(self) {} }
        if ftruncate(descriptor, off_t(bytes)) != 0 { throw .system("truncating", at: path) }
    }

    /// Allocates blocks on the disk for the first `bytes` of the file.
    package func reserve(_ bytes: Int) throws(StorageError) {
        defer { withExtendedLifetime(self) {} }
        let code = posix_fallocate(descriptor, 0, off_t(bytes))
        if code != 0 { throw StorageError(code, reserving: bytes, for: path) }
    }

    /// Allocates blocks where the file has none: a copy may consist of holes. Writing into a hole through a map raises a signal on a full
    /// disk. What the file holds stays.
    /// - Parameter leastBytes: a shorter file is extended to so many bytes.
    package func fillHoles(leastBytes: Int = 0) throws(StorageError) {
        let status = try status()
        let wanted = max(leastBytes, status.bytes)
        if min(status.bytes, status.bytesOnDisk) >= wanted { return }
        // A file system that can't allocate blocks ahead may map the file nevertheless.
        do throws(StorageError) { try reserve(wanted) } catch { if !error.isNotSupported { throw error } }
    }

    /// The offset of the first data from `offset` on, past a hole; nil where no data follow.
    package func data(from offset: Int) throws(StorageError) -> Int? {
        defer { withExtendedLifetime(self) {} }
        // 3 is SEEK_DATA of lseek(2), which the C library's headers hide behind a feature macro.
        let place = lseek(descriptor, off_t(offset), 3)
        if place >= 0 { return Int(place) }
        // A file system that does not report holes counts as one without.
        if errno == EINVAL || errno == EOPNOTSUPP { return offset }
        if errno == ENXIO { return nil }
        throw .system("reading \(path)")
    }

    package func status() throws(StorageError) -> FileStatus {
        defer { withExtendedLifetime(self) {} }
        var status = stat()
        if unsafe fstat(descriptor, &status) != 0 { throw .system("asking for the status of \(path)") }
        return FileStatus(status)
    }
}

package struct FileStatus: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
    package let bytes: Int
    /// The blocks that it uses on the disk, in bytes: less than its size where it has holes.
    package let bytesOnDisk: Int
    package let mode: UInt32
    package let owner: UInt32
    /// Nanoseconds since 1970 of the last change of contents or metadata (`st_ctim`), which no program can set. A clock may have been
    /// centuries off: the nearest number stands for what no `Int64` can hold.
    package let changed: Int64
    package let isDirectory: Bool
    /// False for links, pipes and devices.
    package let isFile: Bool
    package let isLink: Bool

    init(_ status: stat) {
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        bytes = Int(status.st_size)
        bytesOnDisk = Int(status.st_blocks) * 512
        (mode, owner) = (status.st_mode & 0o7777, status.st_uid)
        changed = Int64(status.st_ctim.tv_sec).times(1_000_000_000).plus(Int64(status.st_ctim.tv_nsec))
        isDirectory = status.st_mode & S_IFMT == S_IFDIR
        isFile = status.st_mode & S_IFMT == S_IFREG
        isLink = status.st_mode & S_IFMT == S_IFLNK
    }

    /// Whether users other than the owner may change it.
    package var isWritableByOthers: Bool { mode & 0o022 != 0 }
}
