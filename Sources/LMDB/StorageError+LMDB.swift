internal import CLMDB
internal import Glibc
package import Platform

extension StorageError {
    /// - Parameter code: a code of LMDB, or an `errno`, which LMDB's calls return as well.
    init(lmdb code: Int32, _ doing: String) {
        if let name = Self.names[code] {
            self.init(code, name, "\(doing): \(unsafe String(cString: mdb_strerror(code)))")
        } else {
            self.init(code, doing)
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
