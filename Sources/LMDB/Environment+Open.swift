internal import CLMDB
internal import Glibc
internal import Platform
internal import Synchronization

extension Environment {
    /// Opens the files. The registry has made sure that nothing in this process has them open.
    static func openNew(_ directory: String, _ configuration: Configuration) throws(StorageError) -> Environment {
        try LMDBLibrary.require()
        let data = directory + "/data.mdb"
        if try Directory.status(data) != nil {
            if configuration.readOnly { try copyUp(data) }
            if Guard.metaCheck.isOn { try MetaCheck.check(File(data, .read)) }
        } else if !configuration.creating {
            throw StorageError(ENOENT, "opening \(data)")
        }
        try makeLockFile(directory, readersMax: configuration.readersMax)
        // Order: nothing in this process has the file open, so no lock is lost if this fails and closes it again.
        let lockFile = try LockFile(directory)
        try lockFile?.fillHoles(readersMax: configuration.readersMax)
        let environment = try mapped(directory, configuration, lockFile)
        do {
            try environment.settle(creating: configuration.creating)
            _ = try environment.reapReaders()
            try environment.openTables(configuration)
            return environment
        } catch {
            try environment.closeFiles()
            throw error
        }
    }

    /// Makes an overlay file system copy a file of its lower layer up now, as it otherwise does when a process first opens the file for
    /// writing: a map that was made before shows nothing that is written afterwards. Opening the file is enough for that.
    private static func copyUp(_ path: String) throws(StorageError) {
        guard case .ephemeral("overlayfs", _) = try FileSystem.of(path) else { return }
        // What can't be copied can be read nevertheless; mostly nobody can write to it then.
        do throws(StorageError) { _ = try File(path, .write) } catch { if !error.isReadOnly && !error.isDiskFull { throw error } }
    }

    /// The most address space for a map: half of the 47-bit addresses that x86-64 and arm64 give a process.
    private static let addressesMax = 1 << 46
    /// The address space left to the rest of the program where the map is smaller than it should be.
    private static let addressesLeft = 64 << 20

    /// Opens with the map that was asked for, or with the largest that the address space allows.
    private static func mapped(
        _ directory: String, _ configuration: Configuration, _ lockFile: LockFile?
    ) throws(StorageError) -> Environment {
        let used = try Directory.status(directory + "/data.mdb")?.bytes ?? 0
        guard used <= addressesMax else { throw StorageError(ENOMEM, "mapping the \(used) bytes of \(directory)/data.mdb") }
        var flags = UInt32(MDB_NOTLS)
        if configuration.readOnly { flags |= UInt32(MDB_RDONLY) }
        if !Guard.logSync.isOn { flags |= UInt32(MDB_NOSYNC) }
        var map = max(configuration.mapBytes, used + 1 << 16) / 65_536 * 65_536
        while true {
            try lockFile?.enter()
            var handle: OpaquePointer?
            try check(unsafe mdb_env_create(&handle), "opening \(directory)")
            guard let handle = unsafe handle else { throw StorageError(ENOMEM, "opening \(directory)") }
            var code = unsafe mdb_env_set_mapsize(handle, map)
            if code == 0 { code = unsafe mdb_env_set_maxdbs(handle, 64) }
            if code == 0 { code = unsafe mdb_env_set_maxreaders(handle, UInt32(configuration.readersMax)) }
            if code == 0 { code = unsafe mdb_env_open(handle, directory, flags, 0o600) }
            var stat = MDB_stat()
            if code == 0 { code = unsafe mdb_env_stat(handle, &stat) }
            let smaller = max(map / 2, used + used / 4 + 1 << 20) / 65_536 * 65_536
            let isTight = map < configuration.mapBytes && smaller < map && !ProcessMemory.hasAddresses(addressesLeft)
            if code == 0, isTight { code = ENOMEM }
            if code == 0 {
                do throws(StorageError) {
                    try lockFile?.sayOpen()
                    let environment = unsafe try Environment(directory, configuration, handle, lockFile, pageBytes: Int(stat.ms_psize))
                    if map < configuration.mapBytes {
                        configuration.notice(
                            "the address space has no room for a map of \(configuration.mapBytes) bytes: \(directory) has one of \(map)")
                    }
                    return environment
                } catch {
                    unsafe mdb_env_close(handle)
                    throw error
                }
            }
            // A handle that failed to open must be closed nevertheless; closing it drops the locks that this process has on the files.
            unsafe mdb_env_close(handle)
            if code != ENOMEM || smaller >= map { throw StorageError(lmdb: code, "opening \(directory)", at: directory) }
            map = smaller
        }
    }

