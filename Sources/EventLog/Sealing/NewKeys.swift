package import EventModel
package import Sealing

/// Where the keys of a store that is being made come from.
package enum NewKeys {
    /// New ones, which a secret opens.
    case made(StoreSecret, Suite)
    /// Those of another store with the same id, as their file had them.
    case copied([UInt8], StoreSecret)

    package static func made(_ secret: StoreSecret) -> NewKeys { .made(secret, .gcm) }

    /// Writes the file.
    func lay(_ store: String, _ storeID: StoreID) throws -> StoreKeys {
        switch self {
        case .made(let secret, let suite): return try StoreKeys.make(at: store, storeID, secret, suite)
        case .copied(let bytes, let secret):
            try StoreKeys.write(bytes, at: store)
            return try StoreKeys(at: store, storeID, secret)
        }
    }
}
