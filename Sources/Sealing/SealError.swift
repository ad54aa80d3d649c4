/// Why bytes were not sealed, or could not be opened.
package enum SealError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The bytes differ from those that were sealed, or lie in another place.
    case broken(String)
    /// The secret opens no slot of the key file.
    case refused
    /// The bytes are no key file, or differ from what was written.
    case damaged(String)
    /// A size, count or cost is out of bounds.
    case limit(String)
}

extension SealError {
    /// The reason in words, without any secret.
    package var reason: String {
        switch self {
        case .broken(let reason), .damaged(let reason), .limit(let reason): reason
        case .refused: "the secret opens none of the keys"
        }
    }

    package var description: String { reason }
}
