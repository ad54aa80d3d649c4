internal import EventModel
public import LogKeeping
internal import Projections

extension StoreMaintenance {
    /// Returns the store's keys, slots first; empty where its events are not sealed.
    public func keys() -> [StoreKey] { Keys.list(log) }

    /// Adds a slot, so that another secret opens the store, too. Waits for one transaction, and for the derivation of a passphrase.
    ///
    /// - Parameters:
    ///   - secret: a key of 32 bytes, or a passphrase, which opens the store from now on, too.
    ///   - derivation: how a passphrase is stretched; scrypt where nil. It has to be nil for a key.
    ///   - label: tells whose slot it is, in at most 40 bytes; it is not encrypted.
    /// - Returns: the new slot.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys; usage where the secret or the label is not valid, or a key has a
    ///   derivation; deadlinePassed.
    public func addKey(
        _ secret: StoreSecret, derivation: KeyDerivation? = nil, label: String = ""
    ) async throws(EvstoreError) -> StoreKey {
        try await store.working("add a key") { (context) async throws(EvstoreError) in
            try await Keys.add(context, secret, derivation, label: label)
        }
    }

    /// Makes a data key, under which new events are sealed from now on; existing events stay as they are. Waits for one transaction.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, locked, deadlinePassed.
    public func rotateKey(suite: CipherSuite = .gcm) async throws(EvstoreError) -> StoreKey {
        try await store.working("rotate the data key") { (context) async throws(EvstoreError) in
            try await Keys.rotate(context, suite)
        }
    }

    /// Removes a slot, or a data key under which no event of the log is sealed. For a data key, nobody else may have the store open.
    ///
    /// Somebody with an older copy of the file `keys` and the slot's secret still has the keys: see `recipher`. Waits for one transaction,
    /// and for a data key also for a scan of the whole log.
    /// - Throws: `EvstoreError`: keyNeeded, locked, usage where there is none, interrupted.
    public func retireKey(
        _ kind: StoreKey.Kind, _ id: UInt32, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> StoreKey {
        try await store.working("retire the \(kind == .slot ? "slot" : "data key") \(id)", progress) {
            (context) async throws(EvstoreError) in
            try await Keys.retire(context, kind, id)
        }
    }

    /// Creates another store with this one's events under new keys, completely or not at all. It has its own id and equal content. Waits
    /// while the whole log is written.
    ///
    /// - Parameters:
    ///   - store: the path of the new store; `storeExists` is thrown unless nothing is there, or an empty directory.
    ///   - secret: opens the new store; where nil, its events are not sealed.
    ///   - suite: how the new store's events are encrypted and authenticated, by default with AES-256-GCM; without a secret it has no
    ///     effect.
    ///   - progress: is called between parts of the work, on the threads that do it; nil reports nothing.
    /// - Throws: `EvstoreError`: usage where the path lies in the directory of this store; storeExists, migrationInProgress, epochChanged
    ///   (run it again), verificationFailed, diskFull, interrupted.
    public func recipher(
        into store: String, secret: StoreSecret?, suite: CipherSuite = .gcm,
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RecipherReport {
        try TargetPath.require(store, outside: self.store.path)
        return try await self.store.working("recipher into \(store)", progress) { (context) async throws(EvstoreError) in
            try Recipher.run(context, into: store, secret: secret, suite: suite)
        }
    }
}
