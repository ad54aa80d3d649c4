internal import EventLog
internal import EventModel

extension StoreState {
    /// Checks `floor <= live <= top <= head` before the numbers are written.
    func checkNumbers() throws(EvstoreError) {
        guard numbers.isInOrder else {
            throw .misuse("floor \(floor), live \(live), top \(top) and head \(head) are out of order; nothing was changed")
        }
    }
}

extension LogUpdate {
    /// Requires that the store is still in the state in which a migration was planned. The lock of migrations keeps other processes from
    /// changing that state, but not the other nodes of a cluster log.
    /// - Throws: `EvstoreError.migrationInProgress`; see `MigrationContext.replanning`.
    borrowing func requireStamp(of planned: StoreState) throws(EvstoreError) {
        guard state.stamp == planned.stamp, state.epoch == planned.epoch else {
            throw .migrationInProgress(
                holder: "another node has changed the versions of the cluster log meanwhile; nothing was changed here")
        }
    }
}
