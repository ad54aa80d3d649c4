internal import CLMDB
internal import Glibc

/// What LMDB or the system answered instead of success.
package struct LMDBError: Error, Hashable, CustomStringConvertible {
    /// LMDB's code (below zero), the system's `errno` (above), or `misuseCode`.
    package let code: Int32
    /// The code's own name, such as `MDB_MAP_FULL` or `ENOSPC`.
    package let name: String
    /// What was being done, and what went wrong.
    package let message: String
    /// Set where a commit has failed.
    package internal(set) var commit: FailedCommit?
    /// Set where somebody else was waited for, and is in the way still.
    package private(set) var waitedSeconds: Double?

    /// What is known of a commit that failed.
    package struct FailedCommit: Hashable, Sendable {
        /// Whether it may have been made all the same, whatever the code: its meta page may have come to the disk.
        package let isOpen: Bool
        package let directory: String
        /// What the disk had left then: LMDB says EIO where only a part of a write found room.
        package let freeBytes: UInt64
    }

    package init(_ code: Int32, _ doing: String) {
        self.code = code
        name = Self.names[code] ?? "code \(code)"
        message = unsafe "\(doing): \(String(cString: mdb_strerror(code)))"
    }

    /// A call that this room does not allow, such as a write inside a write.
    package init(misuse: String) {
        (code, name, message) = (Self.misuseCode, "MISUSE", misuse)
    }

    /// Somebody else is in the way: who, and what to do.
    package init(held holder: String) {
        (code, name, message) = (Self.heldCode, "HELD", holder)
    }

    /// A deadline has passed.
    init(waited seconds: Double, for holder: String) {
        self.init(held: holder)
        waitedSeconds = seconds
    }

    /// A file that can't be what it should be; refused before it is mapped.
    package init(invalid reason: String) {
        (code, name, message) = (MDB_INVALID, "MDB_INVALID", reason)
    }

    /// Something else stands where a file of ours should.
    init(noFile path: String, _ what: String) {
        (code, name, message) = (ELOOP, "ELOOP", "opening \(path): it is \(what), and no file")
    }

    /// The system call that has just failed, from `errno`.
    package static func system(_ doing: String) -> LMDBError { LMDBError(errno, doing) }

    package static let misuseCode: Int32 = -1
    private static let heldCode: Int32 = -2
    package var isMisuse: Bool { code == Self.misuseCode }
    package var isHeld: Bool { code == Self.heldCode }
    package var isMapFull: Bool { code == MDB_MAP_FULL }
    package var isNotFound: Bool { code == MDB_NOTFOUND || code == ENOENT }
    package var isDiskFull: Bool { code == ENOSPC || code == EDQUOT }
    package var isReadOnly: Bool { code == EACCES || code == EROFS || code == EPERM }
    package var isNotSupported: Bool { code == EINVAL || code == EOPNOTSUPP || code == ENOSYS }
    /// The bytes themselves can't be right.
    package var isDamage: Bool {
        [MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID, MDB_VERSION_MISMATCH].contains(code)
    }
    /// LMDB has come upon a page that is not what it should be.
    package var isDamagedPage: Bool { code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND }
    /// The disk failed, or LMDB can't go on after it did.
    package var isFailedDisk: Bool { code == EIO || code == MDB_PANIC }
    /// Whether a commit has failed of which it is open whether it was made.
    package var isOutcomeOpen: Bool { commit?.isOpen ?? false }

    /// Whether there was no room; `floorBytes` is less than what a disk that is not full has left.
    package func isDiskFull(below floorBytes: Int) -> Bool {
        if isOutcomeOpen { return false }
        if let commit, code == EIO { return commit.freeBytes < UInt64(clamping: floorBytes) }
        return isDiskFull
    }

    package var description: String { "\(message) (\(name))" }

    private static let names: [Int32: String] = [
        MDB_KEYEXIST: "MDB_KEYEXIST", MDB_NOTFOUND: "MDB_NOTFOUND", MDB_PAGE_NOTFOUND: "MDB_PAGE_NOTFOUND",
        MDB_CORRUPTED: "MDB_CORRUPTED", MDB_PANIC: "MDB_PANIC", MDB_VERSION_MISMATCH: "MDB_VERSION_MISMATCH",
        MDB_INVALID: "MDB_INVALID", MDB_MAP_FULL: "MDB_MAP_FULL", MDB_DBS_FULL: "MDB_DBS_FULL",
        MDB_READERS_FULL: "MDB_READERS_FULL", MDB_TLS_FULL: "MDB_TLS_FULL", MDB_TXN_FULL: "MDB_TXN_FULL",
        MDB_CURSOR_FULL: "MDB_CURSOR_FULL", MDB_PAGE_FULL: "MDB_PAGE_FULL", MDB_MAP_RESIZED: "MDB_MAP_RESIZED",
        MDB_INCOMPATIBLE: "MDB_INCOMPATIBLE", MDB_BAD_RSLOT: "MDB_BAD_RSLOT", MDB_BAD_TXN: "MDB_BAD_TXN",
        MDB_BAD_VALSIZE: "MDB_BAD_VALSIZE", MDB_BAD_DBI: "MDB_BAD_DBI",
        EACCES: "EACCES", EAGAIN: "EAGAIN", EBADF: "EBADF", EBUSY: "EBUSY", EDQUOT: "EDQUOT", EEXIST: "EEXIST",
        EFBIG: "EFBIG", EINTR: "EINTR", EINVAL: "EINVAL", EIO: "EIO", EISDIR: "EISDIR", EMFILE: "EMFILE",
        ENFILE: "ENFILE", ENOENT: "ENOENT", ENOMEM: "ENOMEM", ENOSPC: "ENOSPC", ENOTDIR: "ENOTDIR",
        ENOTEMPTY: "ENOTEMPTY", EPERM: "EPERM", EROFS: "EROFS", ETXTBSY: "ETXTBSY",
    ]
}
