package import EventModel
package import Hashing

extension EventLog {
    /// The digest of the events up to a position (`ContentHasher`); it does not depend on blocks or links.
    package func contentDigest(through: Position? = nil, progress: (Position) throws -> Void = { _ in }) throws -> Digest {
        var hasher = ContentHasher()
        try scan(after: .start, through: through, form: .withoutPersons) { block, _ in
            try hasher.add(block, access.names)
            try progress(block.last)
            return true
        }
        return try digest(of: hasher)
    }

    /// The digest of a hasher that has read events with personal parts left closed. Checks their keys first: each slot must hold the key of
    /// the stream that names it, and for a sample of slots an event is opened.
    ///
    /// So a key file that was lost and begun anew is noticed even if the streams came again in their old order.
    /// - Throws: `EvstoreError.storeDamaged` where a slot was never written, is gone or belongs to another stream; corruptBlock where its
    ///   key does not open the event.
    package func digest(of hasher: consuming ContentHasher) throws -> Digest {
        try access.keys?.subjects.require(hasher.slots.mapValues(\.stream))
        let tried = hasher.slots.filter { $0.key <= Self.slotsBetweenTries || $0.key % Self.slotsBetweenTries == 0 }
        try read { reader in
            for position in tried.values.map(\.first).sorted() {
                guard let record = try Blocks.record(at: position, reader.transaction, access) else { continue }
                try access.open(record, reader.transaction) { _ in }
            }
        }
        return hasher.finalize()
    }

    /// All slots up to this number are tried, and after that every one whose number is a multiple of it.
    private static let slotsBetweenTries: UInt32 = 64
}
