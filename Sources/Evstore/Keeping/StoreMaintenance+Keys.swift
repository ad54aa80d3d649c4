internal import EventModel
public import LogKeeping
internal import Projections

extension StoreMaintenance {
    /// The store's keys, slots first; none where its events are not sealed.
    public func keys() -> [StoreKey] { Keys.list(log) }

    /// Adds a slot, so that another secret opens the store too. Awaits one transaction, and for a passphrase its derivation.
    ///
    /// - Parameters:
    ///   - derivation: how a passphrase is stretched; scrypt where nil.
    ///   - label: says whose the slot is, in at most 40 bytes; it is not encrypted.
    /// - Returns: the new slot.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, usage where the secret or the label can't be one, deadlinePassed.
    public func addKey(
        _ secret: StoreSecret, derivation: KeyDerivation? = nil, label: String = ""
    ) async throws(EvstoreError) -> StoreKey {
        try await store.working("add a key") { (site) async throws(EvstoreError) in
            try await Keys.add(site, secret, derivation, label: label)
        }
    }

    /// Makes a data key, under which events are sealed from now on; the events that are there stay as they are. Awaits one transaction.
    /// - Throws: `EvstoreError`: keysRefused for a store without keys, locked, deadlinePassed.
    public func rotateKey(suite: CipherSuite = .gcm) async throws(EvstoreError) -> StoreKey {
        try await store.working("rotate the data key") { (site) async throws(EvstoreError) in
            try await Keys.rotate(site, suite)
        }
    }

    /// Removes a slot, or a data key under which no event of the log is sealed; for a data key nobody else may have the store open.
    ///
    /// Somebody with an older copy of the file `keys` and the slot's secret still has the keys: see `recipher`. Awaits one transaction, and
    /// for a data key a scan of the whole log before.
    /// - Throws: `EvstoreError`: keyNeeded, locked, usage where there is none, interrupted.
    public func retireKey(
        _ kind: StoreKey.Kind, _ id: UInt32, progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> StoreKey {
        try await store.working("retire the \(kind == .slot ? "slot" : "data key") \(id)", progress) { (site) async throws(EvstoreError) in
            try await Keys.retire(site, kind, id)
        }
    }

    /// Makes another store of this one's events under new keys, whole or not at all, with an id of its own and equal content. Awaits the
    /// writing of the whole log.
    ///
    /// - Parameter secret: opens the new store; nil makes one whose events are not sealed.
    /// - Throws: `EvstoreError`: storeExists, epochChanged (run it again), verificationFailed, diskFull, interrupted.
    public func recipher(
        into store: String, secret: StoreSecret?, suite: CipherSuite = .gcm,
        progress: ProgressHandler? = nil
    ) async throws(EvstoreError) -> RecipherReport {
        try await self.store.working("recipher into \(store)", progress) { (site) async throws(EvstoreError) in
            try Recipher.run(site, into: store, secret: secret, suite: suite)
        }
    }
}
