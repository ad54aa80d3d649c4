internal import CLMDB
internal import Glibc
internal import Platform
internal import Synchronization

extension Environment {
    /// Doubles the map, while no transaction of this process is open.
    func grow() throws(StorageError) {
        try gate.exclusively { () throws(StorageError) in
            _ = try reapReaders()
            var info = unsafe MDB_envinfo()
            try check(unsafe mdb_env_info(handle, &info), "asking \(directory) for its map")
            let current = unsafe Int(info.me_mapsize)
            // A small address space (RLIMIT_AS) may have room for a smaller step.
            var step = current
            while true {
                let code = unsafe mdb_env_set_mapsize(handle, current + step)
                if code == 0 {
                    if step < current {
                        notice("the address space has no room for a map of \(current * 2) bytes: \(directory) has one of \(current + step)")
                    }
                    return
                }
                step = step / 4 / 65_536 * 65_536
                if code != ENOMEM || step == 0 { throw StorageError(lmdb: code, "growing the map of \(directory)") }
            }
        }
    }

    /// Takes over a larger map that another process has made.
    func adoptMap() throws(StorageError) {
        try gate.exclusively { () throws(StorageError) in
            try check(unsafe mdb_env_set_mapsize(handle, 0), "following the grown map of \(directory)")
        }
    }

    /// Keeps the file as long as the pages it counts. A commit whose last pages were freed again does not write them, and the check at open
    /// could not tell that from a truncated file.
    func keepLastPageInFile() {
        var info = unsafe MDB_envinfo()
        guard unsafe mdb_env_info(handle, &info) == 0 else { return }
        let needed = unsafe (Int(info.me_last_pgno) + 1) * pageBytes
        if fileBytes.load(ordering: .relaxed) >= needed { return }
        var descriptor: Int32 = -1
        var status = stat()
        guard unsafe mdb_env_get_fd(handle, &descriptor) == 0, unsafe fstat(descriptor, &status) == 0 else { return }
        // The commit is durable whether this succeeds or not; the next one tries again.
        let isThere = status.st_size >= needed || posix_fallocate(descriptor, 0, off_t(needed)) == 0
        if isThere { fileBytes.store(max(Int(status.st_size), needed), ordering: .relaxed) }
    }
}
