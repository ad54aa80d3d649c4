package import Sealing

/// The keys of one generation of a read model, in a store whose events are sealed.
///
/// They are made of the master key, and are there as long as any slot is, whichever data keys are retired.
package struct ModelKeys: Sendable {
    private let key: SecretKey
    private let context: [UInt8]

    package init(_ key: SecretKey, _ storeID: StoreID, _ generation: String) {
        (self.key, context) = (key, storeID.bytes + Array(generation.utf8))
    }

    /// Seals the values of a table under HKDF-SHA256 (RFC 5869) of the key "models"; the info is store id, name of the
    /// generation, 0, name of the table.
    package func sealer(ofTable name: String) -> ValueSealer {
        ValueSealer(key.derived(salt: [], info: context + [0] + Array(name.utf8)))
    }
}

extension EventLog {
    /// Nil where the log's events are not sealed.
    package func modelKeys(of generation: String) -> ModelKeys? {
        access.keys.map { ModelKeys($0.key(for: "models"), storeID, generation) }
    }
}
