/// Why bytes were not sealed, or could not be opened.
package enum SealError: Error, Hashable, Sendable {
    /// They are not what was sealed, or not in the place where that was.
    case broken(String)
    /// What was given opens no slot of the key file.
    case refused
    /// Not a key file, or not as it was written.
    case damaged(String)
    /// More, or less, than is allowed.
    case limit(String)
}

extension SealError {
    /// In words, without any secret.
    package var reason: String {
        switch self {
        case .broken(let reason), .damaged(let reason), .limit(let reason): reason
        case .refused: "the secret opens none of the keys"
        }
    }
}
