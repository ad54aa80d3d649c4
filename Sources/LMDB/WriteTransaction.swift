internal import Bytes
internal import CLMDB
package import Platform

/// The one transaction that changes an environment. The call that lent it commits or undoes it. It can't be used afterwards, nor on another
/// thread.
package struct WriteTransaction: ~Copyable {
    package let state: WriteState
    /// The transaction as a reader, which sees its own changes.
    package let reads: ReadTransaction

    init(_ state: WriteState, _ reads: consuming ReadTransaction) {
        self.state = state
        self.reads = reads
    }

    package var id: UInt { reads.id }

    /// Undoes the transaction, although its body ends with a result and without an error.
    package mutating func undo() { state.isUndone = true }

    @_lifetime(borrow self)
    package func cursor(_ table: Table) -> Cursor { reads.cursor(table) }

    /// Puts a value, replacing the one that the key had.
    package mutating func put(_ table: Table, _ key: RawSpan, _ value: RawSpan) throws(StorageError) {
        try require(put(table, key, value, 0), table)
    }

    /// Puts a key that sorts after all others of the table; any other key is an error.
    package mutating func append(_ table: Table, _ key: RawSpan, _ value: RawSpan) throws(StorageError) {
        try require(put(table, key, value, MDB_APPEND), table)
    }

    /// Puts a new key; false where the table has it already, and nothing is changed.
    package mutating func insert(_ table: Table, _ key: RawSpan, _ value: RawSpan) throws(StorageError) -> Bool {
        let code = try put(table, key, value, MDB_NOOVERWRITE)
        if code == MDB_KEYEXIST { return false }
        try require(code, table)
        return true
    }

    /// Removes a key; false where the table does not have it.
    @discardableResult
    package mutating func delete(_ table: Table, _ key: RawSpan) throws(StorageError) -> Bool {
        try state.checkUse()
        let code = unsafe key.withUnsafeBytes { bytes in
            var key = unsafe MDB_val(bytes)
            return unsafe mdb_del(reads.pointer, table.handle, &key, nil)
        }
        if code == MDB_NOTFOUND { return false }
        try require(code, table)
        return true
    }

    package mutating func removeAll(_ table: Table) throws(StorageError) {
        try state.checkUse()
        try require(unsafe mdb_drop(reads.pointer, table.handle, 0), table)
    }

    private func put(_ table: Table, _ key: RawSpan, _ value: RawSpan, _ flags: Int32) throws(StorageError) -> Int32 {
        try state.checkUse()
        return unsafe key.withUnsafeBytes { keyBytes in
            unsafe value.withUnsafeBytes { valueBytes in
                var key = unsafe MDB_val(keyBytes)
                var value = unsafe MDB_val(valueBytes)
                return unsafe mdb_put(reads.pointer, table.handle, &key, &value, UInt32(flags))
            }
        }
    }

    /// A failed change keeps the transaction from being committed, even if its body handles the error.
    private func require(_ code: Int32, _ table: Table) throws(StorageError) {
        guard code != MDB_SUCCESS else { return }
        let error = StorageError(lmdb: code, "writing the table \(table.name)")
        state.failure = error
        throw error
    }
}

/// The state that a write transaction shares with the call that lent it.
package final class WriteState {
    /// Whether all changes are in the file, durably where the environment syncs.
    package internal(set) var isCommitted = false
    let thread = WorkerThread.currentID
    var isFinished = false
    var isUndone = false
    var failure: StorageError?

    func checkUse() throws(StorageError) {
        if isFinished { throw StorageError(misuse: "a write transaction was used after its end") }
        if thread != WorkerThread.currentID, Guard.thread.isOn {
            throw StorageError(misuse: "a write transaction was used on another thread than its own")
        }
    }
}
