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
    /// Whether the store is still in the state that a migration was planned in. The lock of migrations keeps other processes from changing
    /// that, and not the other nodes of a cluster log.
    /// - Throws: `EvstoreError.migrationInProgress`; see `MigrationSite.replanning`.
    borrowing func requireStamp(of planned: StoreState) throws(EvstoreError) {
        guard state.stamp == planned.stamp, state.epoch == planned.epoch else {
            throw .migrationInProgress(
                holder: "another node has changed the versions of the cluster log meanwhile; nothing was changed here")
        }
    }
}
