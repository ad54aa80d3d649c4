internal import CLMDB
package import Platform

/// The LMDB that the program was started with. Releases 0.9 and 1.0 of it do not read each other's files: their pages have other headers
/// (`MetaPage`), and so has the table of readers in `lock.mdb`.
package enum Library {
    /// The release line whose files this package knows.
    private static let known: (major: Int32, minor: Int32) = (0, 9)

    /// Asked before anything is written.
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
    /// A library or a file of another release of LMDB than the one whose files this package knows.
    init(otherLMDB reason: String) { self.init(MDB_VERSION_MISMATCH, "MDB_VERSION_MISMATCH", reason) }

    /// The file is whole as far as anybody knows, and is read by another LMDB.
    package var isOtherLMDB: Bool { code == MDB_VERSION_MISMATCH }
}
