internal import EventLog
public import EventModel
public import Migration
internal import Projections
internal import SchemaEvolution

extension EventStore {
    /// Makes the personal data of streams unreadable, for good: members that a version file calls `personal` have their plainest
    /// value from now on, at every version. The events stay, with everything else that they say.
    ///
    /// It is a sealed store's alone. Each stream has had a key of its own for what is personal; that key is overwritten, and
    /// read models are built anew. Backups that were made before still hold it, until they are pruned.
    /// Where one of them can't be forgotten, those before it are, which the journal counts, and read models are taken away: what is
    /// said again names them as forgotten before.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, migrationInProgress, readOnly; storeDamaged and corruptBlock
    ///   where it can't be said which keys are a stream's.
    public func forget(_ streams: [StreamName]) async throws(EvstoreError) -> ForgetReport {
        let evolution = try evolving.current()
        let version = try effective(nil)
        // The keys are of the names that the log holds the streams by.
        let stored = try converting(at: path) {
            try log.read { reader in
                try streams.map { try evolution.history.storedName(of: $0, at: version, reader) ?? $0 }
            }
        }
        return try await Forget.run(site(again: "evstore forget \(streams.map(\.text).joined(separator: " ")) --for-good"), stored)
    }
}
