internal import CLMDB
package import Platform

/// Keeps the pages of one commit from being reused while this object lives. Unlike a read transaction it lends nothing, so that the map may
/// move meanwhile; it must be released before the environment is closed.
@safe
package final class CommitPin: @unchecked Sendable {
    // Sound to share: the transaction is only ended, once.
    private let environment: Environment
    private let pointer: OpaquePointer
    /// The commit whose pages are kept.
    package let transaction: UInt

    init(_ environment: Environment) throws(StorageError) {
        var pointer: OpaquePointer?
        let doing = "keeping the last commit of \(environment.directory)"
        try environment.enter()
        defer { environment.gate.leave() }
        try environment.awaitReaderTable()
        try check(unsafe mdb_txn_begin(environment.handle, nil, UInt32(MDB_RDONLY), &pointer), doing)
        guard let pointer = unsafe pointer else { throw StorageError(lmdb: MDB_BAD_TXN, doing) }
        self.environment = environment
        unsafe self.pointer = unsafe pointer
        transaction = unsafe UInt(mdb_txn_id(pointer))
    }

    deinit {
        // In the child of a fork, the slot that this would free belongs to the parent.
        if environment.isOfThisProcess { unsafe mdb_txn_abort(pointer) }
    }
}

extension Environment {
    /// Pins the newest commit; in a write transaction that is the one before it. Nil where no reader slot is free.
    package func pin() throws(StorageError) -> CommitPin? {
        do throws(StorageError) { return try CommitPin(self) } catch {
            guard error.code == MDB_READERS_FULL else { throw error }
            return try reapReaders() > 0 ? pin() : nil
        }
    }
}
