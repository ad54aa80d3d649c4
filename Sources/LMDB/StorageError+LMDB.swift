internal import CLMDB
internal import Glibc
package import Platform

extension StorageError {
    /// - Parameters:
    ///   - code: a code of LMDB, or an `errno`, which LMDB's calls return as well.
    ///   - path: the directory or file that the call was about.
    init(lmdb code: Int32, _ doing: String, at path: String? = nil) {
        if let name = Self.names[code] {
            self.init(code, name, "\(doing): \(unsafe String(cString: mdb_strerror(code)))", at: path)
        } else {
            self.init(code, doing, at: path)
        }
    }

    /// A file is not what it must be, and was refused before it was mapped.
    package init(invalid reason: String) { self.init(MDB_INVALID, "MDB_INVALID", reason) }

    /// The file, or a table in it, does not exist.
    package var isMissing: Bool { isNotFound || code == MDB_NOTFOUND }
    package var isMapFull: Bool { code == MDB_MAP_FULL }
    /// The bytes themselves are invalid.
    package var isDamage: Bool {
        [MDB_CORRUPTED, MDB_PAGE_NOTFOUND, MDB_INVALID].contains(code)
    }
    /// LMDB has met an invalid page.
    package var isDamagedPage: Bool { code == MDB_CORRUPTED || code == MDB_PAGE_NOTFOUND }
    /// The disk failed, or LMDB can't go on after it did.
    package var isFailedDisk: Bool { code == EIO || code == MDB_PANIC }

    private static let names: [Int32: String] = [
        MDB_KEYEXIST: "MDB_KEYEXIST", MDB_NOTFOUND: "MDB_NOTFOUND", MDB_PAGE_NOTFOUND: "MDB_PAGE_NOTFOUND",
        MDB_CORRUPTED: "MDB_CORRUPTED", MDB_PANIC: "MDB_PANIC", MDB_VERSION_MISMATCH: "MDB_VERSION_MISMATCH",
        MDB_INVALID: "MDB_INVALID", MDB_MAP_FULL: "MDB_MAP_FULL", MDB_DBS_FULL: "MDB_DBS_FULL",
        MDB_READERS_FULL: "MDB_READERS_FULL", MDB_TLS_FULL: "MDB_TLS_FULL", MDB_TXN_FULL: "MDB_TXN_FULL",
        MDB_CURSOR_FULL: "MDB_CURSOR_FULL", MDB_PAGE_FULL: "MDB_PAGE_FULL", MDB_MAP_RESIZED: "MDB_MAP_RESIZED",
        MDB_INCOMPATIBLE: "MDB_INCOMPATIBLE", MDB_BAD_RSLOT: "MDB_BAD_RSLOT", MDB_BAD_TXN: "MDB_BAD_TXN",
        MDB_BAD_VALSIZE: "MDB_BAD_VALSIZE", MDB_BAD_DBI: "MDB_BAD_DBI",
    ]
}

/// The LMDB library that the program runs with. LMDB 0.9 and 1.0 can't read each other's files: their page headers differ (`MetaPage`), and
/// so does the table of readers in `lock.mdb`.
package enum LMDBLibrary {
    /// The release line whose files this package knows.
    private static let known: (major: Int32, minor: Int32) = (0, 9)

    /// Checks the library's release line, before anything is written.
    /// - Throws: `StorageError` with `isOtherLMDB`.
    package static func require() throws(StorageError) {
        var (major, minor, patch): (Int32, Int32, Int32) = (0, 0, 0)
        _ = unsafe mdb_version(&major, &minor, &patch)
        if (major, minor) != known {
            throw StorageError(otherLMDB: "that is \(major).\(minor).\(patch), and the files of a store are those of LMDB 0.9")
        }
    }
}

extension StorageError {
    /// The library, or a file, is of another release of LMDB than the one whose files this package knows.
    init(otherLMDB reason: String) { self.init(MDB_VERSION_MISMATCH, "MDB_VERSION_MISMATCH", reason) }

    /// The file belongs to another release of LMDB; nothing says that it is damaged.
    package var isOtherLMDB: Bool { code == MDB_VERSION_MISMATCH }
}
