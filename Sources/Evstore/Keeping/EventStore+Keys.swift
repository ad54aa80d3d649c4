internal import EventModel
public import Migration
internal import Projections

extension EventStore {
    /// The store's keys, slots first; none where its events are not sealed.
    public func keys() -> [StoreKey] { Keys.list(log) }

    /// Lets in whoever has another secret.
    ///
    /// - Parameters:
    ///   - derivation: of a passphrase; scrypt where nil.
    ///   - label: at most 40 bytes that say whose it is; anybody can read it.
    /// - Returns: the new slot.
    public func addKey(
        _ secret: StoreSecret, derivation: KeyDerivation? = nil, label: String = ""
    ) async throws(EvstoreError) -> StoreKey {
        try await working { (_) async throws(EvstoreError) in
            try await Keys.add(site("add a key"), secret, derivation, label: label)
        }
    }

    /// Makes a data key, which events are sealed under from now on; those that are there stay as they are.
    public func rotateKey(suite: CipherSuite = .gcm) async throws(EvstoreError) -> StoreKey {
        try await working { (_) async throws(EvstoreError) in
            try await Keys.rotate(site("rotate the data key"), suite)
        }
    }

    /// Gives up a slot, or a data key under which no event of the log is sealed: then nobody else may have the store open.
    ///
    /// Whoever has an older copy of the file `keys` and what opened the slot still has the keys: see `recipher`.
    /// - Throws: `EvstoreError`: keyNeeded, locked, usage where there is none, interrupted.
    public func retireKey(
        _ kind: StoreKey.Kind, _ id: UInt32, cancellation: Cancellation? = nil, progress: Progress? = nil
    ) async throws(EvstoreError) -> StoreKey {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try await Keys.retire(
                site("retire the \(kind == .slot ? "slot" : "data key") \(id)", cancellation, progress: progress), kind, id)
        }
    }

    /// Makes another store of this one's events under new keys, whole or not at all, with an id of its own and equal content.
    ///
    /// - Parameter secret: what opens the new store; nil makes one whose events are not sealed.
    /// - Throws: `EvstoreError`: storeExists, epochChanged (run it again), verificationFailed, diskFull, interrupted.
    public func recipher(
        into store: String, secret: StoreSecret?, suite: CipherSuite = .gcm, cancellation: Cancellation? = nil, progress: Progress? = nil
    ) async throws(EvstoreError) -> RecipherReport {
        try await working(cancellation) { (cancellation) async throws(EvstoreError) in
            try Recipher.run(
                site("recipher into \(store)", cancellation, progress: progress), into: store, secret: secret, suite: suite
            )
        }
    }
}
