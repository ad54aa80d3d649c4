internal import CLMDB
internal import Platform

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
