internal import Bytes
internal import CLMDB
package import Platform

/// The one transaction that changes an environment. It is committed or undone by the call that lent
/// it, and is useless afterwards and on any other thread.
package struct WriteTransaction: ~Copyable {
    package let state: WriteState
    /// The transaction as a reader that sees its own changes.
    package let reads: ReadTransaction

    init(_ state: WriteState, _ reads: consuming ReadTransaction) {
        self.state = state
        self.reads = reads
    }

    package var id: UInt { reads.id }

    /// Has nothing of the transaction kept, although its body ends without an error, with a result.
    package mutating func undo() { state.isUndone = true }

    @_lifetime(borrow self)
    package func get(_ table: Table, _ key: RawSpan) throws(StorageError) -> RawSpan? { try reads.get(table, key) }

    @_lifetime(borrow self)
    package func cursor(_ table: Table) -> Cursor { reads.cursor(table) }

    package func count(_ table: Table) throws(StorageError) -> Int { try reads.count(table) }

    /// Puts a value in place of what the key had.
    package mutating func put(_ table: Table, _ key: RawSpan, _ value: RawSpan) throws(StorageError) {
        try require(put(table, key, value, 0), table)
    }

    /// Puts a key that sorts after all others of the table; any other is an error.
    package mutating func append(_ table: Table, _ key: RawSpan, _ value: RawSpan) throws(StorageError) {
        try require(put(table, key, value, MDB_APPEND), table)
    }

    /// Puts a new key; false, and nothing changed, where the table has it.
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

    /// Empties a table.
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

    /// A failed change leaves the transaction unfit to commit, whatever its body makes of the error.
    private func require(_ code: Int32, _ table: Table) throws(StorageError) {
        guard code != MDB_SUCCESS else { return }
        let error = StorageError(lmdb: code, "writing the table \(table.name)")
        state.failure = error
        throw error
    }
}

/// What a write transaction and the call that lent it both know.
package final class WriteState {
    /// Whether all of it is in the file, durably where the environment syncs.
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
