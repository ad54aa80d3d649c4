package import EventModel
package import Hashing

extension EventLog {
    /// The digest of the events themselves up to a position (`ContentHasher`); bound to no block or link.
    package func contentDigest(through: Position? = nil, progress: (UInt64) -> Void = { _ in }) throws -> Digest {
        var hasher = ContentHasher()
        try scan(after: .start, through: through) { block in
            try hasher.add(block, access.names)
            progress(block.last.rawValue)
            return true
        }
        return hasher.finalize()
    }
}
