package import EventModel
package import Hashing

extension EventLog {
    /// The digest of the events themselves up to a position (`ContentHasher`); bound to no block or link.
    package func contentDigest(through: Position? = nil, progress: (Position) throws -> Void = { _ in }) throws -> Digest {
        var hasher = ContentHasher()
        try scan(after: .start, through: through, form: .withoutPersons) { block, _ in
            try hasher.add(block, access.names)
            try progress(block.last)
            return true
        }
        try access.keys?.subjects.requireThere(hasher.slots)
        return hasher.finalize()
    }
}
