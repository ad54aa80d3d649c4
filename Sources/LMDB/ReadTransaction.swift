internal import Bytes
internal import CLMDB
package import Platform

/// A consistent snapshot of an environment. Everything it lends lies in the map itself and ends with the transaction, which the compiler
/// checks.
@safe
package struct ReadTransaction: ~Copyable {
    let environment: Environment
    let pointer: OpaquePointer
    /// False for the reading side of a write transaction: its owner ends it.
    private let isOwner: Bool
    /// The rows that follow those of a table in the file. Nil in a write transaction, which sees only the file.
    package internal(set) var ahead: AheadView?

    init(_ environment: Environment, _ pointer: OpaquePointer, isOwner: Bool) {
        self.environment = environment
        unsafe self.pointer = unsafe pointer
        self.isOwner = isOwner
    }

    deinit {
        // In the child of a fork, the slot that this would free belongs to the parent.
        guard isOwner, environment.isOfThisProcess else { return }
        unsafe environment.idleReaders.put(pointer)
        environment.gate.leave()
    }

    /// The number of the newest commit that this transaction sees.
    package var id: UInt { unsafe UInt(mdb_txn_id(pointer)) }

    @_lifetime(borrow self)
    package func get(_ table: Table, _ key: RawSpan) throws(StorageError) -> RawSpan? {
        var value = unsafe MDB_val()
        let code = unsafe key.withUnsafeBytes { bytes in
            var key = unsafe MDB_val(bytes)
            return unsafe mdb_get(pointer, table.handle, &key, &value)
        }
        if code == MDB_NOTFOUND { return nil }
        try check(code, "reading the table \(table.name)")
        return unsafe _overrideLifetime(value.span, borrowing: self)
    }

    /// A cursor over a table, in the order of its keys.
    @_lifetime(borrow self)
    package func cursor(_ table: Table) -> Cursor {
        unsafe _overrideLifetime(Cursor(pointer, table, ahead?.table.handle == table.handle ? ahead : nil), borrowing: self)
    }

    package func count(_ table: Table) throws(StorageError) -> Int {
        var stat = MDB_stat()
        try check(unsafe mdb_stat(pointer, table.handle, &stat), "counting the table \(table.name)")
        return Int(stat.ms_entries)
    }
}

extension MDB_val {
    /// Bytes for LMDB to read; it never writes through a key or a value that it is given.
    init(_ bytes: UnsafeRawBufferPointer) {
        unsafe self.init(mv_size: bytes.count, mv_data: UnsafeMutableRawPointer(mutating: bytes.baseAddress))
    }

    /// The bytes that LMDB has filled in. An empty value needs no address.
    var span: RawSpan {
        @_lifetime(immortal)
        get {
            let bytes = unsafe UnsafeRawBufferPointer(start: mv_data, count: mv_data == nil ? 0 : mv_size)
            return unsafe _overrideLifetime(bytes.bytes, copying: ())
        }
    }
}

/// Read transactions that have ended and kept their slot and their memory: to renew one costs a tenth of what a new one costs.
@safe
final class IdleReaders: @unchecked Sendable {
    // Sound to share: a transaction that was taken out belongs to one thread, and those kept here are not used.
    // Each occupies a reader slot of the environment.
    private static let keptMax = 2
    private let idle = unsafe Monitor<[OpaquePointer]>([])

    func take() -> OpaquePointer? { unsafe idle.withLock { unsafe $0.popLast() } }

    /// Ends a transaction, and keeps it unless there are enough.
    func put(_ transaction: OpaquePointer) {
        unsafe mdb_txn_reset(transaction)
        let isKept = unsafe idle.withLock { idle in
            if unsafe idle.count == Self.keptMax { return false }
            unsafe idle.append(transaction)
            return true
        }
        if !isKept { unsafe mdb_txn_abort(transaction) }
    }

    /// Frees the kept transactions, before the environment is closed.
    func removeAll() { while let transaction = unsafe take() { unsafe mdb_txn_abort(transaction) } }
}
