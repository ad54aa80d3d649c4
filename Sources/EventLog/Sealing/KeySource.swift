package import EventModel
package import Sealing

/// Where the keys of a new store come from.
package enum KeySource {
    /// New keys, which a secret opens.
    case made(StoreSecret, Suite)
    /// The keys of another store with the same id, in the form of its file.
    case copied([UInt8], StoreSecret)

    package static func made(_ secret: StoreSecret) -> KeySource { .made(secret, .gcm) }

    /// Writes the key file.
    func writeKeyFile(_ store: String, _ storeID: StoreID) throws -> StoreKeys {
        switch self {
        case .made(let secret, let suite): return try StoreKeys.make(at: store, storeID, secret, suite)
        case .copied(let bytes, let secret):
            try StoreKeys.write(bytes, at: store)
            return try StoreKeys(at: store, storeID, secret)
        }
    }
}
