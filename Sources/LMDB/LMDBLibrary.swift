internal import CLMDB
package import Platform

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
