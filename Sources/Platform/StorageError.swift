internal import Glibc

/// An error of the operating system, or of LMDB on it.
package struct StorageError: Error, Hashable, CustomStringConvertible {
    /// The system's `errno`; LMDB's codes and this package's own are below zero.
    package let code: Int32
    /// The code's own name, such as `MDB_MAP_FULL` or `ENOSPC`.
    package let name: String
    /// What was tried, and what went wrong.
    package let message: String
    /// The file or directory that the failed call was about; nil where no path was given.
    package let path: String?
    /// How many bytes the call asked for; nil where only the system knows.
    package private(set) var neededBytes: UInt64?
    /// Whether the file system at `path` had room for bytes when the call failed, but for no further file.
    package let lacksInodes: Bool
    /// Set where a commit has failed.
    package var commit: FailedCommit?
    /// Set where the deadline passed while another process held the lock: how long this process waited.
    package private(set) var waited: Duration?

    /// What is known about a commit that failed.
    package struct FailedCommit: Hashable, Sendable {
        /// Whether the commit may be durable nevertheless, whatever the code: its meta page may have reached the disk.
        package let isOpen: Bool
        /// The free bytes on the disk at that time: LMDB reports EIO where only a part of a write found room.
        package let freeBytes: UInt64

        package init(isOpen: Bool, freeBytes: UInt64) { (self.isOpen, self.freeBytes) = (isOpen, freeBytes) }
    }

    /// - Parameters:
    ///   - code: an `errno`.
    ///   - path: the file or directory that the call was about.
    package init(_ code: Int32, _ doing: String, at path: String? = nil) {
        self.init(code, Self.names[code] ?? "code \(code)", "\(doing): \(unsafe String(cString: strerror(code)))", at: path)
    }

    /// An error of a library below this package: its negative code, the code's name, and what was being done.
    package init(_ code: Int32, _ name: String, _ message: String, at path: String? = nil) {
        (self.code, self.name, self.message, self.path) = (code, name, message, path)
        lacksInodes = code == ENOSPC && path.map(Directory.lacksInodes) ?? false
    }

    /// The disk has no room for so many bytes of a file.
    init(_ code: Int32, reserving bytes: Int, for path: String) {
        self.init(code, "reserving \(bytes) bytes for \(path)", at: path)
        neededBytes = UInt64(clamping: bytes)
    }

    /// A call that this room does not allow, such as a write inside a write.
    package init(misuse: String) { self.init(Self.misuseCode, "MISUSE", misuse) }

    /// Another process holds what is needed: says which one, and what to do.
    package init(held holder: String) { self.init(Self.heldCode, "HELD", holder) }

    package init(waited: Duration, for holder: String) {
        self.init(held: holder)
        self.waited = waited
    }

    /// Something other than a file is at the path.
    init(noFile path: String, _ what: String) {
        self.init(ELOOP, "ELOOP", "opening \(path): it is \(what), and no file")
    }

    /// The system call that has just failed, from `errno`.
    package static func system(_ doing: String) -> StorageError { StorageError(errno, doing) }

    /// The system call about a file or directory that has just failed, from `errno`.
    package static func system(_ doing: String, at path: String) -> StorageError { StorageError(errno, "\(doing) \(path)", at: path) }

    package static let misuseCode: Int32 = -1
    private static let heldCode: Int32 = -2
    package var isMisuse: Bool { code == Self.misuseCode }
    package var isHeld: Bool { code == Self.heldCode }
    package var isNotFound: Bool { code == ENOENT }
    package var isThere: Bool { code == EEXIST }
    package var isDiskFull: Bool { code == ENOSPC || isOverQuota }
    /// Whether not the disk is full, but a quota is used up.
    package var isOverQuota: Bool { code == EDQUOT }
    package var isReadOnly: Bool { code == EACCES || code == EROFS || code == EPERM }
    package var isNotSupported: Bool { code == EINVAL || code == EOPNOTSUPP || code == ENOSYS }
    /// Whether a commit has failed that may be durable nevertheless.
    package var isOutcomeOpen: Bool { commit?.isOpen ?? false }

    /// Whether the disk was full. With more than `floorBytes` free it was not.
    package func isDiskFull(below floorBytes: Int) -> Bool {
        if isOutcomeOpen { return false }
        if let commit, code == EIO { return commit.freeBytes < UInt64(clamping: floorBytes) }
        return isDiskFull
    }

    package var description: String { "\(message) (\(name))" }

    private static let names: [Int32: String] = [
        EACCES: "EACCES", EAGAIN: "EAGAIN", EBADF: "EBADF", EBUSY: "EBUSY", EDQUOT: "EDQUOT", EEXIST: "EEXIST",
        EFBIG: "EFBIG", EINTR: "EINTR", EINVAL: "EINVAL", EIO: "EIO", EISDIR: "EISDIR", EMFILE: "EMFILE",
        ENFILE: "ENFILE", ENOENT: "ENOENT", ENOMEM: "ENOMEM", ENOSPC: "ENOSPC", ENOTDIR: "ENOTDIR",
        ENOTEMPTY: "ENOTEMPTY", EPERM: "EPERM", EROFS: "EROFS", ETXTBSY: "ETXTBSY",
    ]
}