    /// Opens the tables that are not open yet, making those that the file does not have.
    func openTables(_ configuration: Configuration) throws(StorageError) {
        let missing = configuration.tables.filter { name in tables.withLock { $0[name] == nil } }
        if missing.isEmpty { return }
        if try openTables(missing, configuration, making: false) { return }
        if isReadOnly { throw StorageError(lmdb: MDB_NOTFOUND, "opening the tables of \(directory)") }
        let turn = try takeTurn()
        defer { withExtendedLifetime(turn) {} }
        _ = try openTables(missing, configuration, making: true)
    }

    private func openTables(_ names: [String], _ configuration: Configuration, making: Bool) throws(StorageError) -> Bool {
        try enter()
        var isInside = true
        defer { if isInside { gate.leave() } }
        if !making { try awaitReaderTable() }
        var transaction: OpaquePointer?
        let begun = unsafe mdb_txn_begin(handle, nil, making ? 0 : UInt32(MDB_RDONLY), &transaction)
        if begun == MDB_MAP_RESIZED {
            gate.leave()
            isInside = false
            try adoptMap()
            return try openTables(names, configuration, making: making)
        }
        try check(begun, "opening the tables of \(directory)")
        var opened: [String: Table] = [:]
        for name in names {
            var table: UInt32 = 0
            let isOptional = configuration.optional.contains(name)
            let isMade = making && (configuration.creating || !configuration.required.contains(name) && !isOptional)
            let flags = (configuration.integerKeyTables.contains(name) ? MDB_INTEGERKEY : 0) | (isMade ? MDB_CREATE : 0)
            let code = unsafe mdb_dbi_open(transaction, name, UInt32(flags), &table)
            let mayLack = isOptional && !configuration.creating
            if code == MDB_NOTFOUND, mayLack { continue }
            if code != 0 {
                unsafe mdb_txn_abort(transaction)
                if code == MDB_NOTFOUND && !making { return false }
                throw StorageError(lmdb: code, "opening the table \(name) of \(directory)", at: directory)
            }
            opened[name] = Table(name: name, handle: table)
        }
        let code = unsafe mdb_txn_commit(transaction)
        if code != MDB_SUCCESS { throw failedCommit(code) }
        tables.withLock { $0.merge(opened) { $1 } }
        return true
    }

    /// Nil where turns are not leased, or where the page can't be made: then turns are only slower.
    static func turnPage(_ directory: String, _ configuration: Configuration) -> TurnPage? {
        guard configuration.leasesTurns else { return nil }
        do throws(StorageError) { return try TurnPage(directory) } catch {
            if !configuration.readOnly { configuration.notice("turns of writers take longer: \(error)") }
            return nil
        }
    }

    /// LMDB writes its lock file through a map: on a full disk that would raise a signal, so blocks are allocated for the file first.
    private static func makeLockFile(_ directory: String, readersMax: Int) throws(StorageError) {
        // False on a read-only file system, where LMDB reads without a lock file.
        _ = try makeOnce("lock.mdb", in: directory) { (file) throws(StorageError) in
            if Guard.lockRoom.isOn { try file.reserve((readersMax + 64) * 64) }
        }
    }

    /// Makes a missing file that processes share: it appears whole or not at all. False where the file system can't be written.
    static func makeOnce(_ name: String, in directory: String, _ fill: (File) throws(StorageError) -> Void) throws(StorageError) -> Bool {
        let path = directory + "/" + name
        if try Directory.status(path) != nil {
            try sweep(name + ".", directory)
            return true
        }
        // The name has no process id in it: a process in another container may have the same.
        do throws(StorageError) {
            let made = try WholeFile(path, under: WholeFile.otherName(of: path))
            do throws(StorageError) { try fill(made.file) } catch {
                made.discard()
                throw error
            }
            // False where another process has made the file first.
            _ = try made.add(.nothing)
            return true
        } catch {
            if error.isReadOnly { return false }
            throw error
        }
    }

    /// Removes the leftovers of processes that were killed while they made such a file; none is needed once the whole one is there.
    private static func sweep(_ start: String, _ directory: String) throws(StorageError) {
        for name in try Directory.names(directory) where name.hasPrefix(start) {
            guard UInt64(name.dropFirst(start.utf8.count), radix: 16) != nil else { continue }
            do throws(StorageError) { try Directory.remove(directory + "/" + name) } catch { if !error.isReadOnly { throw error } }
        }
    }

    /// Sets close-on-exec, without which LMDB opens the data file, and the owner of a new file.
    private func settle(creating: Bool) throws(StorageError) {
        var descriptor: Int32 = -1
        try check(unsafe mdb_env_get_fd(handle, &descriptor), "opening \(directory)")
        if Guard.cloexec.isOn, fcntl(descriptor, F_SETFD, FD_CLOEXEC) != 0 { throw .system("opening \(directory)") }
        if creating { try Directory.inheritOwner(descriptor, directory + "/data.mdb") }
    }
}
