public import EventModel
public import Migration

extension EventStore {
    /// Makes the personal data of streams unreadable, for good: members that a version file calls `personal` have their plainest
    /// value from now on, at every version. The events stay, with everything else that they say.
    ///
    /// It is a sealed store's alone. Each stream has had a key of its own for what is personal; that key is overwritten, and
    /// read models are built anew. Backups that were made before still hold it, until they are pruned.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, migrationInProgress, readOnly.
    public func forget(_ streams: [StreamName]) async throws(EvstoreError) -> ForgetReport {
        try await Forget.run(site(again: "evstore forget \(streams.map(\.text).joined(separator: " ")) --for-good"), streams)
    }
}
