internal import CLMDB
internal import Glibc
package import Platform

extension Environment {
    /// Runs `body` on a consistent picture of the environment, which nothing blocks or changes.
    package func read<R>(_ body: (borrowing ReadTransaction) throws -> R) throws -> R {
        let transaction = try beginRead()
        return try body(transaction)
    }

    /// A read transaction of the calling thread; it ends when the value goes out of scope.
    package func beginRead() throws(StorageError) -> ReadTransaction {
        // Order: the child of a fork has no page that says where the rows end.
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

    /// So often rows may be moved to the file while a transaction begins, at the most.
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

    /// Runs `body` in one transaction on the calling thread and makes it durable; what `body` throws
    /// undoes everything. A full map grows and `body` runs again, from the start.
    ///
    /// Where no turn is given, waits for other writers on the calling thread, at most as long as `WriteTurn` does by default.
    package func write<R>(_ turn: WriteTurn? = nil, _ body: (inout WriteTransaction) throws -> R) throws -> R {
        try writeOwned(turn) { transaction in
            var transaction = transaction
            return try body(&transaction)
        }
    }

    /// As `write`, for a body that keeps the transaction in a value of its own while it runs.
    package func writeOwned<R>(_ turn: WriteTurn? = nil, _ body: (consuming WriteTransaction) throws -> R) throws -> R {
        if isReadOnly { throw StorageError(EROFS, "writing \(directory), which was opened for reading") }
        // Order: the process before the gate, and the gate before the turn, which a thread that writes has already.
        try checkProcess()
        try gate.startWriting()
        // The gate's lock may be held by a thread that the child of a fork does not have.
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
        if let turn { try look(turn) } else { try checkInPlace() }
        var pointer: OpaquePointer?
        try check(unsafe mdb_txn_begin(handle, nil, 0, &pointer), "starting to write \(directory)")
        guard let pointer = unsafe pointer else { throw StorageError(lmdb: MDB_BAD_TXN, "starting to write \(directory)") }
        let state = WriteState()
        do {
            let result = try body(unsafe WriteTransaction(state, ReadTransaction(self, pointer, isOwner: false)))
            // In the child of a fork that `body` made the transaction is its parent's, to commit and to undo.
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

    /// LMDB writes the pages, syncs them, and then the meta page that leads to them. Where that last write fails it gives the
    /// environment up for good (MDB_PANIC), and so tells it from all that fails before, when nothing leads to the pages.
    func failedCommit(_ code: Int32) -> StorageError {
        var error = StorageError(lmdb: code, "committing to \(directory)")
        var isOpen = false
        do { _ = try beginRead() } catch { isOpen = true }
        var free = UInt64.max
        do throws(StorageError) { free = try Directory.freeBytes(directory) } catch {}
        error.commit = StorageError.FailedCommit(isOpen: isOpen, directory: directory, freeBytes: free)
        return error
    }
}
