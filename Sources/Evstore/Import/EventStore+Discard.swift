internal import EventLog
internal import EventModel
internal import Platform
internal import Projections

extension EventStore {
    /// Closes a store that an import has created, and removes it where it holds no event and no other process has it open.
    /// - Parameter keepsDirectory: whether to keep the directory, which existed before the store.
    package func discard(keepsDirectory: Bool = false) async throws(EvstoreError) {
        do { try log.acquireExclusively(what: "removes it") } catch {
            guard case .locked = EvstoreError(converting: error, at: path) else { throw EvstoreError(converting: error, at: path) }
            return try await close()
        }
        guard try last().position == .start else { return try await close() }
        // Order: removed while this process holds the store alone. A process that waits for the lock finds no store then.
        let path = path
        try await StoreThreads.run { () async throws(EvstoreError) in
            try converting(at: path) { try EventLog.discard(path, keepsDirectory: keepsDirectory) }
        }
        do { try await close() } catch {
            // The store was empty and is removed: a failure to close it loses nothing.
        }
    }
}
