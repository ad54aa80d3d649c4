internal import CLMDB
package import Platform

/// The identity of a file of an environment when it was opened.
struct FileIdentity: Sendable {
    private let path: String
    private let device, inode: UInt64

    /// The identities of both files; `lock.mdb` is missing on a disk that can't be written.
    static func all(in directory: String) throws(StorageError) -> [FileIdentity] {
        var places: [FileIdentity] = []
        for name in ["/data.mdb", "/lock.mdb"] {
            guard let status = try Directory.status(directory + name) else { continue }
            places.append(FileIdentity(path: directory + name, device: status.device, inode: status.inode))
        }
        return places
    }

    /// - Throws: `MDB_INVALID` where the path leads to another file now, or to none: further writes would go to a file that nobody finds,
    ///   under another lock than that of the other processes.
    func check() throws(StorageError) {
        let status = try Directory.status(path)
        guard status?.inode == inode, status?.device == device else {
            throw StorageError(invalid: "\(path) was \(status == nil ? "removed" : "replaced") while it was open: close the store")
        }
    }
}

extension Environment {
    /// - Throws: `MDB_INVALID` where the files are no longer those that were opened; misuse where LMDB's locks on them were lost.
    package func checkInPlace() throws(StorageError) {
        try checkLocks()
        guard Guard.inPlace.isOn else { return }
        for place in places { try place.check() }
    }
}
