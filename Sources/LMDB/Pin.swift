internal import CLMDB
package import Platform

/// Keeps the pages of one commit from being reused, for as long as it is held. Unlike a read transaction it lends
/// nothing, so that the map may move under it; it must go before the environment is closed.
@safe
package final class Pin: @unchecked Sendable {
    // Sound to share: nothing is done with the transaction but ending it, once.
    private let environment: Environment
    private let pointer: OpaquePointer
    /// The commit that is kept.
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
        // In the child of a fork the slot that this would free is its parent's.
        if environment.isOfThisProcess { unsafe mdb_txn_abort(pointer) }
    }
}

extension Environment {
    /// Keeps the newest commit; in a write transaction that is the one before it. Nil where no reader's slot is free.
    package func pin() throws(StorageError) -> Pin? {
        do throws(StorageError) { return try Pin(self) } catch {
            guard error.code == MDB_READERS_FULL else { throw error }
            return try reapReaders() > 0 ? pin() : nil
        }
    }
}
