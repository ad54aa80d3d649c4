internal import CLMDB
internal import Glibc
package import Platform
internal import Synchronization

extension Environment {
    /// Runs `body` on a consistent snapshot of the environment, which no writer blocks or changes.
    package func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        let transaction = try beginRead()
        return try body(transaction)
    }

    /// A read transaction of the calling thread; it ends when the value goes out of scope.
    package func beginRead() throws(StorageError) -> ReadTransaction {
        // Order: checked first, since the child of a fork lacks the page that says where the rows end.
        try checkProcess()
        guard let source = aheadSource else { return try begin() }
        for attempt in 1 ... Self.aheadAttempts {
            let end = try source.end()
            var transaction = try begin()
            switch try source.rows(upTo: end, transaction) {
            case .none: return transaction
            case .rows(let ahead):
                transaction.ahead = ahead
                return transaction
            case .begunTooEarly: if attempt > Self.aheadAttempts / 2 { usleep(1_000) }
            }
        }
        throw StorageError(invalid: "\(directory)/ahead lacks entries that were acknowledged")
    }

    /// How often rows may be moved to the file while a transaction begins, at most.
    private static let aheadAttempts = 2_000

    private func begin() throws(StorageError) -> ReadTransaction {
        while true {
            try enter()
            var pointer = unsafe idleReaders.take()
            let isNew = unsafe pointer == nil
            if isNew {
                do throws(StorageError) { try awaitReaderTable() } catch {
                    gate.leave()
                    throw error
                }
            }
            let code = unsafe isNew ? mdb_txn_begin(handle, nil, UInt32(MDB_RDONLY), &pointer) : mdb_txn_renew(pointer)
            if code == 0, let pointer = unsafe pointer { return unsafe ReadTransaction(self, pointer, isOwner: true) }
            if !isNew { unsafe mdb_txn_abort(pointer) }
            gate.leave()
            if code == MDB_READERS_FULL, try clearStaleReaders() > 0 { continue }
            guard code == MDB_MAP_RESIZED else { throw StorageError(lmdb: code, "reading \(directory)") }
            try adoptMap()
        }
    }

    /// Runs `body` in one transaction on the calling thread and makes it durable; an error of `body` undoes everything. Where the map is
    /// full it grows, and `body` runs again from the start.
    ///
    /// Without a turn, the calling thread waits for other writers, at most as long as `WriteTurn` does by default.
    package func write<R>(_ turn: WriteTurn? = nil, _ body: (inout WriteTransaction) throws -> R) throws -> R {
        try writeOwned(turn) { transaction in
            var transaction = transaction
            return try body(&transaction)
        }
    }

    /// Like `write`, for a body that keeps the transaction in a value of its own while it runs.
    package func writeOwned<R>(_ turn: WriteTurn? = nil, _ body: (consuming WriteTransaction) throws -> R) throws -> R {
        if isReadOnly { throw StorageError(EROFS, "writing \(directory), which was opened for reading") }
        // Order: the process is checked before the gate is entered, and the gate before the turn is taken, which a writing thread has
        // already.
        try checkProcess()
        try gate.startWriting()
        // In the child of a fork the gate's lock may be held by a thread that exists only in the parent.
        defer { if isOfThisProcess { gate.stopWriting() } }
        let turn = try turn ?? takeTurn()
        defer { withExtendedLifetime(turn) {} }
        while true {
            do {
                return try attempt(turn, body)
            } catch let error as StorageError where error.isMapFull && Guard.grow.isOn {
                try grow()
            } catch let error as StorageError where error.code == MDB_MAP_RESIZED {
                try adoptMap()
            }
        }
    }

    private func attempt<R>(_ turn: WriteTurn?, _ body: (consuming WriteTransaction) throws -> R) throws -> R {
        try enter()
        defer { if isOfThisProcess { gate.leave() } }
        if let turn { try checkFiles(turn) } else { try checkInPlace() }
        var pointer: OpaquePointer?
        try check(unsafe mdb_txn_begin(handle, nil, 0, &pointer), "starting to write \(directory)")
        guard let pointer = unsafe pointer else { throw StorageError(lmdb: MDB_BAD_TXN, "starting to write \(directory)") }
        let state = WriteState()
        do {
            let result = try body(unsafe WriteTransaction(state, ReadTransaction(self, pointer, isOwner: false)))
            // If `body` has forked, the transaction in the child is the parent's to commit or undo.
            try checkProcess()
            state.isFinished = true
            if let error = state.failure { throw error }
            if state.isUndone {
                unsafe mdb_txn_abort(pointer)
                return result
            }
            let code = unsafe mdb_txn_commit(pointer)
            if code != MDB_SUCCESS { throw failedCommit(code) }
            state.isCommitted = true
            keepLastPageInFile()
            return result
        } catch {
            if isOfThisProcess, !state.isFinished || state.failure != nil { unsafe mdb_txn_abort(pointer) }
            state.isFinished = true
            throw state.failure ?? error
        }
    }

    /// Tells whether a failed commit may be durable. LMDB writes the pages, syncs them, and then writes the meta page that leads to them.
    /// Only where that last write fails does it disable the environment for good (MDB_PANIC); after an earlier failure nothing leads to the
    /// pages.
    func failedCommit(_ code: Int32) -> StorageError {
        var error = StorageError(lmdb: code, "committing to \(directory)", at: directory)
        var isOpen = false
        do { _ = try beginRead() } catch { isOpen = true }
        var free = UInt64.max
        do throws(StorageError) { free = try Directory.freeBytes(directory) } catch {}
        error.commit = StorageError.FailedCommit(isOpen: isOpen, freeBytes: free)
        return error
    }
}

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
